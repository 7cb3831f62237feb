// The flags that every command with a model has, each also as an environment variable INLAY_….
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/interrupt.h"
#include "base/result.h"
#include "engine/engine.h"

namespace inlay {

class ModelFlags {
 public:
  // The folder, how texts are cut and prompted: what a tokenizer alone needs.
  void add_text_flags(CLI::App& app);
  // Of those, how texts are cut and prompted.
  void add_reading_flags(CLI::App& app);
  // What the model computes in, where and with how many threads.
  void add_compute_flags(CLI::App& app);
  // How vectors are made.
  void add_vector_flags(CLI::App& app);
  // All of those.
  void add_all(CLI::App& app);
  // --validate-on, for commands that may choose the precision by it.
  void add_choice_flags(CLI::App& app);
  // For a command whose model is an argument.
  void set_model(const std::string& model) { model_ = model; }
  // As it was given.
  const std::string& model() const { return model_; }
  int threads() const { return threads_; }  // 0: not given
  Result<Normalize> normalize() const;
  // What the flags say, checked as far as it can be without the model. A model of the hub is downloaded if need be; `interrupt`
  // ends that.
  Result<EngineOptions> options(const Interrupt* interrupt = nullptr) const;
  // The same, with the precision chosen on the texts of --validate-on where --dtype is auto. Takes seconds then.
  Result<EngineOptions> chosen_options(const Interrupt& interrupt) const;

 private:
  std::string model_;
  std::string dtype_ = "auto";
  std::string device_ = "auto";
  std::string pooling_;
  std::string normalize_ = "auto";
  std::string truncate_side_ = "right";
  std::string weight_cache_;
  std::string validate_on_;
  std::string prompt_;
  std::string prompt_name_;
  std::string task_;
  int threads_ = 0;
  int max_length_ = 0;
  int dimensions_ = 0;
  int max_batch_tokens_ = 0;
  CLI::Option* prompt_given_ = nullptr;
};

}  // namespace inlay
