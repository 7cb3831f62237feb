// Tokens back to text: the `decoder` of a tokenizer.json.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/step_state.h"

namespace inlay {

// Changes a list of tokens. Immutable; `apply` may run in any number of threads at once, each with its own state.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  // With `state.error` set the tokens are of no use.
  virtual void apply(std::vector<std::string>& tokens, StepState& state) const = 0;
};

class TokenDecoder {
 public:
  // Joins tokens with spaces, as a file without a decoder asks for.
  TokenDecoder() = default;

  // A decoder that Inlay does not know makes `decode` fail, not the loading: encoding needs none.
  static Result<TokenDecoder> read(const std::optional<Json>& json);
  // What the folders without a tokenizer.json get.
  static TokenDecoder word_piece();
  static TokenDecoder byte_level();
  static TokenDecoder metaspace();
  // Bytes and marks; `strips_first` takes the space off that was put before the text.
  static TokenDecoder llama(bool strips_first);

  Result<std::string> decode(std::vector<std::string> tokens) const;

 private:
  static TokenDecoder of_step(std::unique_ptr<DecodeStep> step);

  std::vector<std::unique_ptr<DecodeStep>> steps_;
  bool joins_with_spaces_ = true;
  std::optional<Error> unknown_;
};

}  // namespace inlay
