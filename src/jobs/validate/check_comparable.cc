#include <algorithm>
#include <filesystem>

#include "jobs/validate/validate_job.h"
#include "model/model_spec.h"
#include "tokenizer/tokenizer.h"

namespace inlay {
namespace {

// Texts whose ids are compared: a difference that matters shows in far fewer.
constexpr size_t kTextsCompared = 200;

tl::unexpected<Error> differ(const std::string& what, const std::string& reference, const std::string& candidate) {
  return fail(ErrorCode::kInvalidArgument, "the models cannot be compared: {}: the reference has {}, the candidate {}", what,
              reference, candidate);
}

Result<> check_number(const std::string& what, int reference, int candidate) {
  if (reference == candidate) return {};
  return differ(what, std::to_string(reference), std::to_string(candidate));
}

Result<> check_specs(const ModelSpec& reference, const ModelSpec& candidate, const EngineOptions& options) {
  if (reference.encoder.model_type != candidate.encoder.model_type) {
    return differ("model_type", reference.encoder.model_type, candidate.encoder.model_type);
  }
  TRY_VOID(check_number("vocabulary size", reference.encoder.vocab_size, candidate.encoder.vocab_size));
  if (!options.dimensions) TRY_VOID(check_number("dimensions", reference.dimensions, candidate.dimensions));
  if (options.max_length) return {};
  return check_number("maximum length (--max-length gives both the same)", reference.max_length, candidate.max_length);
}

Result<> check_ids(const Tokenizer& reference, const Tokenizer& candidate, const std::vector<std::string_view>& texts) {
  const size_t count = std::min(kTextsCompared, texts.size());
  for (size_t i = 0; i < count; ++i) {
    const std::string_view text = texts[i * texts.size() / count];
    const Encoding a = TRY(reference.encode(text, {}));
    const Encoding b = TRY(candidate.encode(text, {}));
    if (a.ids == b.ids) continue;
    return fail(ErrorCode::kInvalidArgument, "the models cannot be compared: their vocabularies give other ids to \"{}\"",
                cut_text(text, 60));
  }
  return {};
}

}  // namespace

Result<> check_comparable(const EngineOptions& reference, const EngineOptions& candidate,
                          const std::vector<std::string_view>& texts) {
  std::error_code ignored;
  const ModelSpec reference_spec = TRY(read_model_spec(reference.model));
  if (std::filesystem::equivalent(reference.model, candidate.model, ignored)) return {};
  const ModelSpec candidate_spec = TRY(read_model_spec(candidate.model));
  TRY_VOID(check_specs(reference_spec, candidate_spec, reference));
  const Tokenizer reference_tokenizer = TRY(Tokenizer::load(reference_spec.folder, reference_spec.lower_case_first));
  const Tokenizer candidate_tokenizer = TRY(Tokenizer::load(candidate_spec.folder, candidate_spec.lower_case_first));
  return check_ids(reference_tokenizer, candidate_tokenizer, texts);
}

}  // namespace inlay
