// How far a download is, on standard error: a line that redraws itself on a terminal, else a line every few seconds.
#pragma once

#include <chrono>
#include <string>

#include "base/interrupt.h"
#include "hub/pull.h"

namespace inlay {

// Used by one thread. Draws nothing before something is downloaded.
class DownloadBar {
 public:
  DownloadBar();
  // Ends with the line cleared.
  ~DownloadBar();
  DownloadBar(const DownloadBar&) = delete;
  DownloadBar& operator=(const DownloadBar&) = delete;

  // For pull_model: reports go here, which must outlive it. Cancelled when `interrupt`, which may be null, says so.
  PullOptions pull_options(const Interrupt* interrupt);

 private:
  using Clock = std::chrono::steady_clock;
  void update(const PullProgress& progress);

  const bool is_terminal_;
  Clock::time_point last_drawn_ = {};
  Clock::time_point file_begin_ = {};
  std::string file_;
  uint64_t first_done_ = 0;  // bytes that were there when the file was begun
  bool is_drawn_ = false;
};

// "[2/7] model.safetensors  12.3 of 90.9 MB, 14 %, 5.1 MB/s"; `rate` in bytes a second, 0 if unknown.
std::string download_text(const PullProgress& progress, double rate);

}  // namespace inlay
