// Ctrl-C and SIGTERM as something a long job can ask about, so that it ends cleanly.
#pragma once

namespace inlay {

// While an Interrupt lives, the first SIGINT or SIGTERM only sets a flag; the second ends the process at once, in case the job
// does not get to look. One at a time: a signal handler can only reach what is global, so two would share one state.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Any thread.
  bool requested() const;
  // Becomes readable when a signal comes, so that poll() can wait for it beside other descriptors. -1 if there is none.
  int descriptor() const;
};

// Lets writes to a closed pipe fail with an error instead of ending the process.
void ignore_broken_pipes();

}  // namespace inlay
