// Takes some of a stream of unknown length, spread evenly over it, with bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace inlay {

// Cuts the stream into stretches of one length and keeps one value of each, picked at random, so that a pattern in the stream
// (a query, a document, a query, ...) does not show in the sample. The same seed and stream give the same sample.
template <class T>
class EvenSample {
 public:
  EvenSample(size_t wanted, uint64_t seed) : wanted_(wanted), random_(seed) {}

  void add(T value) {
    ++in_stretch_;
    if (!current_ || below(in_stretch_) == 0) current_ = std::move(value);
    if (in_stretch_ == stretch_) end_stretch();
  }

  // At most `wanted` values in the order of the stream: all of them if there were no more.
  std::vector<T> take() {
    if (current_ && below(stretch_) < in_stretch_) kept_.push_back(*std::move(current_));
    const size_t count = kept_.size() < wanted_ ? kept_.size() : wanted_;
    std::vector<T> sample;
    for (size_t i = 0; i < count; ++i) {
      const size_t first = i * kept_.size() / count;
      const size_t last = (i + 1) * kept_.size() / count;
      sample.push_back(std::move(kept_[first + below(last - first)]));
    }
    return sample;
  }

 private:
  size_t below(size_t limit) { return limit <= 1 ? 0 : static_cast<size_t>(random_() % limit); }

  void end_stretch() {
    kept_.push_back(*std::move(current_));
    current_.reset();
    in_stretch_ = 0;
    if (kept_.size() < 2 * wanted_) return;
    for (size_t i = 0; i < wanted_; ++i) {
      T& chosen = kept_[2 * i + below(2)];
      if (&chosen != &kept_[i]) kept_[i] = std::move(chosen);
    }
    kept_.resize(wanted_);
    stretch_ *= 2;
  }

  size_t wanted_;
  std::mt19937_64 random_;
  std::vector<T> kept_;  // one of each stretch
  std::optional<T> current_;
  size_t stretch_ = 1;
  size_t in_stretch_ = 0;
};

}  // namespace inlay
