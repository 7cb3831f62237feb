// Where the memory of an engine is, in bytes.
#pragma once

#include <cstdint>

#include "model/encoder.h"

namespace inlay {

// Activations of one lane or of several. Pages become resident as far as batches need them.
struct LaneMemory {
  uint64_t reserved = 0;  // the most they can take
  uint64_t touched = 0;   // what is resident

  void add(const LaneMemory& other) {
    reserved += other.reserved;
    touched += other.touched;
  }
};

struct EngineMemory {
  WeightBytes linear;  // packed matrices of the encoder and of the dense modules, with their biases and scales
  WeightBytes tables;  // embedding tables
  uint64_t tokenizer = 0;
  LaneMemory lanes;  // of embed(); lanes of callers are asked for with lane_memory()
};

}  // namespace inlay
