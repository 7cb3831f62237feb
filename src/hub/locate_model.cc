#include "hub/locate_model.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <vector>

#include "base/checksum.h"
#include "base/file.h"
#include "base/output_file.h"
#include "weights/gguf.h"
#include "weights/gguf_folder.h"

namespace inlay {
namespace {

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// The one .gguf file of a folder that holds no other weights.
std::optional<std::filesystem::path> lone_gguf(const std::filesystem::path& folder) {
  for (const char* other : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                            "pytorch_model.bin.index.json", "modules.json", "model.onnx", "onnx/model.onnx", "model.gguf"}) {
    if (is_there(folder / other)) return std::nullopt;
  }
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".gguf") found.push_back(entry.path());
  }
  if (found.size() != 1) return std::nullopt;
  return found[0];
}

Result<> make_user_cache(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: cannot make this folder (XDG_CACHE_HOME says where caches are): {}",
              folder.string(), error.message());
}

Result<> write_if_new(const std::filesystem::path& file, const std::string& text) {
  if (const Result<std::string> found = read_file(file, text.size()); found && *found == text) return {};
  TRY_VOID(make_user_cache(file.parent_path()));
  std::error_code ignored;
  if (std::filesystem::is_symlink(file, ignored)) std::filesystem::remove(file, ignored);  // Or its target would be written.
  OutputFile out = TRY(OutputFile::create(file.string()));
  TRY_VOID(out.write(text));
  return out.commit();
}

Result<> point(const std::filesystem::path& link, const std::filesystem::path& target) {
  std::error_code error;
  if (std::filesystem::read_symlink(link, error) == target) return {};
  const std::filesystem::path fresh = link.string() + ".new";
  std::filesystem::remove(fresh, error);
  std::filesystem::create_symlink(target, fresh, error);
  if (!error) std::filesystem::rename(fresh, link, error);
  if (!error) return {};
  return fail(ErrorCode::kInvalidArgument, "{}: cannot link to {}: {}", link.string(), target.string(), error.message());
}

// Tells files of the same name apart.
std::string folder_name(const std::filesystem::path& file) {
  Checksum sum;
  const std::string text = file.string();
  sum.add(std::as_bytes(std::span(text)));
  return fmt::format("{}-{:016x}", file.stem().string().substr(0, 100), sum.value());
}

// Files that are taken from beside a GGUF file rather than made of its facts.
constexpr std::array<const char*, 9> kBeside = {"tokenizer.json",
                                                "tokenizer_config.json",
                                                "special_tokens_map.json",
                                                "added_tokens.json",
                                                "vocab.txt",
                                                "vocab.json",
                                                "merges.txt",
                                                "tokenizer.model",
                                                "config_sentence_transformers.json"};

// A folder in the cache with the file's facts as files, and links to it and to the tokenizer that lies beside it.
Result<std::filesystem::path> lay_out_gguf(const std::filesystem::path& given) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(given, error);
  if (error) return fail(ErrorCode::kNotFound, "{}: {}", given.string(), error.message());
  const MappedFile map = TRY(MappedFile::open(file));
  const GgufFile gguf = TRY(read_gguf(map.bytes(), file.filename().string()));
  std::map<std::string, std::string> files = TRY(gguf_folder_files(gguf, file.filename().string()));
  const std::filesystem::path folder = inlay_cache_folder() / "gguf" / folder_name(file);
  TRY_VOID(make_user_cache(folder));
  // Files beside the one that was named, not beside what a link leads to.
  const std::filesystem::path beside = std::filesystem::absolute(given).parent_path();
  for (const char* name : kBeside) {
    if (!is_there(beside / name)) continue;
    files.erase(name);
    if (std::string_view(name) == "tokenizer.json") {
      files.erase("tokenizer.model");
      files.erase("tokenizer_config.json");
    }
    TRY_VOID(point(folder / name, beside / name));
  }
  const auto has_tokenizer = [&](const char* name) { return files.contains(name) || is_there(folder / name); };
  if (!has_tokenizer("tokenizer.json") && !has_tokenizer("tokenizer.model") && !has_tokenizer("vocab.txt") &&
      !has_tokenizer("vocab.json")) {
    return fail(
        ErrorCode::kUnsupported,
        "{}: its tokenizer is of the kind '{}', which isn't taken from the file; put the model's tokenizer.json beside it",
        file.filename().string(), gguf.text("tokenizer.ggml.model").value_or("none"));
  }
  for (const auto& [name, text] : files) TRY_VOID(write_if_new(folder / name, text));
  TRY_VOID(point(folder / "model.gguf", file));
  return folder;
}

}  // namespace

Result<std::filesystem::path> locate_model(const std::string& model, const HubOptions& hub, const PullOptions& options) {
  std::filesystem::path path = model;
  std::error_code ignored;
  if (!is_there(path)) {
    const std::optional<ModelId> id = parse_model_id(model);
    // A bare word is more often a folder with a typing error than one of the hub's few models without an owner.
    if (!id || id->repository.find('/') == std::string::npos) {
      return fail(ErrorCode::kNotFound, "{}: neither a folder nor a model on the hub (org/name)", model);
    }
    path = TRY(pull_model(*id, hub, options));
  }
  if (std::filesystem::is_directory(path, ignored)) {
    const std::optional<std::filesystem::path> gguf = lone_gguf(path);
    return gguf ? lay_out_gguf(*gguf) : Result<std::filesystem::path>(path);
  }
  if (path.extension() == ".gguf") return lay_out_gguf(path);
  return fail(ErrorCode::kInvalidArgument, "{}: wanted a folder or a .gguf file", model);
}

}  // namespace inlay
