// Tokens that stand for single bytes: "<0x00>" to "<0xFF>".
#pragma once

#include <array>
#include <cstdint>

#include "tokenizer/vocabulary.h"

namespace inlay {

// The id of each byte's token, DoubleArray::kNoValue where there is none.
inline std::array<int32_t, 256> find_byte_tokens(const Vocabulary& vocabulary) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::array<int32_t, 256> ids;
  for (size_t byte = 0; byte < ids.size(); ++byte) {
    const char token[] = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
    ids[byte] = vocabulary.id_of({token, sizeof token}).value_or(DoubleArray::kNoValue);
  }
  return ids;
}

}  // namespace inlay
