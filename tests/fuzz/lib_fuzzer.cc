// The door for libFuzzer, which passes over flags with two dashes: --target=NAME chooses, and with --seeds the target's folders
// of seeds are used besides those that were given.
#include <cstdio>
#include <cstdlib>

#include "base/log.h"
#include "fuzz_target.h"

namespace {

const inlay::FuzzTarget* target = nullptr;

[[noreturn]] void list_targets() {
  std::fputs("wanted --target=NAME, one of:\n", stderr);
  for (const inlay::FuzzTarget& each : inlay::fuzz_targets()) std::fprintf(stderr, "  %s\n", each.name.c_str());
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  constexpr std::string_view kTarget = "--target=";
  static std::vector<std::string> folders;  // libFuzzer keeps pointers to them
  static std::vector<char*> all(*arguments, *arguments + *count);
  bool with_seeds = false;
  for (const std::string_view argument : all) {
    if (argument.starts_with(kTarget)) target = inlay::find_fuzz_target(argument.substr(kTarget.size()));
    with_seeds |= argument == "--seeds";
  }
  if (target == nullptr) list_targets();
  inlay::start_log();
  static_cast<void>(inlay::set_log_level("off"));
  if (!with_seeds) return 0;
  folders = inlay::seed_folders(*target);
  for (std::string& folder : folders) all.push_back(folder.data());
  *count = static_cast<int>(all.size());
  all.push_back(nullptr);
  *arguments = all.data();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  inlay::run_fuzz_target(*target, {reinterpret_cast<const char*>(data), size});
  return 0;
}
