// A GGUF file: facts about a model by name, and where its tensors lie. Works on bytes alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "weights/stored_tensor.h"

namespace inlay {

constexpr size_t kMaxGgufFacts = 100'000;

// One value of the metadata. Texts lie in the file.
struct GgufValue {
  enum class Kind : uint8_t { kInt, kReal, kBool, kText, kTexts, kNumbers, kOther } kind = Kind::kOther;
  int64_t number = 0;  // kInt, kBool
  double real = 0;     // kReal
  std::string_view text = {};
  std::vector<std::string_view> texts = {};
  std::vector<float> numbers = {};  // an array of any type of number
};

struct GgufFile {
  std::map<std::string_view, GgufValue, std::less<>> facts;
  std::vector<StoredTensor> tensors;  // under their names in the file; shapes as torch has them, largest stride first

  // The fact `key`, or nothing if it is missing or of another kind.
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> real(std::string_view key) const;  // of any number
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  std::span<const std::string_view> texts(std::string_view key) const;  // empty if missing
  std::span<const float> numbers(std::string_view key) const;
  std::string_view architecture() const { return text("general.architecture").value_or(""); }
  const StoredTensor* tensor(std::string_view name) const;
};

// Versions 2 and 3. Everything is checked against the file's size before it is allocated; a broken promise is kCorrupt, another
// version kUnsupported, and `name` starts the message. Tensors of types that aren't known have no dtype.
Result<GgufFile> read_gguf(std::span<const std::byte> file, std::string_view name);

// Gives the tensors the names that checkpoints of Hugging Face have. An architecture that isn't known is kUnsupported.
Result<> rename_gguf_tensors(GgufFile& file, std::string_view name);

}  // namespace inlay
