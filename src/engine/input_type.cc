#include "engine/input_type.h"

#include <algorithm>
#include <array>
#include <vector>

namespace inlay {
namespace {

constexpr std::array<std::string_view, 7> kTypes = {"search_query", "search_document", "query",     "document",
                                                    "passage",      "classification",  "clustering"};

}  // namespace

bool is_query_type(std::string_view type) { return type == "search_query" || type == "query"; }

Result<std::optional<std::string>> prompt_for_input_type(std::string_view type,
                                                         const std::map<std::string, std::string>& prompts) {
  if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) {
    return fail(ErrorCode::kInvalidArgument, "input_type: found '{}', wanted one of {}", type.substr(0, 100),
                fmt::join(kTypes, ", "));
  }
  std::vector<std::string> wanted = {std::string(type)};
  if (type == "search_query") wanted.emplace_back("query");
  if (type == "search_document" || type == "document") wanted.insert(wanted.end(), {"document", "passage", "corpus"});
  for (const std::string& name : wanted) {
    const std::map<std::string, std::string>::const_iterator found = prompts.find(name);
    if (found != prompts.end()) return std::optional<std::string>(found->second);
  }
  return std::optional<std::string>();
}

}  // namespace inlay
