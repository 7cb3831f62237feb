// The flags that say how vectors are stored.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/interrupt.h"
#include "base/result.h"
#include "cli/input_flags.h"
#include "engine/engine.h"
#include "jobs/vector_writer.h"

namespace inlay {

class OutputFlags {
 public:
  void add(CLI::App& app);
  // Whether the flags go together, before anything is loaded.
  Result<> check(const InputFlags& input) const;
  // How the engine's vectors are to be stored. Ranges of integers come from --ranges, or from the vectors of
  // --calibration-texts, or of some of the input's texts, which is then read twice.
  Result<StoredAs> stored_as(const Engine& engine, const InputFlags& input, const Interrupt& interrupt) const;

 private:
  Result<OutputRanges> calibrate(const Engine& engine, const InputFlags& input, const Interrupt& interrupt) const;

  std::string type_ = "float";
  std::string ranges_;
  std::string save_ranges_;
  std::string calibration_texts_;
};

}  // namespace inlay
