#include "cli/flags.h"

#include <cctype>

namespace inlay {

std::string environment_name(const std::string& flag) {
  std::string name = "INLAY_";
  for (const char symbol : flag.substr(flag.find_first_not_of('-'))) {
    name += symbol == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(symbol)));
  }
  return name;
}

CLI::Option* add_switch(CLI::App& app, const std::string& flag, bool& value, const std::string& what) {
  return app.add_flag(flag, value, what)->envname(environment_name(flag));
}

}  // namespace inlay
