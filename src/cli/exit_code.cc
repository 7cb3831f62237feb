#include "cli/exit_code.h"

namespace inlay {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return kExitUsage;
    case ErrorCode::kTooLarge: return kExitUsage;
    case ErrorCode::kNotFound: return 3;
    case ErrorCode::kUnsupported: return 4;
    case ErrorCode::kOverloaded: return 5;
    case ErrorCode::kUnavailable: return 5;
    case ErrorCode::kCorrupt: return 7;
    case ErrorCode::kCancelled: return kExitInterrupted;
    case ErrorCode::kInternal: return 1;
  }
  return 1;
}

}  // namespace inlay
