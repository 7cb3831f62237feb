#include "server/model_registry.h"

#include <algorithm>

#include "base/log.h"

namespace inlay {

Result<> ModelRegistry::add(std::unique_ptr<EmbedService> service) {
  const std::string& name = service->facts().name;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const std::unique_ptr<Entry>& entry : entries_) {
    if (entry->service->facts().name == name) return fail(ErrorCode::kInvalidArgument, "two models are called '{}'", name);
  }
  entries_.push_back(std::make_unique<Entry>(Entry{std::move(service), 0}));
  return {};
}

ModelRegistry::Lease ModelRegistry::find(const std::string& name) {
  if (name.empty()) return first();
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry* found = nullptr;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    const ModelFacts& facts = entry->service->facts();
    if (facts.name == name) {
      found = entry.get();
      break;
    }
    if (found == nullptr && facts.id == name) found = entry.get();
  }
  if (found == nullptr) return {};
  ++found->leases;
  return Lease(*this, *found);
}

ModelRegistry::Lease ModelRegistry::first() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (entries_.empty()) return {};
  ++entries_.front()->leases;
  return Lease(*this, *entries_.front());
}

std::vector<ModelRegistry::Lease> ModelRegistry::all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Lease> leases;
  for (const std::unique_ptr<Entry>& entry : entries_) {
    ++entry->leases;
    leases.push_back(Lease(*this, *entry));
  }
  return leases;
}

std::vector<ModelFacts> ModelRegistry::facts() {
  std::vector<ModelFacts> facts;
  for (const Lease& model : all()) facts.push_back(model->facts());
  return facts;
}

Result<> ModelRegistry::remove(const std::string& name) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto is_meant = [&](const std::unique_ptr<Entry>& entry) { return entry->service->facts().name == name; };
  const std::vector<std::unique_ptr<Entry>>::iterator found = std::find_if(entries_.begin(), entries_.end(), is_meant);
  if (found == entries_.end()) return fail(ErrorCode::kNotFound, "model '{}' is not served here", name);
  const std::unique_ptr<Entry> entry = std::move(*found);
  entries_.erase(found);
  unused_.wait(lock, [&] { return entry->leases == 0; });
  lock.unlock();
  entry->service.reset();  // Joins threads, which takes a moment: not under the lock.
  return {};
}

void ModelRegistry::drain() {
  for (const Lease& model : all()) {
    while (!model->drain(std::chrono::seconds(10))) spdlog::warn("{}: still computing", model->facts().name);
  }
}

void ModelRegistry::clear() {
  std::vector<std::unique_ptr<Entry>> entries;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries.swap(entries_);
  }
}

void ModelRegistry::give_back(Entry& entry) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--entry.leases == 0) unused_.notify_all();
}

}  // namespace inlay
