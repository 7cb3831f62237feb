#include "hub/needed_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "hub/model_id.h"

namespace inlay {
namespace {

// Small files that say how a model is used. Others of the same endings (training states, results) are of no use here.
constexpr std::array<std::string_view, 22> kConfigs = {"config.json",
                                                       "tokenizer.json",
                                                       "tokenizer_config.json",
                                                       "special_tokens_map.json",
                                                       "added_tokens.json",
                                                       "vocab.txt",
                                                       "vocab.json",
                                                       "merges.txt",
                                                       "tokenizer.model",
                                                       "spiece.model",
                                                       "sentencepiece.bpe.model",
                                                       "modules.json",
                                                       "config_sentence_transformers.json",
                                                       "artifact.metadata",
                                                       "adapter_config.json",
                                                       "quantize_config.json",
                                                       "router_config.json",
                                                       "sparse_linear.pt",
                                                       "colbert_linear.pt",
                                                       "bpe.codes",
                                                       "1_Pooling/config.json",
                                                       "chat_template.jinja"};

bool is_config(std::string_view name) {
  if (std::find(kConfigs.begin(), kConfigs.end(), name) != kConfigs.end()) return true;
  return name.starts_with("sentence_") && name.ends_with("_config.json");
}

// A module's folder: "2_Dense", or of a router "query_0_Transformer".
bool is_module_folder(std::string_view folder) {
  const size_t mark = folder.find('_');
  if (mark == std::string_view::npos || mark == 0) return false;
  return (folder[0] >= '0' && folder[0] <= '9') || folder.starts_with("query_") || folder.starts_with("document_");
}

std::string_view name_in(std::string_view folder, std::string_view path) {
  return folder.empty() ? path : path.substr(folder.size() + 1);
}

bool is_shard(std::string_view name, std::string_view stem, std::string_view ending) {
  return name.starts_with(stem) && name.ends_with(ending) && name.find("-of-") != std::string_view::npos &&
         name.find('/') == std::string_view::npos;
}

using Names = std::set<std::string, std::less<>>;

// Names of the weights in one format: the shards and their index, or the one file.
std::vector<std::string> weights_of(const Names& names, std::string_view stem, std::string_view ending) {
  std::vector<std::string> result;
  const std::string single = std::string(stem).append(ending);
  if (names.contains(single + ".index.json")) {
    result.push_back(single + ".index.json");
    for (const std::string& name : names) {
      if (is_shard(name, stem, ending)) result.push_back(name);
    }
    if (result.size() > 1) return result;
    result.clear();
  }
  if (names.contains(single)) result.push_back(single);
  return result;
}

std::vector<std::string> onnx_files(const Names& names) {
  for (const std::string folder : {"", "onnx/"}) {
    if (!names.contains(folder + "model.onnx")) continue;
    std::vector<std::string> result = {folder + "model.onnx"};
    for (const char* data : {"model.onnx_data", "model.onnx.data"}) {
      if (names.contains(folder + data)) result.push_back(folder + data);
    }
    return result;
  }
  return {};
}

// Of several precisions the one that loses least among the small ones, so that a download is not twice what it has to be.
std::vector<std::string> gguf_files(const Names& names) {
  std::vector<std::string> files;
  std::copy_if(names.begin(), names.end(), std::back_inserter(files),
               [](const std::string& name) { return name.ends_with(".gguf") && name.find('/') == std::string::npos; });
  if (files.empty()) return {};
  for (const std::string_view wanted : {"f16", "F16", "bf16", "BF16", "q8_0", "Q8_0", "f32", "F32"}) {
    for (const std::string& file : files) {
      if (file.find(wanted) != std::string::npos) return {file};
    }
  }
  return {files[0]};
}

std::vector<std::string> best_weights(const Names& names) {
  for (const std::vector<std::string>& found :
       {weights_of(names, "model", ".safetensors"), weights_of(names, "pytorch_model", ".bin"), onnx_files(names),
        gguf_files(names)}) {
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace

std::vector<std::string> needed_files(const std::vector<std::string>& all) {
  std::map<std::string, Names, std::less<>> folders;  // of the root all, of the others their own files
  for (const std::string& path : all) {
    if (!is_safe_path(path)) continue;
    folders[""].insert(path);
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) continue;
    const std::string folder = path.substr(0, slash);
    if (is_module_folder(folder)) folders[folder].insert(std::string(name_in(folder, path)));
  }
  std::set<std::string> needed;
  for (const auto& [folder, names] : folders) {
    const std::string prefix = folder.empty() ? folder : folder + "/";
    for (const std::string& name : names) {
      if (is_config(name)) needed.insert(prefix + name);
    }
    for (const std::string& name : best_weights(names)) needed.insert(prefix + name);
  }
  return {needed.begin(), needed.end()};
}

}  // namespace inlay
