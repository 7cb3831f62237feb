#include "engine/rerank.h"

#include <algorithm>
#include <array>

#include "model/classifier.h"

namespace inlay {
namespace {

bool interacts_late(const Engine& engine) { return !engine.outputs().has(OutputKind::kScores); }

// The prompt that the folder has for queries, or for documents under one of sentence-transformers' names; none is "".
std::string prompt_of(const ModelSpec& spec, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = spec.prompts.find(std::string(name));
    if (found != spec.prompts.end()) return found->second;
  }
  return {};
}

TextOptions options_for(const ModelSpec& spec, const TextOptions& options, bool is_query) {
  static constexpr std::array<std::string_view, 1> kQuery = {"query"};
  static constexpr std::array<std::string_view, 3> kDocument = {"document", "passage", "corpus"};
  TextOptions result = options;
  result.is_query = is_query;
  if (!result.prompt) {
    result.prompt = is_query ? prompt_of(spec, kQuery) : prompt_of(spec, kDocument);
  }
  return result;
}

Result<TokenizedText> tokenize_side(const Engine& engine, std::string_view text, const TextOptions& options, bool is_query) {
  TokenizedText result = TRY(engine.tokenize(text, options_for(engine.spec(), options, is_query)));
  result.outputs = {OutputKind::kTokens};
  return result;
}

}  // namespace

std::optional<ScoreForm> score_form_from_name(std::string_view name) {
  if (name == "model") return ScoreForm::kModel;
  if (name == "raw") return ScoreForm::kRaw;
  if (name == "probability") return ScoreForm::kProbability;
  return std::nullopt;
}

void finish_scores(const ModelSpec& spec, ScoreForm form, std::span<float> logits) {
  if (!spec.classifier || form == ScoreForm::kRaw) return;
  activate(form == ScoreForm::kModel ? spec.classifier->activation : spec.classifier->probability, logits);
}

// bge-m3, whose head lies in a file of its own, takes the mean over the query's tokens; others take the sum unless they say so.
std::optional<LateScore> late_score_of(const ModelSpec& spec) {
  if (spec.classifier || !spec.tokens) return std::nullopt;
  return !spec.tokens->weights.empty() || spec.similarity == "meanmaxsim" ? LateScore::kMean : LateScore::kSum;
}

float late_score(LateScore form, const TokenVectors& query, const TokenVectors& text) {
  const size_t columns = static_cast<size_t>(query.columns);
  float sum = 0;
  for (size_t q = 0; q < query.ids.size(); ++q) {
    float best = 0;
    for (size_t t = 0; t < text.ids.size(); ++t) {
      const float* a = query.values.data() + q * columns;
      const float* b = text.values.data() + t * columns;
      float product = 0;
      for (size_t c = 0; c < columns; ++c) product += a[c] * b[c];
      best = t == 0 ? product : std::max(best, product);
    }
    sum += best;
  }
  return form == LateScore::kMean ? sum / static_cast<float>(std::max<size_t>(1, query.ids.size())) : sum;
}

Result<> can_rerank(const Engine& engine) {
  if (engine.outputs().has(OutputKind::kScores)) {
    const size_t labels = engine.spec().classifier->labels.size();
    if (labels == 1) return {};
    return fail(ErrorCode::kUnsupported, "the model tells {} labels apart; ranking takes a model with one label", labels);
  }
  if (engine.spec().tokens) return {};
  return fail(ErrorCode::kUnsupported,
              "the model cannot rank texts: it is no cross-encoder and not made for late interaction; it gives: {}",
              output_names(engine.outputs()));
}

Result<RerankInputs> tokenize_for_rerank(const Engine& engine, std::string_view query, std::span<const std::string> texts,
                                         const TextOptions& options) {
  TRY_VOID(can_rerank(engine));
  RerankInputs result;
  if (interacts_late(engine)) {
    result.first_text = 1;
    result.inputs.emplace_back(TRY(tokenize_side(engine, query, options, true)));
    for (const std::string& text : texts) result.inputs.push_back(tokenize_side(engine, text, options, false));
  } else {
    for (const std::string& text : texts) result.inputs.push_back(engine.tokenize_pair(query, text, options));
  }
  return result;
}

std::vector<Result<float>> rerank_scores(const Engine& engine, ScoreForm form, std::span<const Result<TextOutput>> outputs) {
  const bool is_late = interacts_late(engine);
  std::vector<Result<float>> scores;
  for (size_t i = is_late ? 1 : 0; i < outputs.size(); ++i) {
    const Result<TextOutput>& failed = is_late && !outputs[0] ? outputs[0] : outputs[i];
    if (!failed) {
      scores.emplace_back(tl::unexpected<Error>(failed.error()));
    } else if (is_late) {
      scores.emplace_back(late_score(*late_score_of(engine.spec()), outputs[0]->tokens, outputs[i]->tokens));
    } else {
      float score = outputs[i]->scores.front();
      finish_scores(engine.spec(), form, {&score, 1});
      scores.emplace_back(score);
    }
  }
  return scores;
}

std::vector<Result<TextOutput>> run_usable(const Engine& engine, std::vector<Result<TokenizedText>> texts) {
  std::vector<Result<TextOutput>> results(texts.size());
  std::vector<TokenizedText> usable;
  std::vector<size_t> places;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i]) {
      results[i] = tl::unexpected<Error>(std::move(texts[i]).error());
      continue;
    }
    usable.push_back(*std::move(texts[i]));
    places.push_back(i);
  }
  std::vector<Result<TextOutput>> outputs = engine.run(usable);
  for (size_t i = 0; i < outputs.size(); ++i) results[places[i]] = std::move(outputs[i]);
  return results;
}

Result<std::vector<Result<float>>> rerank(const Engine& engine, std::string_view query, std::span<const std::string> texts,
                                          ScoreForm form, const TextOptions& options) {
  RerankInputs inputs = TRY(tokenize_for_rerank(engine, query, texts, options));
  const std::vector<Result<TextOutput>> outputs = run_usable(engine, std::move(inputs.inputs));
  return rerank_scores(engine, form, outputs);
}

std::vector<uint32_t> rank_scores(std::span<const Result<float>> scores, size_t top_k) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < scores.size(); ++i) {
    if (scores[i]) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return *scores[a] > *scores[b]; });
  if (top_k > 0 && order.size() > top_k) order.resize(top_k);
  return order;
}

}  // namespace inlay
