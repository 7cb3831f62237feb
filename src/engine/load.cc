#include <algorithm>

#include "base/check.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/process.h"
#include "engine/engine_impl.h"
#include "engine/weight_cache.h"
#include "model/architectures.h"

namespace inlay {
namespace {

// GEMM saturates at some 64 rows; 256 rows of a 384-wide model still keep their activations in a 1 MB L2, and a query that
// waits behind a batch waits for that many tokens only.
constexpr int kBatchTokens = 256;

Result<int> resolve_max_length(const EngineOptions& options, const ModelSpec& spec, int special_tokens) {
  const int wanted = options.max_length.value_or(spec.max_length);
  if (wanted > spec.encoder.usable_positions()) {
    return fail(ErrorCode::kInvalidArgument, "max_length is {}, the model has {} positions", wanted,
                spec.encoder.usable_positions());
  }
  if (wanted < std::max(1, special_tokens)) {
    return fail(ErrorCode::kInvalidArgument, "max_length is {}, but the tokenizer alone adds {} special tokens", wanted,
                special_tokens);
  }
  return wanted;
}

void override_pooling(ModelSpec& spec, Pooling pooling) {
  for (ModuleSpec& module : spec.modules) {
    if (module.kind == ModuleSpec::Kind::kPooling) module.pooling.modes = {pooling};
  }
}

const PoolingSpec& pooling_of(const ModelSpec& spec) {
  for (const ModuleSpec& module : spec.modules) {
    if (module.kind == ModuleSpec::Kind::kPooling) return module.pooling;
  }
  INLAY_CHECK(false, "read_model_spec always gives a pooling module");
}

// The marker is a token of the vocabulary, but a text that spells it gives other tokens.
Result<bool> falls_apart(const Tokenizer& tokenizer, const std::string& marker) {
  const std::optional<int32_t> id = tokenizer.token_to_id(marker);
  if (!id) return false;
  const Encoding alone = TRY(tokenizer.encode(marker, {.add_special_tokens = false}));
  return alone.ids != std::vector<int32_t>{*id};
}

Result<Tokenizer> load_with_markers(const EngineOptions& options, const ModelSpec& spec) {
  Tokenizer tokenizer = TRY(Tokenizer::load(spec.folder, spec.lower_case_first));
  std::vector<std::string> special;
  for (const std::string& marker : spec.tokens ? spec.tokens->markers : std::vector<std::string>()) {
    if (TRY(falls_apart(tokenizer, marker))) special.push_back(marker);
  }
  if (special.empty()) return tokenizer;
  if (options.escape_special_tokens) {
    return fail(ErrorCode::kInvalidArgument,
                "special tokens are to be plain text, but the model's prompts are made of them: {}", fmt::join(special, ", "));
  }
  return Tokenizer::load(spec.folder, spec.lower_case_first, special);
}

Result<std::optional<Tokenizer>> load_tokenizer(const EngineOptions& options, const ModelSpec& spec) {
  if (!options.ids_only) return TRY(load_with_markers(options, spec));
  if (options.prompt || options.prompt_name)
    return fail(ErrorCode::kInvalidArgument, "a prompt goes before texts, but token ids are used as given");
  return std::nullopt;
}

// More than a text of any model needs; it bounds the memory of a lane.
constexpr int kMostBatchTokens = 1 << 20;

Result<int> resolve_batch_tokens(const EngineOptions& options) {
  const int wanted = options.max_batch_tokens.value_or(kBatchTokens);
  if (wanted >= 1 && wanted <= kMostBatchTokens) return wanted;
  return fail(ErrorCode::kInvalidArgument, "max_batch_tokens is {}, wanted 1 to {}", wanted, kMostBatchTokens);
}

// Ids of tokens that a spec names; those that the vocabulary does not have are left out.
std::vector<int32_t> ids_of(const Tokenizer& tokenizer, std::span<const std::string> names) {
  std::vector<int32_t> ids;
  for (const std::string& name : names) {
    if (const std::optional<int32_t> id = tokenizer.token_to_id(name)) ids.push_back(*id);
  }
  return ids;
}

// The token that fills queries up.
Result<std::optional<int32_t>> find_fill(const Tokenizer& tokenizer, const ModelSpec& spec, int max_length) {
  if (!spec.tokens || !spec.tokens->fill) return std::nullopt;
  const QueryFill& fill = *spec.tokens->fill;
  if (fill.length > max_length) {
    return fail(ErrorCode::kInvalidArgument, "max_length is {}, but queries are filled up to {} tokens", max_length,
                fill.length);
  }
  for (const int32_t id : ids_of(tokenizer, fill.tokens)) {
    // A token that only the tokenizer's files add has no row in the model.
    if (id < spec.encoder.vocab_size) return id;
  }
  return fail(ErrorCode::kUnsupported, "the vocabulary has no token to fill queries up with; looked for: {}",
              fmt::join(fill.tokens, ", "));
}

// The ids of the words that a judging model may say.
Result<> find_words(const std::optional<Tokenizer>& tokenizer, LogitScoreSpec& score) {
  const auto find = [&](std::optional<int>& id, const std::string& token) -> Result<> {
    if (id) return {};
    const std::optional<int32_t> found = tokenizer ? tokenizer->token_to_id(token) : std::nullopt;
    if (!found) return fail(ErrorCode::kUnsupported, "the vocabulary has no token '{}', which the score is read from", token);
    id = *found;
    return {};
  };
  TRY_VOID(find(score.true_id, score.true_token));
  return score.has_false ? find(score.false_id, score.false_token) : Result<>();
}

}  // namespace

bool pools_prompt(const ModelSpec& spec) { return pooling_of(spec).include_prompt; }

Result<int> count_prompt_tokens(const Tokenizer& tokenizer, const std::string& prompt, const EncodeOptions& options) {
  const Encoding alone = TRY(tokenizer.encode(prompt, options));
  const bool ends_special = !alone.ids.empty() && tokenizer.is_special(alone.ids.back());
  return static_cast<int>(alone.ids.size()) - (ends_special ? 1 : 0);
}

Result<std::string> resolve_prompt(const EngineOptions& options, const ModelSpec& spec) {
  if (options.prompt && options.prompt_name)
    return fail(ErrorCode::kInvalidArgument, "give either prompt or prompt_name, not both");
  if (options.prompt) return *options.prompt;
  const std::optional<std::string>& name = options.prompt_name ? options.prompt_name : spec.default_prompt_name;
  if (!name) return std::string();
  const std::map<std::string, std::string>::const_iterator found = spec.prompts.find(*name);
  if (found != spec.prompts.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, text] : spec.prompts) names.push_back(known);
  return fail(ErrorCode::kInvalidArgument, "prompt name '{}': the model has {}", *name,
              names.empty() ? "no prompts" : fmt::format("{}", fmt::join(names, ", ")));
}

// What comes after the encoder.
Result<> Engine::Impl::load_heads(const EngineOptions& options, const Kernels& table) {
  outputs = spec.outputs;
  if (options.pooling) outputs.add(OutputKind::kVector);
  const HeadOptions head_options = {.keep_normalize = options.normalize != Normalize::kOff,
                                    .final_normalize = options.normalize == Normalize::kOn,
                                    .dimensions = options.dimensions};
  head = TRY(Head::load(spec, head_options, table, *team));
  tokens = TRY(TokenHead::load(spec, weights, table, *team));
  if (spec.tokens && tokenizer) tokens.skip(ids_of(*tokenizer, spec.tokens->skipped));
  if (tokenizer) fill_id = TRY(find_fill(*tokenizer, spec, max_length));
  if (spec.classifier && spec.classifier->logit_score) TRY_VOID(find_words(tokenizer, *spec.classifier->logit_score));
  if (spec.classifier) classifier = TRY(Classifier::load(spec, weights, table, *team));
  if (!spec.sparse) return {};
  const bool has_file = !spec.sparse->weights.empty();
  std::optional<WeightStore> own;
  if (has_file) own = TRY(WeightStore::open_file(spec.sparse->weights));
  sparse = TRY(SparseHead::load(spec, HeadWeights(own ? *own : weights, table, *team), plan, *team));
  if (tokenizer) sparse->leave_out(ids_of(*tokenizer, spec.sparse->left_out));
  return {};
}

// Weights, packed by the team.
Result<> Engine::Impl::load_weights(const EngineOptions& options, const Kernels& table) {
  if (!options.weight_cache.empty()) {
    packed.emplace(open_weight_cache(options.weight_cache, spec.folder, precision, plan, weights));
    plan.packed = &*packed;
  }
  plan.arena = &arena;
  encoder = TRY(load_encoder(spec.encoder, weights, plan, *team));
  if (packed) save_weight_cache(*packed, weights);
  TRY_VOID(load_heads(options, table));
  weights.release_all();
  return {};
}

Result<Engine> Engine::load(const EngineOptions& options) {
  if (options.threads < 0) {
    return fail(ErrorCode::kInvalidArgument, "threads is {}, wanted 1 or more, or 0 for what is granted", options.threads);
  }
  ModelSpec spec = TRY(read_model_spec(options.model));
  TRY_VOID(choose_task(options.task, spec.encoder));
  if (options.pooling) override_pooling(spec, *options.pooling);
  if (options.splade) {
    spec.sparse.emplace();
    spec.outputs = {OutputKind::kSparse, OutputKind::kTokens};
  }
  const uint64_t heap_before = heap_bytes();
  std::optional<Tokenizer> tokenizer = TRY(load_tokenizer(options, spec));
  const uint64_t heap_after = heap_bytes();
  WeightStore weights = TRY(WeightStore::open(spec.folder));
  std::unique_ptr<Impl> impl = std::make_unique<Impl>(std::move(spec), std::move(weights));
  impl->tokenizer = std::move(tokenizer);
  impl->tokenizer_bytes = heap_after > heap_before ? heap_after - heap_before : 0;

  const Kernels& table = options.kernels == nullptr ? kernels() : *options.kernels;
  const std::optional<QuantizationConfig>& quantization = impl->weights.quantization();
  impl->precision = resolve_precision(options.dtype, table, quantization);
  impl->plan = plan_for(impl->precision, table, quantization);
  const int special_tokens = impl->tokenizer ? impl->tokenizer->special_tokens() : 0;
  impl->max_length = TRY(resolve_max_length(options, impl->spec, special_tokens));
  impl->max_batch_tokens = TRY(resolve_batch_tokens(options));
  impl->prompt = TRY(resolve_prompt(options, impl->spec));
  impl->encode_options = {.max_length = impl->max_length,
                          .truncation = options.truncate_side,
                          .escape_special_tokens = options.escape_special_tokens};
  if (impl->tokenizer && !impl->prompt.empty() && !pools_prompt(impl->spec)) {
    impl->prompt_tokens = TRY(count_prompt_tokens(*impl->tokenizer, impl->prompt, impl->encode_options));
  }
  impl->team = std::make_unique<Team>(options.threads == 0 ? granted_threads() : options.threads);
  TRY_VOID(impl->load_weights(options, table));
  for (const std::string& note : impl->spec.notes) spdlog::info("{}", note);
  return Engine(std::move(impl));
}

}  // namespace inlay
