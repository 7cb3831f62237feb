#include "use_tokenizer.h"

#include "base/check.h"
#include "tokenizer/tokenizer.h"

namespace inlay {
namespace {

constexpr std::string_view kUgly =
    "ab <mask>e\u0301\u200d 12-34 'S\r\n\xff \u2581x<|end|> abcabcabc [SEP]\u4e2d\u6587 \U0001F600";

void check_encoding(const Tokenizer& tokenizer, const Result<Encoding>& encoding, size_t limit) {
  if (!encoding) {
    INLAY_CHECK(!encoding.error().message.empty(), "an error says what is wrong");
    return;
  }
  INLAY_CHECK(encoding->ids.size() <= limit, "the limit holds");
  INLAY_CHECK(encoding->type_ids.empty() || encoding->type_ids.size() == encoding->ids.size(), "each id has a type or none");
  for (const int32_t id : encoding->ids) INLAY_CHECK(id >= 0 && id < tokenizer.vocab_size(), "an id is one of the vocabulary");
  static_cast<void>(tokenizer.decode(encoding->ids, true));
}

}  // namespace

bool use_tokenizer(const std::filesystem::path& folder) {
  const Result<Tokenizer> tokenizer = Tokenizer::load(folder);
  if (!tokenizer) {
    INLAY_CHECK(!tokenizer.error().message.empty(), "an error says what is wrong");
    return false;
  }
  check_encoding(*tokenizer, tokenizer->encode(kUgly, {.max_length = 4096}), 4096);
  check_encoding(*tokenizer, tokenizer->encode(kUgly, {.max_length = 9, .truncation = TruncationSide::kLeft}), 9);
  check_encoding(*tokenizer, tokenizer->encode_pair(kUgly, "second", {.max_length = 12}), 12);
  return true;
}

}  // namespace inlay
