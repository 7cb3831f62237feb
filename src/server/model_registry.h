// The models of one process. They may come and go while requests run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "server/embed_service.h"

namespace inlay {

// Owns the models. Thread-safe, but for what says otherwise.
class ModelRegistry {
  struct Entry {
    std::unique_ptr<EmbedService> service;
    int leases = 0;
  };

 public:
  // A model in use: it stays as long as the lease does. Must not outlive the registry; any thread may let go of it.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : registry_(std::exchange(other.registry_, nullptr)), entry_(std::exchange(other.entry_, nullptr)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(registry_, other.registry_);
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~Lease() {
      if (entry_ != nullptr) registry_->give_back(*entry_);
    }

    explicit operator bool() const { return entry_ != nullptr; }
    EmbedService* operator->() const { return entry_->service.get(); }
    EmbedService& operator*() const { return *entry_->service; }

   private:
    friend class ModelRegistry;
    Lease(ModelRegistry& registry, Entry& entry) : registry_(&registry), entry_(&entry) {}

    ModelRegistry* registry_ = nullptr;
    Entry* entry_ = nullptr;
  };

  // kInvalidArgument if the name is taken.
  Result<> add(std::unique_ptr<EmbedService> service);
  // The model that clients call `name`, or whose folder is called so; the first one if the name is empty. Empty if there is
  // none.
  Lease find(const std::string& name);
  Lease first();
  // All models, in the order in which they came.
  std::vector<Lease> all();
  std::vector<ModelFacts> facts();
  // Takes the model away from new requests, waits until those that use it are answered, and ends it. kNotFound if there is
  // none of this name.
  Result<> remove(const std::string& name);
  // Waits until everything that was admitted is answered; new requests are turned away from now on.
  void drain();
  // Ends all models. Nobody may use one.
  void clear();

 private:
  void give_back(Entry& entry);

  std::mutex mutex_;
  std::condition_variable unused_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace inlay
