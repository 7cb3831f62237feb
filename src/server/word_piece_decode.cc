#include "server/word_piece_decode.h"

#include <array>
#include <string_view>
#include <utility>

namespace inlay {
namespace {

constexpr std::string_view kPrefix = "##";

// In this order, each over the whole piece.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kCleanup = {{
    {" .", "."},
    {" ?", "?"},
    {" !", "!"},
    {" ,", ","},
    {" ' ", "'"},
    {" n't", "n't"},
    {" 'm", "'m"},
    {" do not", " don't"},
    {" 's", "'s"},
    {" 've", "'ve"},
    {" 're", "'re"},
}};

std::string cleaned(std::string piece) {
  for (const auto& [from, to] : kCleanup) {
    for (size_t at = piece.find(from); at != std::string::npos; at = piece.find(from, at + to.size()))
      piece.replace(at, from.size(), to);
  }
  return piece;
}

}  // namespace

Result<std::string> decode_word_pieces(const Tokenizer& tokenizer, std::span<const int64_t> ids, bool skip_special_tokens) {
  if (tokenizer.kind() != "WordPiece") {
    return fail(ErrorCode::kUnsupported, "decoding is there for WordPiece tokenizers, this one is {}", tokenizer.kind());
  }
  std::string text;
  bool first = true;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= tokenizer.vocab_size()) {
      return fail(ErrorCode::kInvalidArgument, "token id {} at position {} is not in 0 to {}", ids[i], i,
                  tokenizer.vocab_size() - 1);
    }
    const int32_t id = static_cast<int32_t>(ids[i]);
    const std::optional<std::string_view> token = tokenizer.id_to_token(id);
    if (!token || (skip_special_tokens && tokenizer.is_special(id))) continue;
    std::string piece(*token);
    if (!first) piece = piece.starts_with(kPrefix) ? piece.substr(kPrefix.size()) : " " + piece;
    first = false;
    text += cleaned(std::move(piece));
  }
  return text;
}

}  // namespace inlay
