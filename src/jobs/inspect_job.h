// What a model folder holds, and the memory that it takes when loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/validation_report.h"
#include "jobs/memory_report.h"
#include "model/model_spec.h"

namespace inlay {

struct WeightSum {
  uint64_t tensors = 0;
  uint64_t parameters = 0;  // elements
  uint64_t bytes = 0;
};

struct ModelReport {
  ModelSpec spec;
  Precision auto_precision = Precision::kFloat32;  // what --dtype auto takes on this machine
  std::optional<QuantizationConfig> quantization;  // how the folder says its weights were made codes
  std::string tokenizer_kind;                      // empty if the tokenizer could not be loaded
  int vocab_size = 0;
  int special_tokens = 0;                          // added to a text
  std::map<std::string, WeightSum> weight_files;   // by name of the file
  std::map<std::string, WeightSum> weight_dtypes;  // by element type, as files name it
  Precision precision = Precision::kFloat32;       // that memory was measured in
  std::optional<MemoryReport> memory;              // with one lane; nothing if the model could not be loaded
  std::vector<ValidationSummary> validations;      // that lie beside the weights
  // What keeps the folder from being used: the report is still worth showing.
  std::optional<Error> problem;
};

// An error if not even the configuration can be read.
Result<ModelReport> inspect_model(const EngineOptions& options);

std::string report_json(const ModelReport& report);   // one line
std::string report_table(const ModelReport& report);  // for people

}  // namespace inlay
