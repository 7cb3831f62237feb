#include "jobs/inspect_job.h"

#include "base/json_writer.h"
#include "kernels/kernels.h"
#include "tensor/coded_matrix.h"
#include "tensor/dtype.h"
#include "tokenizer/tokenizer.h"
#include "weights/weight_store.h"

namespace inlay {
namespace {

void add_tensor(WeightSum& sum, const TensorView& tensor) {
  ++sum.tensors;
  sum.parameters += static_cast<uint64_t>(tensor.element_count());
  sum.bytes += tensor.coded == nullptr ? tensor.bytes.size() : tensor.coded->stored_bytes();
}

// Codes of four bits have no element type of their own in a file.
std::string type_name(const TensorView& tensor) {
  const bool is_four_bits = tensor.coded != nullptr && tensor.coded->kind() != CodedMatrix::Kind::kBytes;
  return is_four_bits ? "I4" : std::string(dtype_name(tensor.dtype));
}

Result<> read_folder_weights(const std::filesystem::path& folder, const std::string& prefix, ModelReport& report) {
  const WeightStore store = TRY(WeightStore::open(folder));
  for (const std::string& name : store.names()) {
    const TensorView* tensor = store.find(name);
    if (tensor == nullptr) continue;  // of an element type that this build does not know
    add_tensor(report.weight_files[prefix + store.file_of(name)], *tensor);
    add_tensor(report.weight_dtypes[type_name(*tensor)], *tensor);
  }
  return {};
}

Result<> read_module_weights(std::span<const ModuleSpec> modules, ModelReport& report) {
  for (const ModuleSpec& module : modules) {
    const bool is_dense = module.kind == ModuleSpec::Kind::kDense;
    if (!is_dense && module.kind != ModuleSpec::Kind::kLayerNorm) continue;
    const std::filesystem::path& folder = is_dense ? module.dense.folder : module.layer_norm.folder;
    TRY_VOID(read_folder_weights(folder, folder.filename().string() + "/", report));
  }
  return {};
}

// Of the encoder and of the modules that have weights, each in its own folder.
Result<> read_weights(ModelReport& report) {
  TRY_VOID(read_folder_weights(report.spec.folder, "", report));
  report.quantization = TRY(read_quantization_config(report.spec.folder));
  report.auto_precision = resolve_precision(Precision::kAuto, kernels(), report.quantization);
  TRY_VOID(read_module_weights(report.spec.modules, report));
  return report.spec.tokens ? read_module_weights(report.spec.tokens->modules, report) : Result<>();
}

Result<> read_reports(const std::filesystem::path& folder, ModelReport& report) {
  report.validations = TRY(read_validations(folder));
  return {};
}

Result<> read_tokenizer(const std::filesystem::path& folder, ModelReport& report) {
  const Tokenizer tokenizer = TRY(Tokenizer::load(folder, report.spec.lower_case_first));
  report.tokenizer_kind = tokenizer.kind();
  report.vocab_size = tokenizer.vocab_size();
  report.special_tokens = tokenizer.special_tokens();
  return {};
}

// Loads the model and embeds one text of the greatest length, so that one lane holds what a lane needs.
void measure_memory(const EngineOptions& options, ModelReport& report) {
  const Result<Engine> engine = Engine::load(options);
  if (!engine) {
    report.problem = engine.error();
    return;
  }
  const EngineLanePtr lane = engine->make_lane();
  TokenizedText text = {.ids = std::vector<int32_t>(static_cast<size_t>(engine->max_length()), 0)};
  text.outputs = engine->outputs();
  const TokenizedText* const texts[] = {&text};
  std::vector<float> vector(static_cast<size_t>(engine->dimensions()));
  Result<> status;
  engine->embed_batch(*lane, texts, vector.data(), {&status, 1});
  TextOutput output;
  if (status) status = engine->collect(*lane, 0, output);
  if (!status) report.problem = status.error();
  report.precision = engine->precision();
  report.memory = memory_report(*engine);
  report.memory->engine.lanes = engine->lane_memory(*lane);
}

std::string pooling_text(const PoolingSpec& pooling) {
  std::string text;
  for (const Pooling mode : pooling.modes) text += fmt::format("{}{}", text.empty() ? "" : "+", pooling_name(mode));
  return text;
}

std::string module_text(const ModuleSpec& module) {
  switch (module.kind) {
    case ModuleSpec::Kind::kPooling:
      return fmt::format("pooling {}{}", pooling_text(module.pooling),
                         module.pooling.include_prompt ? "" : " without the prompt");
    case ModuleSpec::Kind::kDense:
      return fmt::format("dense {} -> {}, {}{}", module.dense.in_features, module.dense.out_features,
                         activation_name(module.dense.activation), module.dense.bias ? "" : ", no bias");
    case ModuleSpec::Kind::kNormalize: return "normalize";
    case ModuleSpec::Kind::kLayerNorm: return fmt::format("layer norm {}", module.layer_norm.dimension);
  }
  return {};
}

std::string_view activation_text(ScoreActivation activation) {
  switch (activation) {
    case ScoreActivation::kIdentity: return "identity";
    case ScoreActivation::kSigmoid: return "sigmoid";
    case ScoreActivation::kSoftmax: break;
  }
  return "softmax";
}

void put_outputs(JsonWriter& json, const ModelSpec& spec) {
  json.key("outputs").begin_array();
  for (int kind = 0; kind < kOutputKinds; ++kind) {
    if (spec.outputs.has(static_cast<OutputKind>(kind))) json.value(output_name(static_cast<OutputKind>(kind)));
  }
  json.end_array();
  if (!spec.classifier) return;
  json.key("labels").begin_array();
  for (const std::string& label : spec.classifier->labels) json.value(std::string_view(label));
  json.end_array().key("score_activation").value(activation_text(spec.classifier->activation));
}

void put_sums(JsonWriter& json, std::string_view name, const std::map<std::string, WeightSum>& sums) {
  json.key(name).begin_object();
  for (const auto& [key, sum] : sums) {
    json.key(key).begin_object().key("tensors").value(sum.tensors).key("parameters").value(sum.parameters);
    json.key("bytes").value(sum.bytes).end_object();
  }
  json.end_object();
}

void put_encoder(JsonWriter& json, const EncoderConfig& encoder) {
  json.key("model_type").value(encoder.model_type).key("architectures").begin_array();
  for (const std::string& name : encoder.architectures) json.value(name);
  json.end_array().key("hidden_size").value(encoder.hidden_size).key("layers").value(encoder.layers);
  json.key("heads").value(encoder.heads).key("intermediate_size").value(encoder.intermediate_size);
  json.key("activation").value(activation_name(encoder.activation)).key("max_positions").value(encoder.max_positions);
  json.key("token_types").value(encoder.token_types).key("layer_norm_eps").value(encoder.layer_norm_eps);
}

void put_validations(JsonWriter& json, const std::vector<ValidationSummary>& summaries) {
  json.key("validations").begin_array();
  for (const ValidationSummary& summary : summaries) {
    json.begin_object().key("dtype").value(summary.dtype).key("reference_dtype").value(summary.reference_dtype);
    json.key("passed").value(summary.passed).key("is_stale").value(summary.is_stale).key("created").value(summary.created);
    json.key("texts").value(summary.texts).key("p99").value(summary.p99).key("reasons").begin_array();
    for (const std::string& reason : summary.reasons) json.value(reason);
    json.end_array();
    if (summary.recall_5_loss) json.key("recall_5_loss").value(*summary.recall_5_loss);
    json.end_object();
  }
  json.end_array();
}

// A line of the table: the name in a column of its own.
std::string line(std::string_view name, const std::string& value) { return fmt::format("{:<14} {}\n", name, value); }

std::string quantization_text(const QuantizationConfig& config) {
  std::string text = fmt::format("{} by {}", config.dtype, config.method);
  if (!config.rounding.empty()) text += fmt::format(", {}", config.rounding);
  if (config.dtype != "int4") return text;
  return text + (config.group_size > 0 ? fmt::format(", groups of {}", config.group_size) : ", a group a row");
}

std::string weight_lines(const ModelReport& report) {
  std::string text;
  for (const auto& [file, sum] : report.weight_files) {
    text += line("weights", fmt::format("{}: {} tensors, {}", file, sum.tensors, bytes_text(sum.bytes)));
  }
  for (const auto& [dtype, sum] : report.weight_dtypes) {
    text += line("", fmt::format("{}: {} tensors, {} parameters", dtype, sum.tensors, sum.parameters));
  }
  return text;
}

std::string fill_text(const QueryFill& fill) {
  return fmt::format("filled up to {} tokens{}; what fills them is {}attended to", fill.length,
                     fill.cuts ? " and cut there" : "", fill.is_seen ? "" : "not ");
}

}  // namespace

Result<ModelReport> inspect_model(const EngineOptions& options) {
  ModelReport report;
  report.spec = TRY(read_model_spec(options.model));
  report.auto_precision = resolve_precision(Precision::kAuto, kernels());
  if (const Result<> read = read_tokenizer(report.spec.folder, report); !read) report.problem = read.error();
  if (const Result<> read = read_weights(report); !read) report.problem = read.error();
  if (const Result<> read = read_reports(options.model, report); !read) report.problem = read.error();
  if (!report.problem) measure_memory(options, report);
  return report;
}

std::string report_json(const ModelReport& report) {
  const ModelSpec& spec = report.spec;
  JsonWriter json;
  json.begin_object().key("folder").value(spec.folder.string());
  put_encoder(json, spec.encoder);
  put_outputs(json, spec);
  json.key("dimensions").value(spec.dimensions).key("max_length").value(spec.max_length);
  json.key("similarity").value(spec.similarity).key("modules").begin_array();
  for (const ModuleSpec& module : spec.modules) json.value(module_text(module));
  json.end_array().key("prompts").begin_object();
  for (const auto& [name, prompt] : spec.prompts) json.key(name).value(prompt);
  json.end_object().key("default_prompt_name");
  if (spec.default_prompt_name) {
    json.value(*spec.default_prompt_name);
  } else {
    json.null();
  }
  json.key("tokenizer").value(report.tokenizer_kind).key("vocab_size").value(report.vocab_size);
  json.key("special_tokens").value(report.special_tokens).key("auto_dtype").value(precision_name(report.auto_precision));
  json.key("isa").value(kernels().name).key("quantization");
  if (report.quantization) {
    json.value(quantization_text(*report.quantization));
  } else {
    json.null();
  }
  put_sums(json, "weight_files", report.weight_files);
  put_sums(json, "weight_dtypes", report.weight_dtypes);
  json.key("notes").begin_array();
  for (const std::string& note : spec.notes) json.value(note);
  json.end_array();
  if (report.memory) {
    json.key("dtype").value(precision_name(report.precision));
    put_memory(json, *report.memory);
  }
  put_validations(json, report.validations);
  if (report.problem) json.key("problem").value(report.problem->message);
  json.end_object();
  return json.text() + "\n";
}

std::string report_table(const ModelReport& report) {
  const ModelSpec& spec = report.spec;
  const EncoderConfig& encoder = spec.encoder;
  std::string text = line("folder", spec.folder.string());
  text += line("architecture",
               fmt::format("{}: {} layers, {} hidden, {} heads, {} intermediate, {}", encoder.model_type, encoder.layers,
                           encoder.hidden_size, encoder.heads, encoder.intermediate_size, activation_name(encoder.activation)));
  text += line("gives", output_names(spec.outputs));
  if (spec.classifier) {
    text += line("labels", fmt::format("{}; scores by {}", fmt::join(spec.classifier->labels, ", "),
                                       activation_text(spec.classifier->activation)));
  }
  const bool gives_vector = spec.outputs.has(OutputKind::kVector);
  if (gives_vector) {
    text += line("vectors", fmt::format("{} dimensions, {} similarity", spec.dimensions, spec.similarity));
  }
  text += line("max length", fmt::format("{} tokens ({} positions)", spec.max_length, encoder.max_positions));
  const std::vector<ModuleSpec>* const modules = gives_vector ? &spec.modules : spec.tokens ? &spec.tokens->modules : nullptr;
  if (modules != nullptr) {
    for (const ModuleSpec& module : *modules) text += line("module", module_text(module));
  }
  if (spec.tokens && spec.tokens->fill) text += line("queries", fill_text(*spec.tokens->fill));
  for (const auto& [name, prompt] : spec.prompts) {
    const bool is_default = spec.default_prompt_name == name;
    text += line("prompt", fmt::format("{}{}: \"{}\"", name, is_default ? " (default)" : "", prompt));
  }
  if (!report.tokenizer_kind.empty()) {
    text += line("tokenizer", fmt::format("{}, {} ids, {} special tokens added", report.tokenizer_kind, report.vocab_size,
                                          report.special_tokens));
  }
  text += weight_lines(report);
  if (report.quantization) text += line("quantised", quantization_text(*report.quantization));
  text += line("dtype auto", fmt::format("{} ({} kernels)", precision_name(report.auto_precision), kernels().name));
  if (report.memory) {
    text += line("memory in", fmt::format("{}, one lane, one text of the greatest length", precision_name(report.precision)));
    text += memory_lines(*report.memory);
  }
  for (const ValidationSummary& summary : report.validations) text += line("validation", validation_text(summary));
  for (const std::string& note : spec.notes) text += line("note", note);
  return text;
}

}  // namespace inlay
