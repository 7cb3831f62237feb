// For tests: the golden models and what the reference library made of them, and random texts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/test_folder.h"
#include "engine/engine.h"

namespace inlay {

// The value of a Result that must not be an error.
template <class T>
T must(Result<T> result) {
  INLAY_CHECK(result.has_value(), result ? "" : result.error().message.c_str());
  return *std::move(result);
}

inline std::filesystem::path golden_folder(std::string_view name) { return std::filesystem::path("tests/golden") / name; }
inline std::filesystem::path golden_model(std::string_view name) { return golden_folder(name) / "model"; }

// One run of golden.json; tests/golden/README.md explains the fields.
struct GoldenRun {
  std::string name;
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> ids;  // empty: not given
  int max_length = 0;
  std::string prompt;
  bool include_prompt = true;
  std::vector<std::string> pooling;  // empty: the folder's modules
  std::optional<bool> normalize;
  std::optional<int> dimensions;
  int columns = 0;
  std::vector<float> vectors;  // [texts, columns]
  float scale = 1;
};

inline std::vector<float> read_npy_floats(const std::filesystem::path& path) {
  const std::string bytes = must(read_file(path, 1 << 26));
  uint16_t header = 0;
  std::memcpy(&header, bytes.data() + 8, sizeof(header));
  std::vector<float> values((bytes.size() - 10 - header) / sizeof(float));
  std::memcpy(values.data(), bytes.data() + 10 + header, values.size() * sizeof(float));
  return values;
}

inline GoldenRun read_golden_run(const Json& json, const Json& all_texts, const std::vector<float>& vectors) {
  GoldenRun run;
  run.name = must(json.string_or("name", ""));
  const std::vector<Json> texts = must(all_texts.items());
  for (const Json& index : must(must(json.get("texts")).items())) {
    run.texts.emplace_back(must(texts[static_cast<size_t>(must(index.as_int()))].as_string()));
  }
  if (const std::optional<Json> ids = json.find("ids")) {
    for (const Json& row : must(ids->items())) {
      run.ids.emplace_back();
      for (const Json& id : must(row.items())) run.ids.back().push_back(static_cast<int32_t>(must(id.as_int())));
    }
  }
  run.max_length = static_cast<int>(must(json.int_or("max_length", 0)));
  run.prompt = must(json.string_or("prompt", ""));
  run.include_prompt = must(json.bool_or("include_prompt", true));
  if (const std::optional<Json> modes = json.find("pooling")) {
    for (const Json& mode : must(modes->items())) run.pooling.emplace_back(must(mode.as_string()));
  }
  if (json.find("normalize")) run.normalize = must(json.bool_or("normalize", false));
  if (json.find("dimensions")) run.dimensions = static_cast<int>(must(json.int_or("dimensions", 0)));
  run.columns = static_cast<int>(must(json.int_or("columns", 0)));
  const size_t offset = static_cast<size_t>(must(json.int_or("offset", 0)));
  run.vectors.assign(vectors.begin() + offset, vectors.begin() + offset + run.texts.size() * run.columns);
  run.scale = static_cast<float>(must(json.double_or("scale", 1)));
  return run;
}

inline std::vector<GoldenRun> read_golden(std::string_view name) {
  const JsonDocument document = must(JsonDocument::read(golden_folder(name) / "golden.json", 1 << 24));
  const std::vector<float> vectors = read_npy_floats(golden_folder(name) / "vectors.npy");
  std::vector<GoldenRun> runs;
  for (const Json& run : must(must(document.root().get("runs")).items())) {
    runs.push_back(read_golden_run(run, must(document.root().get("texts")), vectors));
  }
  return runs;
}

// Fills a folder with links to the files of a golden model, but for those in `others`.
inline void link_model(const TestFolder& folder, std::string_view name, std::initializer_list<std::string_view> others) {
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(golden_model(name))) {
    const std::string file = entry.path().filename().string();
    if (entry.is_directory() || std::find(others.begin(), others.end(), file) != others.end()) continue;
    std::filesystem::create_symlink(std::filesystem::absolute(entry.path()), folder.path() / file);
  }
}

// A model whose modules after the encoder are those of the run: a folder with links to the golden one's files and other
// modules.
inline void write_run_modules(const TestFolder& folder, std::string_view name, const GoldenRun& run) {
  link_model(folder, name, {"modules.json"});
  const bool normalize = run.normalize.value_or(false);
  const int hidden_size = must(read_model_spec(golden_model(name))).encoder.hidden_size;
  folder.write("modules.json",
               fmt::format(R"([{{"path":"","type":"sentence_transformers.models.Transformer"}},
      {{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}}{}])",
                           normalize ? R"(,{"path":"2_Normalize","type":"sentence_transformers.models.Normalize"})" : ""));
  folder.write("1_Pooling/config.json", fmt::format(R"({{"embedding_dimension":{},"pooling_mode":["{}"],"include_prompt":{}}})",
                                                    hidden_size, fmt::join(run.pooling, "\",\""), run.include_prompt));
}

inline double cosine(const float* a, const float* b, int columns) {
  double ab = 0, aa = 0, bb = 0;
  for (int c = 0; c < columns; ++c) {
    ab += double{a[c]} * b[c];
    aa += double{a[c]} * a[c];
    bb += double{b[c]} * b[c];
  }
  return ab / std::sqrt(aa * bb);
}

// Ids in the model's vocabulary, of lengths between 1 and `longest`.
inline std::vector<TokenizedText> random_texts(int count, int longest, int vocab_size, std::mt19937& random) {
  std::vector<TokenizedText> texts(count);
  for (TokenizedText& text : texts) {
    text.ids.resize(1 + random() % static_cast<unsigned>(longest));
    for (int32_t& id : text.ids) id = static_cast<int32_t>(random() % static_cast<unsigned>(vocab_size));
  }
  return texts;
}

inline std::string table_name(const testing::TestParamInfo<const Kernels*>& info) { return info.param->name; }

}  // namespace inlay
