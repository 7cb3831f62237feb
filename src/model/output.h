// What a model can make of a text, and what it made of one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inlay/outputs.h"

namespace inlay {

enum class OutputKind : uint8_t {
  kVector,  // one vector for the text
  kScores,  // one logit for each label of a classifier; a reranker has one label
  kSparse,  // a weight for each of some ids of the vocabulary
  kTokens,  // one vector for each token
};
constexpr int kOutputKinds = 4;

// Several of them: one forward pass can give all that a model has.
class OutputSet {
 public:
  constexpr OutputSet() = default;
  constexpr OutputSet(std::initializer_list<OutputKind> kinds) {
    for (const OutputKind kind : kinds) add(kind);
  }
  constexpr void add(OutputKind kind) { bits_ = static_cast<uint8_t>(bits_ | bit(kind)); }
  constexpr void add(OutputSet others) { bits_ = static_cast<uint8_t>(bits_ | others.bits_); }
  constexpr bool has(OutputKind kind) const { return (bits_ & bit(kind)) != 0; }
  constexpr bool has_all(OutputSet others) const { return (others.bits_ & ~bits_) == 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const OutputSet&) const = default;

 private:
  static constexpr uint8_t bit(OutputKind kind) { return static_cast<uint8_t>(1U << static_cast<unsigned>(kind)); }
  uint8_t bits_ = 0;
};

// "vector", "scores", "sparse", "tokens"; for flags and messages.
std::string_view output_name(OutputKind kind);
std::optional<OutputKind> output_from_name(std::string_view name);
std::string output_names(OutputSet set);  // "vector, tokens"

// Only what was asked for is filled.
struct TextOutput {
  std::vector<float> vector;  // [dimensions]
  std::vector<float> scores;  // [labels], logits
  SparseVector sparse;
  TokenVectors tokens;
};

}  // namespace inlay
