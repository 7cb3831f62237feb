#include "cli/output_flags.h"

#include <filesystem>
#include <utility>

#include "cli/flags.h"
#include "jobs/validate/calibrate.h"

namespace inlay {
namespace {

constexpr size_t kCalibrationTexts = 1000;

}  // namespace

void OutputFlags::add(CLI::App& app) {
  add_value(app, "--output-type", type_, "How vectors are stored: float, fp16, int8, uint8, binary or ubinary")
      ->capture_default_str();
  add_value(app, "--ranges", ranges_, "File of the ranges that int8 and uint8 spread over, as --save-ranges wrote it");
  add_value(app, "--calibration-texts", calibration_texts_,
            "File of texts to find those ranges on; 1,000 of the input's own texts unless given");
  add_value(app, "--save-ranges", save_ranges_, "File for the ranges, so that later vectors are stored alike");
}

Result<> OutputFlags::check(const InputFlags& input) const {
  const OutputType type = TRY(parse_output_type(type_));
  const bool has_flags = !ranges_.empty() || !calibration_texts_.empty() || !save_ranges_.empty();
  if (!is_integer(type)) {
    if (has_flags) return fail(ErrorCode::kInvalidArgument, "--output-type {} has no ranges: int8 and uint8 do", type_);
    return {};
  }
  if (!ranges_.empty() && !calibration_texts_.empty()) {
    return fail(ErrorCode::kInvalidArgument, "give either --ranges or --calibration-texts, not both");
  }
  if (!ranges_.empty() || !calibration_texts_.empty()) return {};
  std::error_code ignored;
  if (!input.holds_ids() && std::filesystem::is_regular_file(input.path, ignored)) return {};
  return fail(ErrorCode::kInvalidArgument,
              "--output-type {} needs the ranges of the vectors: give --ranges or --calibration-texts, since the input cannot "
              "be read twice",
              type_);
}

Result<OutputRanges> OutputFlags::calibrate(const Engine& engine, const InputFlags& input, const Interrupt& interrupt) const {
  SampleOptions sampling;
  sampling.rows = kCalibrationTexts;
  sampling.reader = TRY(input.reader_options());
  if (calibration_texts_.empty()) {
    sampling.sources = {{input.path, {}}};
  } else {
    sampling.sources = {parse_sample_source(calibration_texts_)};
    sampling.reader.format = InputFormat::kAuto;
  }
  const Sample texts = TRY(read_sample(sampling, SampleKind::kTexts, &interrupt));
  JobHooks hooks;
  hooks.stopped = [&interrupt] { return interrupt.requested(); };
  return calibrate_ranges(engine, texts, hooks);
}

Result<StoredAs> OutputFlags::stored_as(const Engine& engine, const InputFlags& input, const Interrupt& interrupt) const {
  StoredAs stored = {.type = TRY(parse_output_type(type_))};
  if (!is_integer(stored.type)) return stored;
  stored.ranges = TRY(ranges_.empty() ? calibrate(engine, input, interrupt) : OutputRanges::read(ranges_, engine.dimensions()));
  if (!save_ranges_.empty()) TRY_VOID(stored.ranges->write(save_ranges_));
  return stored;
}

}  // namespace inlay
