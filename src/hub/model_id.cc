#include "hub/model_id.h"

#include <algorithm>

#include "base/text.h"

namespace inlay {
namespace {

constexpr size_t kMaxName = 96;
constexpr size_t kMaxPath = 1024;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

// The hub's rule: letters, digits, "-", "_" and ".", none of the last three at an end, and no "--" or "..".
bool is_hub_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName || !std::all_of(name.begin(), name.end(), is_name_character)) return false;
  const auto is_mark = [](char c) { return c == '-' || c == '.'; };
  return !is_mark(name.front()) && !is_mark(name.back()) && name.find("--") == std::string_view::npos &&
         name.find("..") == std::string_view::npos;
}

}  // namespace

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kMaxPath) return false;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
  }
  return std::all_of(path.begin(), path.end(), [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != 127 && c != '\\' && c != ':' && c != '"' && c != '*' && c != '?' &&
           c != '<' && c != '>' && c != '|';
  });
}

std::optional<ModelId> parse_model_id(std::string_view text) {
  ModelId id;
  const size_t at = text.find('@');
  if (at != std::string_view::npos) {
    id.revision = text.substr(at + 1);
    if (!is_safe_path(id.revision)) return std::nullopt;
    text = text.substr(0, at);
  }
  const std::vector<std::string_view> parts = split(text, '/');
  if (parts.size() > 2 || !std::all_of(parts.begin(), parts.end(), is_hub_name)) return std::nullopt;
  id.repository = text;
  return id;
}

}  // namespace inlay
