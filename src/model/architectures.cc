#include "model/architectures.h"

#include "model/biased_bert.h"
#include "model/deberta.h"
#include "model/decoder.h"
#include "model/modernbert.h"
#include "model/rotary_bert.h"

namespace inlay {
namespace {

// An architecture is a file and a line here.
constexpr BlockArchitecture kArchitectures[] = {
    {"modernbert", read_modernbert_config, load_modernbert},
    {"qwen2", read_decoder_config, load_decoder},
    {"qwen3", read_decoder_config, load_decoder},
    {"llama", read_decoder_config, load_decoder},
    {"mistral", read_decoder_config, load_decoder},
    {"eurobert", read_decoder_config, load_decoder},
    {"gemma3_text", read_gemma3_config, load_decoder},
    {"gemma-embedding", read_gemma3_config, load_decoder},
    {"mpnet", read_mpnet_config, load_mpnet},
    {"t5", read_t5_config, load_t5},
    {"nomic_bert", read_nomic_config, load_rotary_bert},
    {"new", read_gte_config, load_rotary_bert},
    {"gte", read_gte_config, load_rotary_bert},
    {"jina_embeddings_v3", read_jina_v3_config, load_rotary_bert},
    {"deberta-v2", read_deberta_config, load_deberta},
    {"jina_bert", read_jina_bert_config, load_jina_bert},
};

}  // namespace

const BlockArchitecture* find_architecture(std::string_view name) {
  for (const BlockArchitecture& architecture : kArchitectures) {
    if (architecture.name == name) return &architecture;
  }
  return nullptr;
}

// Some families took another one's model_type, and differ by how positions are told.
Result<const BlockArchitecture*> find_architecture(const Json& config) {
  const std::string type = TRY(config.string_or("model_type", ""));
  const std::string positions = TRY(config.string_or("position_embedding_type", "absolute"));
  if (type == "bert" && positions == "alibi") return find_architecture("jina_bert");
  if (type == "xlm-roberta" && positions == "rotary") return find_architecture("jina_embeddings_v3");
  return find_architecture(type);
}

Result<> read_architecture(const BlockArchitecture& architecture, const Json& config, EncoderConfig& encoder,
                           std::vector<std::string>& notes) {
  encoder.model_type = architecture.name;
  if (config.find("auto_map")) {
    notes.push_back(fmt::format("config.json: auto_map names code of the model's authors, which is not run: {} is built in",
                                architecture.name));
  }
  return architecture.read(config, encoder, notes);
}

Result<> choose_task(std::string_view task, EncoderConfig& encoder) {
  if (task.empty()) return {};
  TransformerConfig& t = encoder.transformer;
  for (size_t i = 0; i < t.tasks.size(); ++i) {
    if (t.tasks[i] != task) continue;
    t.task = static_cast<int>(i);
    return {};
  }
  return fail(ErrorCode::kInvalidArgument, "task '{}': the model has {}", task,
              t.tasks.empty() ? "no tasks" : fmt::format("{}", fmt::join(t.tasks, ", ")));
}

Error with_architectures(Error error) {
  for (const BlockArchitecture& architecture : kArchitectures) error.message += fmt::format(", {}", architecture.name);
  return error;
}

}  // namespace inlay
