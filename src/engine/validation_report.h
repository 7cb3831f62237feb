// What `inlay validate` found about a model, kept beside its weights for whoever loads it later.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/precision.h"

namespace inlay {

// In the model's folder: {"reports":{"int8":{…},…}}, the last report of each precision, docs/guide/validation.md has the
// fields.
inline constexpr std::string_view kValidationFile = "inlay-validation.json";

struct ValidationSummary {
  std::string dtype;  // of the model that was judged
  std::string reference_dtype;
  std::string created;  // "2026-01-31T12:00:00Z"
  bool passed = false;
  std::vector<std::string> reasons;  // why it did not
  uint64_t texts = 0;
  double texts_per_second = 0;
  double p99 = 0;                       // cosine distance
  std::optional<double> recall_5_loss;  // as a share of the reference's; nothing without pairs
  std::vector<std::pair<std::string, double>> recall_5_loss_by_language;  // in the order of the report
  bool is_stale = false;                                                  // the weights have changed since
};

// Puts the report of a precision beside the weights, in the place of an earlier one; reports of other precisions stay.
// `report` is a JSON object. kInvalidArgument or kNotFound if the folder cannot be written.
Result<> store_validation(const std::filesystem::path& folder, Precision precision, std::string_view report);

// Every report of the folder, by name of the precision; none if there is no file. kCorrupt if the file is not what
// store_validation wrote.
Result<std::vector<ValidationSummary>> read_validations(const std::filesystem::path& folder);

// The report of the precision; nothing if there is none that can be read.
std::optional<ValidationSummary> find_validation(const std::filesystem::path& folder, Precision precision);

// What whoever serves the model in this precision should be warned of: a report that is missing (int8 and smaller only), that
// the model failed, or that was made of other weights. Nothing if all is well.
std::optional<std::string> validation_warning(const std::filesystem::path& folder, Precision precision);

// "int8: suited, P99 0.00213 over 1000 texts, Recall@5 0.31 % lost (2026-01-31T12:00:00Z)"
std::string validation_text(const ValidationSummary& summary);

}  // namespace inlay
