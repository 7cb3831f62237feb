// The rows that the bulk pipeline holds together: enough of them that batches of one length can be formed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "jobs/text_reader.h"

namespace inlay {

// A window is tokenised in blocks, then embedded in batches, then written. Blocks and batches of one window touch different
// rows, so several threads may work on it; the counters belong to whoever holds the pipeline's lock.
class BulkWindow {
 public:
  explicit BulkWindow(uint64_t first_index) : first_index_(first_index) {}

  // Filling, by the reading thread alone.
  void add(TextRow row);
  size_t size() const { return rows_.size(); }
  size_t text_bytes() const { return text_bytes_; }

  // Rows [first, last) of block `block`.
  static constexpr size_t kBlockRows = 32;
  size_t block_count() const { return (rows_.size() + kBlockRows - 1) / kBlockRows; }
  std::span<TextRow> block_rows(size_t block);
  std::span<TokenizedText> block_tokens(size_t block);

  // Once every block is tokenised: forms the batches, makes room for the vectors, and notes the first error.
  void plan(int dimensions, int max_batch_tokens);
  size_t batch_count() const { return batches_.size(); }
  const std::vector<uint32_t>& batch(size_t index) const { return batches_[index]; }

  uint64_t first_index() const { return first_index_; }
  TextRow& row(size_t index) { return rows_[index]; }
  const TokenizedText& tokens(size_t index) const { return tokens_[index]; }
  std::span<float> vector(size_t index);
  // Of the first row that had no text when the window was planned. From then on the rows belong to those who embed them.
  const std::optional<Error>& first_error() const { return first_error_; }

  // Counters, under the pipeline's lock.
  size_t blocks_taken = 0;
  size_t blocks_done = 0;
  size_t batches_taken = 0;
  size_t batches_done = 0;
  bool is_planned = false;
  bool is_checked = false;  // for errors of its rows

 private:
  uint64_t first_index_;
  size_t text_bytes_ = 0;
  size_t dimensions_ = 0;
  std::vector<TextRow> rows_;
  std::vector<TokenizedText> tokens_;
  std::vector<std::vector<uint32_t>> batches_;
  std::vector<float> vectors_;  // [rows, dimensions]
  std::optional<Error> first_error_;
};

}  // namespace inlay
