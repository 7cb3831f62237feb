#include "jobs/bulk_window.h"

#include <algorithm>
#include <utility>

namespace inlay {

void BulkWindow::add(TextRow row) {
  text_bytes_ += row.bytes();
  rows_.push_back(std::move(row));
  tokens_.emplace_back();
}

std::span<TextRow> BulkWindow::block_rows(size_t block) {
  const size_t first = block * kBlockRows;
  return std::span<TextRow>(rows_).subspan(first, std::min(kBlockRows, rows_.size() - first));
}

std::span<TokenizedText> BulkWindow::block_tokens(size_t block) {
  const size_t first = block * kBlockRows;
  return std::span<TokenizedText>(tokens_).subspan(first, std::min(kBlockRows, tokens_.size() - first));
}

void BulkWindow::plan(int dimensions, int max_batch_tokens) {
  std::vector<uint32_t> usable;
  std::vector<int> lengths;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i].text) {
      if (!first_error_) first_error_ = rows_[i].text.error();
      continue;
    }
    usable.push_back(static_cast<uint32_t>(i));
    lengths.push_back(static_cast<int>(tokens_[i].ids.size()));
  }
  batches_ = plan_batches(lengths, max_batch_tokens);
  for (std::vector<uint32_t>& batch : batches_) {
    for (uint32_t& member : batch) member = usable[member];
  }
  dimensions_ = static_cast<size_t>(dimensions);
  vectors_.resize(rows_.size() * dimensions_);
}

std::span<float> BulkWindow::vector(size_t index) {
  return std::span<float>(vectors_).subspan(index * dimensions_, dimensions_);
}

}  // namespace inlay
