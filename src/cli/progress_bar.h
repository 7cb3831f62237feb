// How far a job is, on standard error: a bar that redraws itself on a terminal, else a line every few seconds.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "jobs/embed_job.h"

namespace inlay {

// Thread-safe. Draws nothing if `is_quiet`.
class ProgressBar {
 public:
  explicit ProgressBar(bool is_quiet);
  // Ends with the line cleared, so that what follows starts at its beginning.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(const JobProgress& progress);
  // Prints a line without breaking the bar.
  void print_line(const std::string& line);

 private:
  using Clock = std::chrono::steady_clock;
  void clear();

  const bool is_quiet_;
  const bool is_terminal_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  Clock::time_point last_drawn_ = begin_;
  bool is_drawn_ = false;
};

// "1234 texts, 56.7/s" and, where the size of the input is known, the share done and the time left: "  12 %, 1:23 left".
std::string progress_text(const JobProgress& progress, double seconds);

}  // namespace inlay
