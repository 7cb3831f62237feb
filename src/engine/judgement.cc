// Pairs for a language model that judges them: a prompt around the query and the text. Source: the model cards of Qwen3's
// rerankers, which cut the middle and keep what is around it.
#include "engine/engine_impl.h"

namespace inlay {

Result<TokenizedText> Engine::Impl::tokenize_judgement(std::string_view query, std::string_view text,
                                                       const TextOptions& options) const {
  EncodeOptions encode = TRY(encode_options_for(options, false));
  const LogitScoreSpec& score = *spec.classifier->logit_score;
  EncodeOptions whole = encode;
  whole.add_special_tokens = false;
  whole.truncation = TruncationSide::kNone;
  const std::vector<int32_t> before = TRY(tokenizer->encode(score.prefix, whole)).ids;
  const std::vector<int32_t> after = TRY(tokenizer->encode(score.suffix, whole)).ids;
  encode.max_length -= static_cast<int>(before.size() + after.size());
  if (encode.max_length < 1 + tokenizer->special_tokens()) {
    return fail(ErrorCode::kInvalidArgument, "max_length is {}, but the model's prompt alone takes {} tokens",
                encode.max_length + static_cast<int>(before.size() + after.size()), before.size() + after.size());
  }
  const std::string& given = options.prompt ? *options.prompt : prompt;
  const std::string& instruction = given.empty() ? score.instruction : given;
  const std::string middle = fmt::format("<Instruct>: {}\n<Query>: {}\n<Document>: {}", instruction, query, text);
  Encoding encoding = TRY(tokenizer->encode(middle, encode));
  TokenizedText result{before, {}, 0, encoding.truncated};
  result.ids.insert(result.ids.end(), encoding.ids.begin(), encoding.ids.end());
  result.ids.insert(result.ids.end(), after.begin(), after.end());
  result.outputs = {OutputKind::kScores};
  TRY_VOID(check_ids(result));
  return result;
}

}  // namespace inlay
