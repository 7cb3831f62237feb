// The public interface over the engine.
#include "engine/engine.h"
#include "engine/input_type.h"
#include "engine/option_names.h"
#include "engine/rerank.h"
#include "hub/locate_model.h"
#include "inlay/inlay.h"

namespace inlay {
namespace {

// Options by name to options by value, with the flag's name in the error.
Result<EngineOptions> engine_options(const std::filesystem::path& folder, const ModelOptions& options) {
  EngineOptions result;
  result.model = folder;
  result.dtype = TRY(parse_dtype(options.dtype));
  result.threads = options.threads;
  result.max_length = options.max_length;
  result.truncate_side = TRY(parse_truncate_side(options.truncate_side));
  result.prompt = options.prompt;
  result.prompt_name = options.prompt_name;
  result.splade = options.pooling == "splade";
  if (options.pooling && !result.splade) result.pooling = TRY(parse_pooling(*options.pooling));
  result.normalize = TRY(parse_normalize(options.normalize));
  result.dimensions = options.dimensions;
  result.weight_cache = options.weight_cache;
  return result;
}

ScoreForm form_of(Scores scores) {
  switch (scores) {
    case Scores::kModel: return ScoreForm::kModel;
    case Scores::kRaw: return ScoreForm::kRaw;
    case Scores::kProbability: break;
  }
  return ScoreForm::kProbability;
}

Result<TextOptions> text_options(const Engine& engine, const TextSettings& settings) {
  if (int{settings.prompt.has_value()} + settings.prompt_name.has_value() + settings.input_type.has_value() > 1) {
    return fail(ErrorCode::kInvalidArgument, "give one of prompt, prompt_name and input_type");
  }
  TextOptions options;
  if (settings.prompt) options.prompt = settings.prompt;
  if (settings.prompt_name) options.prompt = TRY(resolve_prompt({.prompt_name = settings.prompt_name}, engine.spec()));
  if (settings.input_type) {
    options.prompt = TRY(prompt_for_input_type(*settings.input_type, engine.spec().prompts));
    options.is_query = is_query_type(*settings.input_type);
  }
  return options;
}

}  // namespace

struct Model::Impl {
  Engine engine;

  // Embeds what `take_in(i)` gives for each of `count` texts; a text that cannot be taken in keeps its error.
  template <class TakeIn>
  std::vector<Result<Vector>> embed(size_t count, const TakeIn& take_in) const {
    std::vector<Result<Vector>> results(count);
    std::vector<TokenizedText> texts;
    std::vector<size_t> places;
    for (size_t i = 0; i < count; ++i) {
      Result<TokenizedText> text = take_in(i);
      if (!text) {
        results[i] = tl::unexpected<Error>(std::move(text).error());
        continue;
      }
      texts.push_back(*std::move(text));
      places.push_back(i);
    }
    std::vector<Result<Vector>> vectors = engine.embed(texts);
    for (size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(vectors[i]);
    return results;
  }

  Result<TokenizedText> tokenize(std::string_view text, const Result<TextOptions>& options) const {
    return options ? engine.tokenize(text, *options) : tl::unexpected<Error>(options.error());
  }

  // Runs texts for one kind of output, and gives what `take` takes of each.
  template <class Taken, class Take>
  std::vector<Result<Taken>> run(std::span<const std::string> texts, OutputKind kind, const TextSettings& settings,
                                 const Take& take) const {
    const Result<TextOptions> options = text_options(engine, settings);
    std::vector<Result<TokenizedText>> inputs;
    for (const std::string& text : texts) {
      inputs.push_back(tokenize(text, options));
      if (inputs.back()) inputs.back()->outputs = {kind};
    }
    std::vector<Result<Taken>> results;
    for (Result<TextOutput>& output : run_usable(engine, std::move(inputs))) {
      results.push_back(std::move(output).map(take));
    }
    return results;
  }
};

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Result<Model> Model::load(const std::filesystem::path& folder, const ModelOptions& options) {
  const std::filesystem::path located = TRY(locate_model(folder.string(), hub_options_from_environment(), {}));
  const EngineOptions wanted = TRY(engine_options(located, options));
  Engine engine = TRY(Engine::load(wanted));
  return Model(std::unique_ptr<Impl>(new Impl{std::move(engine)}));
}

int Model::dimensions() const { return impl_->engine.dimensions(); }
int Model::max_length() const { return impl_->engine.max_length(); }
std::string Model::dtype() const { return std::string(precision_name(impl_->engine.precision())); }

std::vector<Result<Vector>> Model::embed(std::span<const std::string> texts, const TextSettings& settings) const {
  const Result<TextOptions> options = text_options(impl_->engine, settings);
  return impl_->embed(texts.size(), [&](size_t i) { return impl_->tokenize(texts[i], options); });
}

Result<Vector> Model::embed(std::string_view text, const TextSettings& settings) const {
  const Result<TextOptions> options = text_options(impl_->engine, settings);
  return std::move(impl_->embed(1, [&](size_t) { return impl_->tokenize(text, options); }).front());
}

std::vector<Result<Vector>> Model::embed_ids(std::span<const std::vector<int64_t>> texts) const {
  return impl_->embed(texts.size(), [&](size_t i) { return impl_->engine.from_ids(texts[i]); });
}

std::vector<std::string> Model::prompt_names() const {
  std::vector<std::string> names;
  for (const auto& [name, text] : impl_->engine.spec().prompts) names.push_back(name);
  return names;
}

std::vector<std::string> Model::outputs() const {
  std::vector<std::string> names;
  for (int kind = 0; kind < kOutputKinds; ++kind) {
    const OutputKind output = static_cast<OutputKind>(kind);
    if (impl_->engine.outputs().has(output)) names.emplace_back(output_name(output));
  }
  return names;
}

std::vector<std::string> Model::labels() const {
  const std::optional<ClassifierSpec>& classifier = impl_->engine.spec().classifier;
  return classifier ? classifier->labels : std::vector<std::string>();
}

Result<std::vector<RankedText>> Model::rerank(std::string_view query, std::span<const std::string> texts, size_t top_k,
                                              Scores scores) const {
  const std::vector<Result<float>> found = TRY(inlay::rerank(impl_->engine, query, texts, form_of(scores)));
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) return fail(found[i].error().code, "text {}: {}", i, found[i].error().message);
  }
  std::vector<RankedText> ranked;
  for (const uint32_t index : rank_scores(found, top_k)) ranked.push_back({index, *found[index]});
  return ranked;
}

std::vector<Result<std::vector<float>>> Model::classify(std::span<const std::string> texts, Scores scores) const {
  return impl_->run<std::vector<float>>(texts, OutputKind::kScores, {}, [&](TextOutput output) {
    finish_scores(impl_->engine.spec(), form_of(scores), output.scores);
    return std::move(output.scores);
  });
}

std::vector<Result<SparseVector>> Model::embed_sparse(std::span<const std::string> texts, const TextSettings& settings) const {
  return impl_->run<SparseVector>(texts, OutputKind::kSparse, settings,
                                  [](TextOutput output) { return std::move(output.sparse); });
}

std::vector<Result<TokenVectors>> Model::embed_tokens(std::span<const std::string> texts, const TextSettings& settings) const {
  return impl_->run<TokenVectors>(texts, OutputKind::kTokens, settings,
                                  [](TextOutput output) { return std::move(output.tokens); });
}

Result<std::vector<Vector>> Model::embed_chunks(std::span<const std::string> chunks) const {
  const TokenizedText text = TRY(impl_->engine.tokenize_chunks(chunks, {}));
  const TextOutput output = TRY(std::move(impl_->engine.run({&text, 1}).front()));
  const size_t columns = static_cast<size_t>(dimensions());
  std::vector<Vector> vectors;
  for (size_t begin = 0; begin < output.chunks.size(); begin += columns) {
    const auto first = output.chunks.begin() + static_cast<std::ptrdiff_t>(begin);
    vectors.emplace_back(first, first + static_cast<std::ptrdiff_t>(columns));
  }
  return vectors;
}

Result<std::vector<int32_t>> Model::tokenize(std::string_view text) const {
  return impl_->engine.tokenize(text).map([](TokenizedText tokens) { return std::move(tokens.ids); });
}

std::string_view version() { return INLAY_VERSION; }

}  // namespace inlay
