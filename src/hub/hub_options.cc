#include "hub/hub_options.h"

#include <cstdlib>

#include "base/file.h"
#include "base/text.h"

namespace inlay {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(trim(value));
}

bool is_yes(std::string value) {
  for (char& c : value) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

// "~/x" as a shell would read it.
std::filesystem::path expanded(const std::string& path) {
  if (path == "~" || path.starts_with("~/"))
    return std::filesystem::path(variable("HOME")) / path.substr(path.size() > 1 ? 2 : 1);
  return path;
}

std::filesystem::path cache_home() {
  const std::string set = variable("XDG_CACHE_HOME");
  return set.empty() ? expanded("~/.cache") : expanded(set);
}

std::filesystem::path hub_home() {
  const std::string set = variable("HF_HOME");
  return set.empty() ? cache_home() / "huggingface" : expanded(set);
}

std::string read_token() {
  constexpr uint64_t kMaxTokenBytes = 4096;
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (const std::string token = variable(name); !token.empty()) return token;
  }
  if (is_yes(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return {};
  const std::string file = variable("HF_TOKEN_PATH");
  const Result<std::string> text = read_file(file.empty() ? hub_home() / "token" : expanded(file), kMaxTokenBytes);
  return text ? std::string(trim(*text)) : std::string();
}

}  // namespace

HubOptions hub_options_from_environment() {
  HubOptions options;
  if (std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty()) options.endpoint = endpoint;
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  options.token = read_token();
  std::string cache = variable("HF_HUB_CACHE");
  if (cache.empty()) cache = variable("HUGGINGFACE_HUB_CACHE");
  options.cache = cache.empty() ? hub_home() / "hub" : expanded(cache);
  options.offline = is_yes(variable("HF_HUB_OFFLINE")) || is_yes(variable("TRANSFORMERS_OFFLINE"));
  return options;
}

std::filesystem::path inlay_cache_folder() { return cache_home() / "inlay"; }

}  // namespace inlay
