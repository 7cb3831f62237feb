#include "weights/named_weights.h"

#include <algorithm>
#include <array>
#include <optional>

namespace inlay {
namespace {

// Prefixes that are met, in the order they are tried when a file holds the probe more than once. Any other prefix is accepted
// too if it is the only one.
constexpr std::array<std::string_view, 21> kUsualPrefixes = {"",
                                                             "bert.",
                                                             "roberta.",
                                                             "xlm-roberta.",
                                                             "camembert.",
                                                             "distilbert.",
                                                             "mpnet.",
                                                             "albert.",
                                                             "electra.",
                                                             "deberta.",
                                                             "new.",
                                                             "gte.",
                                                             "nomic_bert.",
                                                             "model.",
                                                             "language_model.",
                                                             "0.auto_model.",
                                                             "auto_model.",
                                                             "encoder.",
                                                             "base_model.model.",
                                                             "base_model.model.bert.",
                                                             "0.auto_model.bert."};

// Prefixes in the store under which `probe` lies, sorted.
std::vector<std::string> prefixes_of(const WeightStore& store, std::string_view probe) {
  std::vector<std::string> prefixes;
  for (const std::string& name : store.names()) {
    if (!name.ends_with(probe)) continue;
    const std::string_view prefix = std::string_view(name).substr(0, name.size() - probe.size());
    if (prefix.empty() || prefix.ends_with('.')) prefixes.emplace_back(prefix);
  }
  return prefixes;
}

// The spelling of TensorFlow's first BERT: LayerNorm.gamma for LayerNorm.weight, LayerNorm.beta for LayerNorm.bias.
std::optional<std::string> old_spelling(std::string_view name) {
  if (name.ends_with(".weight")) return std::string(name.substr(0, name.size() - 6)) + "gamma";
  if (name.ends_with(".bias")) return std::string(name.substr(0, name.size() - 4)) + "beta";
  return std::nullopt;
}

std::string new_spelling(std::string_view name) {
  if (name.ends_with(".gamma")) return std::string(name.substr(0, name.size() - 5)) + "weight";
  if (name.ends_with(".beta")) return std::string(name.substr(0, name.size() - 4)) + "bias";
  return std::string(name);
}

// Buffers and unused heads that every encoder may drop.
bool is_leftover(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kHeads = {"pooler.", "cls.", "lm_head."};
  static constexpr std::array<std::string_view, 3> kBuffers = {"position_ids", "token_type_ids", "rotary_emb.inv_freq"};
  for (const std::string_view head : kHeads) {
    if (name.starts_with(head)) return true;
  }
  for (const std::string_view buffer : kBuffers) {
    if (name == buffer) return true;
    if (name.ends_with(buffer) && name[name.size() - buffer.size() - 1] == '.') return true;
  }
  return false;
}

}  // namespace

Result<NamedWeights> NamedWeights::match(const WeightStore& store, std::string_view probe) {
  const std::vector<std::string> found = prefixes_of(store, probe);
  if (found.empty()) return fail(ErrorCode::kCorrupt, "{}: no tensor '{}' under any prefix", store.file_of(probe), probe);
  if (found.size() == 1) return NamedWeights(store, found[0]);
  for (const std::string_view usual : kUsualPrefixes) {
    if (std::find(found.begin(), found.end(), usual) != found.end()) return NamedWeights(store, std::string(usual));
  }
  return fail(ErrorCode::kCorrupt, "{}: tensor '{}' lies under several prefixes, '{}' and '{}' among them",
              store.file_of(found[0] + std::string(probe)), probe, found[0], found[1]);
}

std::string NamedWeights::full_name(std::string_view bare) const {
  std::string name = prefix_ + std::string(bare);
  if (store_->contains(name)) return name;
  const std::optional<std::string> old = old_spelling(name);
  return old && store_->contains(*old) ? *old : name;
}

Result<const TensorView*> NamedWeights::require(std::string_view bare, const std::vector<int64_t>& shape) const {
  const std::string name = full_name(bare);
  if (!store_->contains(name)) {
    return fail(ErrorCode::kCorrupt, "{}: tensor '{}' is missing, wanted shape {}", store_->file_of(name), name,
                shape_text(shape));
  }
  const TensorView* const view = TRY(store_->get(name));
  if (view->shape != shape) {
    return fail(ErrorCode::kCorrupt, "{}: tensor '{}' has shape {}, wanted {}", store_->file_of(name), name,
                shape_text(view->shape), shape_text(shape));
  }
  if (!is_float_type(view->dtype) && view->coded == nullptr) {
    return fail(ErrorCode::kUnsupported, "{}: tensor '{}' is of type {}, wanted F32, F16, BF16 or F64", store_->file_of(name),
                name, dtype_name(view->dtype));
  }
  return view;
}

Result<const TensorView*> NamedWeights::optional(std::string_view bare, const std::vector<int64_t>& shape) const {
  if (!store_->contains(full_name(bare))) return nullptr;
  return require(bare, shape);
}

std::vector<std::string> NamedWeights::unexpected(const std::function<bool(std::string_view bare)>& known) const {
  std::vector<std::string> result;
  for (const std::string& name : store_->names()) {
    const bool is_ours = name.starts_with(prefix_);
    const std::string bare = is_ours ? name.substr(prefix_.size()) : name;
    if (is_leftover(bare) || (is_ours && known(new_spelling(bare)))) continue;
    result.push_back(name);
  }
  return result;
}

}  // namespace inlay
