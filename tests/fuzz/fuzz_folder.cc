#include "fuzz_folder.h"

#include <algorithm>

namespace inlay {

void FuzzFolder::fill(std::string_view bytes, std::initializer_list<std::string_view> names) {
  constexpr std::string_view kMark = "=== ";
  for (const std::string_view name : names) {
    std::error_code ignored;
    std::filesystem::remove(path() / name, ignored);
  }
  while (bytes.starts_with(kMark)) {
    bytes.remove_prefix(kMark.size());
    const size_t line_end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view name = bytes.substr(0, line_end);
    bytes.remove_prefix(std::min(line_end + 1, bytes.size()));
    const size_t next = bytes.find("\n=== ");
    const std::string_view content = bytes.substr(0, next);
    bytes.remove_prefix(next == std::string_view::npos ? bytes.size() : next + 1);
    if (std::find(names.begin(), names.end(), name) != names.end()) folder_.write(name, content);
  }
}

}  // namespace inlay
