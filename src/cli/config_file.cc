#include "cli/config_file.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace inlay {
namespace {

// nullptr if the command has no such flag, or none that a file may give.
CLI::Option* find_flag(CLI::App& app, std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  if (key == "config" || key == "help") return nullptr;
  for (CLI::Option* option : app.get_options()) {
    if (option->check_lname(key)) return option;
  }
  return nullptr;
}

Result<> apply_item(CLI::App& app, const CLI::ConfigItem& item) {
  if (item.name == "++" || item.name == "--") return {};  // begin and end of a section: the file itself
  CLI::Option* option = item.parents.empty() ? find_flag(app, item.name) : nullptr;
  if (option == nullptr) return fail(ErrorCode::kInvalidArgument, "{} is no flag of {}", item.fullname(), app.get_name());
  if (option->count() > 0) return {};
  for (const std::string& value : item.inputs) option->add_result(value);
  option->run_callback();
  return {};
}

}  // namespace

Result<> apply_config(CLI::App& app, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return fail(ErrorCode::kNotFound, "{}: no such file", path);
  try {
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_file(path)) {
      if (const Result<> applied = apply_item(app, item); !applied) return applied.map_error(within(path));
    }
  } catch (const CLI::Error& error) {
    return fail(ErrorCode::kInvalidArgument, "{}: {}", path, error.what());
  }
  return {};
}

}  // namespace inlay
