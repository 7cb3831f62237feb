// Memory by part, in the same words in every report.
#pragma once

#include <string>

#include "base/json_writer.h"
#include "base/process.h"
#include "engine/engine.h"

namespace inlay {

struct MemoryReport {
  EngineMemory engine;  // its lanes: those of the report's job
  ProcessMemory process;
};

// The engine's parts and the process as they are now.
MemoryReport memory_report(const Engine& engine);

// Adds "memory": {...}. Words: *_bytes is memory of this process alone, *_cached_bytes lies in the mapped file of the weight
// cache, *_in_place_bytes in the mapped files of the model.
void put_memory(JsonWriter& json, const MemoryReport& report);
// Lines of a table whose first column is 14 wide.
std::string memory_lines(const MemoryReport& report);

// "1.5 MiB", "12.0 KiB"
std::string bytes_text(uint64_t bytes);

}  // namespace inlay
