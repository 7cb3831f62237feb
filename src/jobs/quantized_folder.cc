#include "jobs/quantized_folder.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/output_file.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxConfigBytes = 16'000'000;

// Weights of this and other runtimes, at the top of a folder.
bool is_weight_file(const fs::path& path) {
  static constexpr std::array<std::string_view, 9> kSuffixes = {".safetensors", ".bin", ".h5",   ".msgpack", ".onnx",
                                                                ".ot",          ".pt",  ".gguf", ".pth"};
  const std::string name = path.filename().string();
  // Heads that lie beside the encoder's weights stay as they are.
  if (name.starts_with("sparse_linear.") || name.starts_with("colbert_linear.")) return false;
  if (name.ends_with(".index.json")) return true;
  return std::any_of(kSuffixes.begin(), kSuffixes.end(), [&name](std::string_view suffix) { return name.ends_with(suffix); });
}

// Folders of other runtimes' weights, and what tools leave behind.
bool is_foreign_folder(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "onnx" || name == "openvino" || name.starts_with('.');
}

tl::unexpected<Error> system_error(const fs::path& path, const std::error_code& error) {
  return fail(ErrorCode::kInvalidArgument, "{}: {}", path.string(), error.message());
}

Result<> copy_entry(const fs::directory_entry& entry, const fs::path& target) {
  std::error_code error;
  const bool is_folder = entry.is_directory(error);
  if (is_folder) {
    if (is_foreign_folder(entry.path())) return {};
    // Module folders are copied whole, weights included: heads stay as they are.
    fs::copy(entry.path(), target, fs::copy_options::recursive, error);
  } else if (!is_weight_file(entry.path()) && entry.path().filename() != "config.json") {
    fs::copy_file(entry.path(), target, error);
  }
  if (error) return system_error(target, error);
  return {};
}

std::string quantization_json(const QuantizeOptions& options) {
  const RoundingOptions& rounding = options.rounding;
  const bool is_int4 = rounding.type == WeightType::kInt4;
  const int bits = is_int4 ? 4 : rounding.type == WeightType::kInt8 ? 8 : 16;
  JsonWriter json;
  json.begin_object().key("quant_method").value("inlay").key("dtype").value(weight_type_name(rounding.type));
  json.key("bits").value(bits).key("method").value(rounding.use_gptq ? "gptq" : "rtn");
  if (is_int4 || options.tables == WeightType::kInt4) json.key("group_size").value(rounding.group);
  json.key("sym").value(true).key("desc_act").value(rounding.act_order);
  json.key("embedding_dtype");
  if (options.keep_tables || !options.tables) {
    json.null();
  } else {
    json.value(weight_type_name(*options.tables));
  }
  json.key("version").value(INLAY_VERSION).end_object();
  return json.text();
}

// The text as it was, with one more member before the end.
Result<std::string> with_member(std::string text, const std::string& name, const std::string& json) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  if (last == std::string::npos || text[last] != '}') return fail(ErrorCode::kCorrupt, "config.json does not end with }}");
  text.resize(last);
  const size_t before = text.find_last_not_of(" \t\r\n");
  const bool is_empty = before != std::string::npos && text[before] == '{';
  text.resize(before == std::string::npos ? 0 : before + 1);
  return fmt::format("{}{}\n  \"{}\": {}\n}}\n", text, is_empty ? "" : ",", name, json);
}

}  // namespace

Result<> begin_quantized_folder(const QuantizeOptions& options) {
  std::error_code error;
  fs::create_directories(options.output, error);
  if (error) return system_error(options.output, error);
  if (!fs::is_empty(options.output, error) || error) {
    return fail(ErrorCode::kInvalidArgument, "{}: the folder holds something already; name a new one", options.output.string());
  }
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator it(options.model, error), end; !error && it != end; it.increment(error)) entries.push_back(*it);
  if (error) return system_error(options.model, error);
  for (const fs::directory_entry& entry : entries) TRY_VOID(copy_entry(entry, options.output / entry.path().filename()));
  return {};
}

Result<> end_quantized_folder(const QuantizeOptions& options, const std::vector<TensorToWrite>& tensors) {
  const std::string config = TRY(read_file(options.model / "config.json", kMaxConfigBytes));
  const std::string text = TRY(with_member(config, "quantization_config", quantization_json(options)));
  OutputFile out = TRY(OutputFile::create((options.output / "config.json").string()));
  TRY_VOID(out.write(text));
  TRY_VOID(out.commit());
  return write_safetensors(options.output / "model.safetensors", tensors, {{"format", "pt"}});
}

}  // namespace inlay
