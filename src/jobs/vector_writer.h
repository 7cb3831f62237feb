// Vectors on their way out, a row of output for every row of input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/output_type.h"

namespace inlay {

enum class OutputFormat : uint8_t { kAuto, kNpy, kJsonl };

// Which row of the input a result belongs to.
struct RowKey {
  uint64_t index = 0;   // from 0, failed rows included
  uint64_t line = 0;    // of the input, from 1
  std::string_view id;  // JSON text; empty if the row has none
};

// Gets rows in the order of the input, from one thread at a time. Nothing is visible under the output's name before finish().
class VectorWriter {
 public:
  virtual ~VectorWriter() = default;
  virtual Result<> write(const RowKey& key, std::span<const float> vector) = 0;
  virtual Result<> write_failed(const RowKey& key, std::string_view why) = 0;
  // Hands on what was gathered, so that a reader of a pipe sees it.
  virtual Result<> flush() = 0;
  virtual Result<> finish() = 0;
};

// kNpy: float32 (or as StoredAs says) [rows, dimensions], NumPy format 1.0. A failed row is a row of zeros (never NaN), and is
// listed in PATH.errors.jsonl as {"row":0,"line":1,"id":…,"error":"…"}; a list left by an earlier run is removed when nothing
// failed. kJsonl: {"id":…,"embedding":[…]} or {"id":…,"error":"…"} a row; "index" from 0 in place of "id" where a row has none.
// Numbers are the shortest decimals that read back as the same float. kAuto: by suffix (.npy, .jsonl, .ndjson); JSON lines for
// standard output ("-"). Vectors are floats when they are written; the output holds what encode_vector (engine/output_type.h)
// makes of them: kNpy of '<f2',
// '|i1' or '|u1', kJsonl integers, or the decimals of fp16 numbers.
struct StoredAs {
  OutputType type = OutputType::kFloat;
  std::optional<OutputRanges> ranges = {};  // of the integers
};
Result<std::unique_ptr<VectorWriter>> open_writer(const std::string& path, OutputFormat format, int dimensions,
                                                  StoredAs stored = {});

// "auto", "npy", "jsonl".
std::optional<OutputFormat> output_format_from_name(std::string_view name);
// Never kAuto; kInvalidArgument if the name does not tell.
Result<OutputFormat> choose_output_format(const std::string& path, OutputFormat format);

}  // namespace inlay
