// What the program ends with.
#pragma once

#include "base/result.h"

namespace inlay {

constexpr int kExitDone = 0;
constexpr int kExitUsage = 2;
constexpr int kExitNotSuited = 10;     // inlay validate: the candidate loses more than the rule allows
constexpr int kExitInterrupted = 130;  // 128 + SIGINT, as a shell shows it
constexpr int kExitReaderLeft = 141;   // 128 + SIGPIPE

// The one table from errors to exit codes. kCancelled has none: the caller knows whether a signal or a reader ended the job.
int exit_code(ErrorCode code);

}  // namespace inlay
