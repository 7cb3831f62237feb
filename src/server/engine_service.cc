#include "server/engine_service.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "model/model_spec.h"

namespace inlay {
namespace {

// Bounds what a stranger's text can make the server hold: ids for a message, and tokens that are spelt out.
constexpr int kMostCounted = 1 << 22;
constexpr int kMostPieces = 1 << 17;

std::string pooling_text(const ModelSpec& spec) {
  std::string text;
  for (const ModuleSpec& module : spec.modules) {
    if (module.kind != ModuleSpec::Kind::kPooling) continue;
    for (const Pooling mode : module.pooling.modes) {
      if (!text.empty()) text += '+';
      text += pooling_name(mode);
    }
  }
  return text;
}

// The byte at which each character of `text` begins, and its end.
std::vector<size_t> character_starts(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80) starts.push_back(i);
  }
  starts.push_back(text.size());
  return starts;
}

}  // namespace

EngineService::EngineService(Engine engine, std::string name, const ServingOptions& options, const SchedulerOptions& limits)
    : engine_(std::move(engine)) {
  const ModelSpec& spec = engine_.spec();
  facts_.name = std::move(name);
  facts_.outputs = engine_.outputs();
  if (spec.classifier) {
    facts_.labels = spec.classifier->labels;
    facts_.probability = spec.classifier->probability;
  }
  facts_.late_score = late_score_of(spec);
  const std::filesystem::path folder =
      options.engine.model.has_filename() ? options.engine.model : options.engine.model.parent_path();
  facts_.id = folder.filename().string();  // Where it lies on this machine is nobody's business.
  facts_.dtype = precision_name(engine_.precision());
  facts_.pooling = pooling_text(spec);
  facts_.dimensions = std::min(engine_.dimensions(), options.dimensions.value_or(engine_.dimensions()));
  facts_.max_length = engine_.max_length();
  facts_.vocab_size = spec.encoder.vocab_size;
  facts_.prompts = spec.prompts;
  facts_.folder_normalizes = options.folder_normalizes;
  facts_.raw_available = options.raw_available;
  facts_.auto_truncate = options.engine.truncate_side != TruncationSide::kNone;
  facts_.max_queue_tokens = limits.max_queue_tokens;
  facts_.max_batch_tokens = limits.max_batch_tokens > 0 ? limits.max_batch_tokens : engine_.max_batch_tokens();
  if (limits.max_batch_requests > 0) facts_.max_batch_requests = limits.max_batch_requests;
  facts_.max_concurrent_requests = limits.max_concurrent_requests;
  facts_.tokenization_workers = engine_.threads();
  facts_.created = static_cast<int64_t>(std::time(nullptr));
  facts_.validation = find_validation(options.engine.model, engine_.precision());
}

Result<TokenizedText> EngineService::tokenize(std::string_view text, const TextOptions& options) const {
  Result<TokenizedText> result = engine_.tokenize(text, options);
  if (result || result.error().code != ErrorCode::kTooLarge) return result;
  const int limit = std::min(options.max_length.value_or(engine_.max_length()), engine_.max_length());
  const EncodeOptions whole{.max_length = kMostCounted};
  const std::string prompted = options.prompt.value_or("") + std::string(text);
  const Result<Encoding> counted = engine_.tokenizer().encode(prompted, whole);
  if (!counted) return result;
  return fail(ErrorCode::kTooLarge, "`inputs` must have less than {} tokens. Given: {}{}", limit + 1,
              counted->truncated ? "at least " : "", counted->ids.size());
}

Result<TokenizedText> EngineService::tokenize_pair(std::string_view first, std::string_view second,
                                                   const TextOptions& options) const {
  Result<TokenizedText> result = engine_.tokenize_pair(first, second, options);
  if (result || result.error().code != ErrorCode::kTooLarge) return result;
  const int limit = std::min(options.max_length.value_or(engine_.max_length()), engine_.max_length());
  return fail(ErrorCode::kTooLarge, "`inputs` must have less than {} tokens: the pair has more", limit + 1);
}

Result<std::vector<TokenPiece>> EngineService::pieces(std::string_view text, bool add_special_tokens) const {
  const Tokenizer& tokenizer = engine_.tokenizer();
  const EncodeOptions options{
      .max_length = kMostPieces, .truncation = TruncationSide::kNone, .add_special_tokens = add_special_tokens};
  const Encoding encoding = TRY(tokenizer.encode(text, options));
  const std::vector<std::optional<Offsets>> offsets = tokenizer.offsets(encoding, text, std::nullopt, options);
  const std::vector<size_t> starts = character_starts(text);
  std::vector<TokenPiece> pieces;
  pieces.reserve(encoding.ids.size());
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    const int32_t id = encoding.ids[i];
    TokenPiece piece{id, std::string(tokenizer.id_to_token(id).value_or("")), tokenizer.is_special(id), std::nullopt};
    if (offsets[i]) {
      piece.bytes = {starts[offsets[i]->begin], starts[offsets[i]->end]};
      piece.text = text.substr(piece.bytes->begin, piece.bytes->end - piece.bytes->begin);
    }
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

Result<std::string> EngineService::decode(std::span<const int64_t> ids, bool skip_special_tokens) const {
  const int64_t end = engine_.tokenizer().vocab_size();
  std::vector<int32_t> known;
  known.reserve(ids.size());
  for (const int64_t id : ids) {
    if (id < 0 || id >= end) return fail(ErrorCode::kInvalidArgument, "token id {} is not in 0 to {}", id, end - 1);
    known.push_back(static_cast<int32_t>(id));
  }
  return engine_.tokenizer().decode(known, skip_special_tokens);
}

Result<ServingOptions> options_for_serving(EngineOptions options) {
  const ModelSpec spec = TRY(read_model_spec(options.model));
  ServingOptions serving;
  const auto is_normalize = [](const ModuleSpec& module) { return module.kind == ModuleSpec::Kind::kNormalize; };
  const int64_t count = std::count_if(spec.modules.begin(), spec.modules.end(), is_normalize);
  serving.folder_normalizes = !spec.modules.empty() && is_normalize(spec.modules.back());
  // One in the middle belongs to the model's sum and has to stay.
  serving.raw_available = count == (serving.folder_normalizes ? 1 : 0);
  options.normalize = serving.raw_available ? Normalize::kOff : Normalize::kAuto;
  serving.dimensions = std::exchange(options.dimensions, std::nullopt);
  serving.engine = std::move(options);
  return serving;
}

}  // namespace inlay
