// Reads the `pre_tokenizer` of a tokenizer.json.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "tokenizer/metaspace.h"
#include "tokenizer/pre_tokenizer.h"

namespace inlay {

struct PreTokenizerList {
  PreTokenizers steps;
  bool ends_in_byte_map = false;  // the last one is a ByteMap
};

// A step that Inlay does not know is kUnsupported.
Result<PreTokenizerList> read_pre_tokenizers(const Json& json);

// A Metaspace, as the pre-tokenizer and the decoder have it.
Result<MetaspaceOptions> read_metaspace(const Json& json);

// A member that is a string of one character.
Result<std::string> read_character(const Json& json, std::string_view key);

// {"Regex": "..."} or {"String": "..."}, as Split and Replace have it.
Result<Regex> read_pattern(const Json& json);

}  // namespace inlay
