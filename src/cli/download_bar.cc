#include "cli/download_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/process.h"

namespace inlay {
namespace {

using namespace std::chrono_literals;
constexpr std::chrono::milliseconds kTerminalPause = 100ms;
constexpr std::chrono::milliseconds kLinePause = 5s;

std::string megabytes(double bytes) { return fmt::format("{:.1f}", bytes / 1e6); }

}  // namespace

std::string download_text(const PullProgress& progress, double rate) {
  std::string text = fmt::format("[{}/{}] {}  {}", progress.number, progress.files, progress.file,
                                 megabytes(static_cast<double>(progress.done)));
  if (progress.total > 0) {
    text +=
        fmt::format(" of {} MB, {} %", megabytes(static_cast<double>(progress.total)), progress.done * 100 / progress.total);
  } else {
    text += " MB";
  }
  if (rate > 0) text += fmt::format(", {} MB/s", megabytes(rate));
  return text;
}

DownloadBar::DownloadBar() : is_terminal_(stderr_is_terminal()) {}

DownloadBar::~DownloadBar() {
  if (is_drawn_) std::fputs("\r\033[K", stderr);
}

PullOptions DownloadBar::pull_options(const Interrupt* interrupt) {
  return {.progress = [this](const PullProgress& progress) { update(progress); },
          .is_cancelled = [interrupt] { return interrupt != nullptr && interrupt->requested(); }};
}

void DownloadBar::update(const PullProgress& progress) {
  const Clock::time_point now = Clock::now();
  if (file_ != progress.file) {
    file_ = progress.file;
    file_begin_ = now;
    first_done_ = progress.done;
  }
  const bool is_whole = progress.total > 0 && progress.done == progress.total;
  if (now - last_drawn_ < (is_terminal_ ? kTerminalPause : kLinePause) && !is_whole) return;
  last_drawn_ = now;
  const double seconds = std::chrono::duration<double>(now - file_begin_).count();
  const double rate = seconds > 0.2 ? static_cast<double>(progress.done - std::min(first_done_, progress.done)) / seconds : 0;
  const std::string text = download_text(progress, rate);
  if (!is_terminal_) {
    std::fprintf(stderr, "%s\n", text.c_str());
    return;
  }
  std::fprintf(stderr, "\r\033[K%s", text.substr(0, static_cast<size_t>(std::max(1, terminal_columns() - 1))).c_str());
  is_drawn_ = true;
}

}  // namespace inlay
