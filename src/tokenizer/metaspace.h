// Metaspace: spaces become a visible character, and words begin with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/pre_tokenizer.h"

namespace inlay {

enum class PrependScheme : uint8_t { kAlways, kFirst, kNever };

struct MetaspaceOptions {
  std::string replacement = "\u2581";              // one character
  PrependScheme prepend = PrependScheme::kAlways;  // kFirst: only where the input begins
  bool split = true;                               // each replacement begins a piece
};

class Metaspace final : public PreTokenizer {
 public:
  explicit Metaspace(MetaspaceOptions options) : options_(std::move(options)) {}
  void split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const override;
  std::vector<ByteRange> align(std::string_view text, std::span<const ByteRange> ranges, const StepState& state) const override;
  bool cuts_at_space() const override { return options_.split; }

 private:
  bool prepends(std::string_view text, const StepState& state) const;
  void cut(std::string_view text, std::vector<std::string_view>& pieces) const;

  MetaspaceOptions options_;
};

}  // namespace inlay
