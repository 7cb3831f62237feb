#include "base/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace inlay {
namespace {

// What the handler may touch: lock-free atomics and a pipe.
std::atomic<int> signals_seen = 0;
std::atomic<int> pipe_in = -1;
std::atomic<int> pipe_out = -1;

void on_signal(int number) {
  if (signals_seen.fetch_add(1) > 0) _exit(128 + number);
  const char byte = 0;
  const int descriptor = pipe_in.load();
  if (descriptor >= 0 && write(descriptor, &byte, 1) < 0) return;  // The flag is set; a full pipe is readable anyway.
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // Without SA_RESTART: a blocked read returns.
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0) {
    pipe_out = ends[0];
    pipe_in = ends[1];
  }
  signals_seen = 0;
  handle(SIGINT, on_signal);
  handle(SIGTERM, on_signal);
}

Interrupt::~Interrupt() {
  handle(SIGINT, SIG_DFL);
  handle(SIGTERM, SIG_DFL);
  for (std::atomic<int>* end : {&pipe_in, &pipe_out}) {
    const int descriptor = end->exchange(-1);
    if (descriptor >= 0) close(descriptor);
  }
}

bool Interrupt::requested() const { return signals_seen.load() > 0; }
int Interrupt::descriptor() const { return pipe_out.load(); }

void ignore_broken_pipes() { handle(SIGPIPE, SIG_IGN); }

}  // namespace inlay
