// Flags whose names are also environment variables.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace inlay {

// "--max-length" is INLAY_MAX_LENGTH.
std::string environment_name(const std::string& flag);

// Adds `--name VALUE`. The command line wins over the environment.
template <class T>
CLI::Option* add_value(CLI::App& app, const std::string& flag, T& value, const std::string& what) {
  return app.add_option(flag, value, what)->envname(environment_name(flag));
}

// Adds `--name`, which takes no value; the environment variable takes true or false.
CLI::Option* add_switch(CLI::App& app, const std::string& flag, bool& value, const std::string& what);

}  // namespace inlay
