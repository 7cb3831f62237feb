// A file of flags.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/result.h"

namespace inlay {

// Gives flags of `app` the values that the file has for them where neither the command line nor the environment gave any. The
// file is TOML without sections: a line `max-batch-tokens = 512` for each flag, by its name without the dashes in front
// (underscores stand for dashes), `true` for a flag without a value, a list for one that may be given more than once, `#`
// before comments. A key that is no flag of the command is kInvalidArgument. Call it after the flags were read and before their
// values are used.
Result<> apply_config(CLI::App& app, const std::string& path);

}  // namespace inlay
