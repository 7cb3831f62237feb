// Late chunking: the chunks of a text run as one text, and each is pooled by itself.
#include <algorithm>

#include "engine/engine_impl.h"

namespace inlay {
namespace {

// How many special tokens the tokenizer puts before and after a text.
struct Frame {
  std::vector<int32_t> before, after;
};

Result<Frame> frame_of(const Tokenizer& tokenizer, std::string_view text, EncodeOptions options) {
  const std::vector<int32_t> whole = TRY(tokenizer.encode(text, options)).ids;
  options.add_special_tokens = false;
  const std::vector<int32_t> bare = TRY(tokenizer.encode(text, options)).ids;
  const auto found = std::search(whole.begin(), whole.end(), bare.begin(), bare.end());
  if (bare.empty() || found == whole.end()) return fail(ErrorCode::kInvalidArgument, "the first chunk has no tokens");
  return Frame{{whole.begin(), found}, {found + static_cast<std::ptrdiff_t>(bare.size()), whole.end()}};
}

}  // namespace

Result<TokenizedText> Engine::tokenize_chunks(std::span<const std::string> chunks, const TextOptions& options) const {
  if (chunks.empty()) return fail(ErrorCode::kInvalidArgument, "late chunking takes one chunk or more");
  EncodeOptions encode = TRY(impl_->encode_options_for(options, false));
  encode.truncation = TruncationSide::kNone;
  const Tokenizer& tokenizer = *impl_->tokenizer;
  const std::string prompt = options.prompt ? *options.prompt : impl_->prompt;
  const Frame frame = TRY(frame_of(tokenizer, chunks[0], encode));
  encode.add_special_tokens = false;
  TokenizedText text;
  text.ids = frame.before;
  if (!prompt.empty()) {
    const std::vector<int32_t> ids = TRY(tokenizer.encode(prompt, encode)).ids;
    text.ids.insert(text.ids.end(), ids.begin(), ids.end());
  }
  for (size_t i = 0; i < chunks.size(); ++i) {
    const std::vector<int32_t> ids = TRY(tokenizer.encode(chunks[i], encode).map_error(within(fmt::format("chunk {}", i)))).ids;
    if (ids.empty()) return fail(ErrorCode::kInvalidArgument, "chunk {}: it has no tokens", i);
    const int begin = static_cast<int>(text.ids.size());
    text.ids.insert(text.ids.end(), ids.begin(), ids.end());
    text.chunks.push_back({begin, static_cast<int>(text.ids.size())});
    if (text.ids.size() > static_cast<size_t>(encode.max_length)) break;
  }
  text.ids.insert(text.ids.end(), frame.after.begin(), frame.after.end());
  if (text.ids.size() > static_cast<size_t>(encode.max_length)) {
    return fail(ErrorCode::kTooLarge, "the chunks are more than {} tokens together, which is the longest text",
                encode.max_length);
  }
  TRY_VOID(impl_->check_ids(text));
  return text;
}

}  // namespace inlay
