// The flags of commands that look at some of the user's texts and pairs.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "base/interrupt.h"
#include "base/result.h"
#include "jobs/validate/sample.h"

namespace inlay {

class SampleFlags {
 public:
  // --texts and how many of them, fields and seed.
  void add_texts(CLI::App& app);
  // Also --pairs and how many of those.
  void add(CLI::App& app);
  bool has_texts() const { return !text_files_.empty(); }
  bool has_pairs() const { return !pair_files_.empty(); }
  uint64_t seed() const { return seed_; }
  // No rows where no file was given.
  Result<Sample> read_texts(const Interrupt& interrupt) const;
  Result<Sample> read_pairs(const Interrupt& interrupt) const;

 private:
  Result<Sample> read(const std::vector<std::string>& files, size_t rows, SampleKind kind, const Interrupt& interrupt) const;

  std::vector<std::string> text_files_;
  std::vector<std::string> pair_files_;
  std::string format_ = "auto";
  SampleOptions options_;
  size_t max_texts_ = 1000;
  size_t max_pairs_ = 1000;
  uint64_t seed_ = 1;
};

}  // namespace inlay
