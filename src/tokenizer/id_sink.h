// Where a model puts ids: keeps the first or the last `limit` of them and says when more would change nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace inlay {

class IdSink {
 public:
  enum class Keep { kHead, kTail };

  IdSink(size_t limit, Keep keep) : limit_(limit), keep_(keep) {}

  void push(int32_t id) {
    if (ids_.size() < limit_) {
      ids_.push_back(id);
    } else {
      push_beyond(id);
    }
  }

  // No id pushed from now on can change the result. Never true while the tail is what is kept.
  bool is_full() const { return is_full_; }
  // At least one id was pushed that `take` does not give.
  bool has_dropped() const { return is_full_ || count() > limit_; }
  // Ids pushed; if is_full(), a lower bound.
  size_t count() const { return ids_.size() + dropped_ + (is_full_ ? 1 : 0); }

  std::vector<int32_t> take() {
    drop_head(ids_.size() - std::min(ids_.size(), limit_));
    return std::move(ids_);
  }

 private:
  void push_beyond(int32_t id) {
    if (keep_ == Keep::kHead) {
      is_full_ = true;
      return;
    }
    ids_.push_back(id);
    // Dropping half of a double-sized window at a time keeps the cost per id constant.
    if (ids_.size() > 2 * limit_) drop_head(ids_.size() - limit_);
  }

  void drop_head(size_t count) {
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(count));
    dropped_ += count;
  }

  std::vector<int32_t> ids_;
  size_t limit_;
  size_t dropped_ = 0;
  Keep keep_;
  bool is_full_ = false;
};

}  // namespace inlay
