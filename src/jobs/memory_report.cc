#include "jobs/memory_report.h"

#include <fmt/format.h>

namespace inlay {
namespace {

void put_weights(JsonWriter& json, const std::string& name, const WeightBytes& bytes) {
  json.key(name + "_bytes").value(bytes.own).key(name + "_cached_bytes").value(bytes.cached);
  json.key(name + "_in_place_bytes").value(bytes.in_place);
}

std::string weights_text(const WeightBytes& bytes) {
  std::string text = bytes_text(bytes.own);
  if (bytes.cached > 0) text += fmt::format(", {} mapped from the weight cache", bytes_text(bytes.cached));
  if (bytes.in_place > 0) text += fmt::format(", {} read in place in the model's files", bytes_text(bytes.in_place));
  return text;
}

std::string memory_line(std::string_view part, const std::string& value) {
  return fmt::format("{:<14} {:<16} {}\n", part.starts_with("linear") ? "memory" : "", part, value);
}

}  // namespace

MemoryReport memory_report(const Engine& engine) { return {engine.memory(), process_memory()}; }

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

void put_memory(JsonWriter& json, const MemoryReport& report) {
  json.key("memory").begin_object();
  put_weights(json, "linear", report.engine.linear);
  put_weights(json, "tables", report.engine.tables);
  json.key("tokenizer_bytes").value(report.engine.tokenizer);
  json.key("lanes_reserved_bytes").value(report.engine.lanes.reserved);
  json.key("lanes_touched_bytes").value(report.engine.lanes.touched);
  json.key("resident_bytes").value(report.process.resident);
  json.key("resident_anonymous_bytes").value(report.process.resident_anonymous);
  json.key("resident_file_bytes").value(report.process.resident_file);
  json.key("peak_resident_bytes").value(report.process.peak_resident).end_object();
}

std::string memory_lines(const MemoryReport& report) {
  const LaneMemory& lanes = report.engine.lanes;
  const ProcessMemory& process = report.process;
  std::string text = memory_line("linear layers", weights_text(report.engine.linear));
  text += memory_line("embedding tables", weights_text(report.engine.tables));
  text += memory_line("tokenizer", bytes_text(report.engine.tokenizer));
  text += memory_line("lanes", fmt::format("{} touched of {} reserved", bytes_text(lanes.touched), bytes_text(lanes.reserved)));
  text += memory_line("resident", fmt::format("{} now ({} own, {} of files), {} at most", bytes_text(process.resident),
                                              bytes_text(process.resident_anonymous), bytes_text(process.resident_file),
                                              bytes_text(process.peak_resident)));
  return text;
}

}  // namespace inlay
