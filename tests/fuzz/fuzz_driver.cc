// What runs the targets where there is no libFuzzer: every seed, then damaged seeds. It calls libFuzzer's two functions' way
// in, so a target cannot tell who runs it.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>

#include "base/check.h"
#include "base/file.h"
#include "base/log.h"
#include "fuzz_target.h"
#include "mutator.h"

namespace inlay {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostSeedBytes = 1 << 24;
constexpr std::clock_t kMostTime = 10 * CLOCKS_PER_SEC;  // of processors, for one input under sanitizers

struct Seed {
  std::string name;
  std::string bytes;
};

// What is being tried. It is shared with the process that waits for this one, so that it can say what this one died of, however
// that came.
struct Trial {
  char label[200];
  size_t size;
  char bytes[kMostSeedBytes];
  bool is_over;
};

Trial* make_shared_trial() {
  void* const memory = ::mmap(nullptr, sizeof(Trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  INLAY_CHECK(memory != MAP_FAILED, "a test may share some memory");
  return static_cast<Trial*>(memory);
}

void report_death(const Trial& trial) {
  const std::string path = fmt::format("crash-{}", ::getpid());
  if (std::FILE* file = std::fopen(path.c_str(), "wb")) {
    std::fwrite(trial.bytes, 1, trial.size, file);
    std::fclose(file);
  }
  std::fprintf(stderr, "%s; its bytes are in %s\n", trial.label, path.c_str());
}

void add_seed(const fs::path& path, std::vector<Seed>& seeds) {
  Result<std::string> bytes = read_file(path, kMostSeedBytes);
  if (bytes) seeds.push_back({path.string(), *std::move(bytes)});
}

void add_seeds(const fs::path& path, std::vector<Seed>& seeds) {
  if (!fs::is_directory(path)) return add_seed(path, seeds);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) add_seed(entry.path(), seeds);
  }
}

// In the same order everywhere, so that a mutation is known by its number.
std::vector<Seed> seeds_of(const FuzzTarget& target, const std::vector<std::string>& paths) {
  std::vector<Seed> seeds;
  for (const std::string& path : paths.empty() ? seed_folders(target) : paths) add_seeds(path, seeds);
  std::sort(seeds.begin(), seeds.end(), [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return seeds;
}

bool try_bytes(const FuzzTarget& target, Trial& trial, const std::string& label, std::string_view bytes) {
  trial.size = std::min<size_t>(bytes.size(), kMostSeedBytes);
  std::memcpy(trial.bytes, bytes.data(), trial.size);
  trial.label[label.copy(trial.label, sizeof(trial.label) - 1)] = '\0';
  // A copy of exactly this size on the heap, so that the sanitizer sees a read behind its end.
  const std::unique_ptr<char[]> exact(new char[trial.size]);
  std::memcpy(exact.get(), trial.bytes, trial.size);
  const std::clock_t begin = std::clock();
  const bool understood = run_fuzz_target(target, {exact.get(), trial.size});
  if (std::clock() - begin > kMostTime) {
    std::fputs("it took too long\n", stderr);
    std::abort();
  }
  return understood;
}

struct Options {
  const FuzzTarget* target = nullptr;
  std::vector<std::string> paths;
  int mutations = -1;
  uint64_t random_seed = 20261130;
};

int run(const Options& options, Trial& trial) {
  const FuzzTarget& target = *options.target;
  const int mutations = options.mutations;
  const uint64_t random_seed = options.random_seed;
  const std::vector<std::string>& paths = options.paths;
  const std::vector<Seed> seeds = seeds_of(target, paths);
  std::vector<std::string> texts;
  int understood_seeds = 0;
  for (const Seed& seed : seeds) {
    understood_seeds += try_bytes(target, trial, seed.name, seed.bytes) ? 1 : 0;
    texts.push_back(seed.bytes);
  }
  Mutator mutator(random_seed);
  int understood = 0;
  for (int i = 0; i < mutations; ++i) {
    understood += try_bytes(target, trial, fmt::format("{}: random seed {}, mutation {}", target.name, random_seed, i),
                            mutator.damaged(texts))
                      ? 1
                      : 0;
  }
  std::printf("%s: %d of %zu seeds understood, %d of %d mutations; random seed %llu\n", target.name.c_str(), understood_seeds,
              seeds.size(), understood, mutations, static_cast<unsigned long long>(random_seed));
  // If all were refused, or none, what lies behind the first check was not reached, or nothing was damaged.
  const bool tells = understood_seeds > 0 && (mutations == 0 || (understood > mutations / 100 && understood < mutations));
  if (!paths.empty() || tells) return 0;
  std::fprintf(stderr, "%s: the seeds tell nothing: too many or too few of them are understood\n", target.name.c_str());
  return 1;
}

// Runs in a process of its own.
int run_and_watch(const Options& options) {
  Trial* const trial = make_shared_trial();
  const pid_t child = ::fork();
  INLAY_CHECK(child >= 0, "a test may have a child");
  if (child == 0) {
    const int code = run(options, *trial);
    trial->is_over = true;
    return code;
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!trial->is_over) report_death(*trial);
  return WIFEXITED(status) && trial->is_over ? WEXITSTATUS(status) : 1;
}

Options read_options(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::string value = argument.substr(std::min(argument.size(), argument.find('=') + 1));
    if (argument.starts_with("--target="))
      options.target = find_fuzz_target(value);
    else if (argument.starts_with("--mutations="))
      options.mutations = std::atoi(value.c_str());
    else if (argument.starts_with("--seed="))
      options.random_seed = std::strtoull(value.c_str(), nullptr, 10);
    else
      options.paths.push_back(argument);
  }
  if (options.mutations < 0 && options.target != nullptr)
    options.mutations = options.paths.empty() ? options.target->mutations : 0;
  return options;
}

}  // namespace
}  // namespace inlay

// inlay_fuzz --target=NAME [--mutations=N] [--seed=N] [FILE_OR_FOLDER...]; files given take the place of the seeds.
int main(int count, char** arguments) {
  inlay::start_log();
  static_cast<void>(inlay::set_log_level("off"));
  const inlay::Options options = inlay::read_options(count, arguments);
  if (options.target != nullptr) return inlay::run_and_watch(options);
  std::fputs("usage: inlay_fuzz --target=NAME [--mutations=N] [--seed=N] [FILE_OR_FOLDER...]\nTargets:", stderr);
  for (const inlay::FuzzTarget& each : inlay::fuzz_targets()) std::fprintf(stderr, " %s", each.name.c_str());
  std::fputs("\n", stderr);
  return 2;
}
