// Folders for sequence classification: labels, and what makes scores of logits.
#include "model/model_spec_parts.h"

namespace inlay {
namespace {

constexpr int64_t kMaxLabels = 1 << 16;
constexpr size_t kMaxLabelBytes = 4096;

Result<std::vector<std::string>> read_labels(const Json& config) {
  const std::optional<Json> map = config.find("id2label");
  std::vector<std::string> labels;
  if (!map) {
    const int count = TRY(int_member(config, "num_labels", {1, kMaxLabels}, 2));  // transformers' default
    for (int i = 0; i < count; ++i) labels.push_back(fmt::format("LABEL_{}", i));
    return labels;
  }
  const std::vector<std::pair<std::string_view, Json>> members = TRY(map->members());
  if (members.empty() || static_cast<int64_t>(members.size()) > kMaxLabels) {
    return fail(ErrorCode::kCorrupt, "{}: found {} labels, wanted 1 to {}", map->where(), members.size(), kMaxLabels);
  }
  for (size_t i = 0; i < members.size(); ++i) {
    const std::string name = TRY(map->string_or(fmt::format("{}", i), fmt::format("LABEL_{}", i)));
    if (name.size() > kMaxLabelBytes) return fail(ErrorCode::kCorrupt, "{}: label {} is too long", map->where(), i);
    labels.push_back(name);
  }
  return labels;
}

// A torch class, or nothing for code of the model's authors, which sentence-transformers leaves alone too.
Result<std::optional<ScoreActivation>> score_activation(const Json& object, std::string_view key) {
  const std::string name = TRY(object.string_or(key, ""));
  if (!name.starts_with("torch.")) return std::nullopt;
  const std::string_view last = std::string_view(name).substr(name.rfind('.') + 1);
  if (last == "Identity") return ScoreActivation::kIdentity;
  if (last == "Sigmoid") return ScoreActivation::kSigmoid;
  if (last == "Softmax") return ScoreActivation::kSoftmax;
  return fail(ErrorCode::kUnsupported, "{}: {}: found '{}', supported: Identity, Sigmoid and Softmax of torch.nn",
              object.where(), key, name);
}

// The order in which sentence-transformers asks.
Result<std::optional<ScoreActivation>> stated_activation(const std::filesystem::path& folder, const Json& config) {
  const std::optional<JsonDocument> service = TRY(read_config_if_there(folder, "config_sentence_transformers.json"));
  if (service) {
    const std::optional<ScoreActivation> found = TRY(score_activation(service->root(), "activation_fn"));
    if (found) return found;
  }
  if (const std::optional<Json> own = config.find("sentence_transformers"); own && own->find("activation_fn")) {
    return score_activation(*own, "activation_fn");
  }
  return score_activation(config, "sbert_ce_default_activation_function");
}

}  // namespace

bool is_classifier(const EncoderConfig& encoder) {
  return !encoder.architectures.empty() && encoder.architectures[0].ends_with("ForSequenceClassification");
}

Result<ClassifierSpec> read_classifier(const std::filesystem::path& folder, const std::filesystem::path& encoder_folder) {
  const JsonDocument document = TRY(read_config(encoder_folder, "config.json"));
  const Json config = document.root();
  ClassifierSpec classifier;
  classifier.labels = TRY(read_labels(config));
  const bool is_single = classifier.labels.size() == 1;
  const std::string problem = TRY(config.string_or("problem_type", ""));
  const bool is_exclusive = !is_single && problem != "multi_label_classification";
  classifier.probability = is_exclusive ? ScoreActivation::kSoftmax : ScoreActivation::kSigmoid;
  const std::optional<ScoreActivation> stated = TRY(stated_activation(folder, config));
  classifier.activation = stated.value_or(is_single ? ScoreActivation::kSigmoid : ScoreActivation::kIdentity);
  return classifier;
}

}  // namespace inlay
