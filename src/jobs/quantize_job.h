// A model folder becomes a smaller one: linear layers and embedding tables rounded, everything else as it was.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/layer_rounder.h"
#include "jobs/text_reader.h"

namespace inlay {

struct QuantizeOptions {
  std::filesystem::path model = {};
  std::filesystem::path output = {};  // made; must not hold anything yet
  RoundingOptions rounding = {};
  std::optional<WeightType> tables = {};  // of embedding tables; unless given int8 where layers are int4, else as layers
  bool keep_tables = false;               // embedding tables stay as they are
  std::vector<std::string> keep = {};     // layers whose tensors' names hold one of these become bfloat16
  // Layers of a larger error become bfloat16. Unless given, those beyond kOutlier times the median.
  std::optional<double> max_layer_error = {};
  int texts = 128;       // calibration texts at most
  int max_length = 256;  // tokens of a calibration text at most
  int threads = 1;
  std::function<bool()> stopped = {};

  static constexpr double kOutlier = 4;
};

struct LayerReport {
  std::string name;  // of its tensors, joined by +
  int columns = 0;
  int k = 0;
  double error = 0;  // of what it was rounded to first; meaningless for a layer that --keep names
  // Why it is bfloat16 after all; empty: it is not.
  std::string kept;
};

struct TensorSum {
  uint64_t count = 0;
  uint64_t parameters = 0;
  uint64_t bytes_before = 0;  // in the folder that was read
  uint64_t bytes = 0;         // now, with scales
};

struct QuantizeReport {
  uint64_t texts = 0;  // calibration texts, and their tokens
  uint64_t tokens = 0;
  bool errors_are_of_weights = false;  // there were no texts: errors are those of the weights, not of outputs
  std::vector<LayerReport> layers;
  TensorSum rounded_layers, kept_layers, tables, others;
  double seconds = 0;
};

// `texts` is null if there are none; GPTQ needs some. kInvalidArgument for a folder that is quantised already.
Result<QuantizeReport> run_quantize_job(const QuantizeOptions& options, TextReader* texts);

std::string quantize_table(const QuantizeReport& report, const QuantizeOptions& options);
std::string quantize_json(const QuantizeReport& report, const QuantizeOptions& options);

}  // namespace inlay
