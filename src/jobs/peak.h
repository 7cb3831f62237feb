// What this machine can compute at most, measured.
#pragma once

#include "engine/engine.h"

namespace inlay {

// Operations a second (a multiply-add is two) that `threads` threads reach together in a loop of multiply-adds on registers,
// with the instructions that `precision` uses here. Takes about half a second; the best of several short rounds, since a
// neighbour on the machine can only slow a round down.
double measure_peak(int threads, Precision precision);

}  // namespace inlay
