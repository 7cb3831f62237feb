#include "cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/process.h"

namespace inlay {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::milliseconds kTerminalPause = 100ms;
constexpr std::chrono::milliseconds kLinePause = 5s;
constexpr int kBarColumns = 30;

std::string duration_text(double seconds) {
  const int64_t whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string bar_text(double share) {
  const int filled = static_cast<int>(share * kBarColumns);
  return fmt::format("[{}{}] ", std::string(static_cast<size_t>(filled), '#'),
                     std::string(static_cast<size_t>(kBarColumns - filled), ' '));
}

}  // namespace

std::string progress_text(const JobProgress& progress, double seconds) {
  const double rate = seconds > 0 ? static_cast<double>(progress.texts_done) / seconds : 0;
  std::string text = fmt::format("{} texts, {:.1f}/s", progress.texts_done, rate);
  const std::optional<double>& share = progress.share_done;
  if (share && *share > 0) text += fmt::format(", {:.0f} %, {} left", *share * 100, duration_text(seconds / *share - seconds));
  return text;
}

ProgressBar::ProgressBar(bool is_quiet) : is_quiet_(is_quiet), is_terminal_(stderr_is_terminal()) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (is_drawn_) std::fputs("\r\033[K", stderr);
  is_drawn_ = false;
}

void ProgressBar::update(const JobProgress& progress) {
  if (is_quiet_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (now - last_drawn_ < (is_terminal_ ? kTerminalPause : kLinePause)) return;
  last_drawn_ = now;
  std::string text = progress_text(progress, std::chrono::duration<double>(now - begin_).count());
  if (!is_terminal_) {
    std::fprintf(stderr, "%s\n", text.c_str());
    return;
  }
  if (progress.share_done) text = bar_text(*progress.share_done) + text;
  const size_t columns = static_cast<size_t>(std::max(1, terminal_columns() - 1));
  std::fprintf(stderr, "\r\033[K%s", text.substr(0, columns).c_str());
  is_drawn_ = true;
}

void ProgressBar::print_line(const std::string& line) {
  const std::lock_guard<std::mutex> lock(mutex_);
  clear();
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace inlay
