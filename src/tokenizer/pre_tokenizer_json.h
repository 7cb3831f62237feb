// Reads the `pre_tokenizer` of a tokenizer.json.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/pre_tokenizer.h"

namespace inlay {

struct PreTokenizerList {
  PreTokenizers steps;
  bool ends_in_byte_map = false;  // the last one is a ByteMap
};

// A step that Inlay does not know is kUnsupported.
Result<PreTokenizerList> read_pre_tokenizers(const Json& json);

// {"Regex": "..."} or {"String": "..."}, as Split and Replace have it.
Result<Regex> read_pattern(const Json& json);

}  // namespace inlay
