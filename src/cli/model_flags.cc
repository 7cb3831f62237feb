#include "cli/model_flags.h"

#include <spdlog/spdlog.h>

#include "cli/download_bar.h"
#include "cli/flags.h"
#include "hub/locate_model.h"
#include "jobs/validate/precision_trial.h"

namespace inlay {
namespace {

// Enough for a P99, in seconds even on slow machines.
constexpr size_t kTextsValidatedOn = 256;

Result<TruncationSide> truncation_from_name(const std::string& name) {
  if (name == "right") return TruncationSide::kRight;
  if (name == "left") return TruncationSide::kLeft;
  if (name == "none") return TruncationSide::kNone;
  return fail(ErrorCode::kInvalidArgument, "--truncate-side {}: wanted right, left or none", name);
}

Result<Normalize> normalize_from_name(const std::string& name) {
  if (name == "auto") return Normalize::kAuto;
  if (name == "on") return Normalize::kOn;
  if (name == "off") return Normalize::kOff;
  return fail(ErrorCode::kInvalidArgument, "--normalize {}: wanted auto, on or off", name);
}

Result<> check_device(const std::string& name) {
  if (name == "auto" || name == "cpu") return {};
  if (name == "cuda" || name.starts_with("cuda:")) {
    return fail(ErrorCode::kUnsupported, "--device {}: this build has no CUDA; it runs on cpu", name);
  }
  return fail(ErrorCode::kInvalidArgument, "--device {}: wanted auto or cpu", name);
}

Result<std::optional<Pooling>> optional_pooling(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const std::optional<Pooling> pooling = pooling_from_name(name);
  if (!pooling) {
    return fail(ErrorCode::kInvalidArgument,
                "--pooling {}: wanted cls, mean, max, mean_sqrt_len_tokens, weightedmean, lasttoken or splade", name);
  }
  return pooling;
}

}  // namespace

void ModelFlags::add_text_flags(CLI::App& app) {
  add_value(app, "--model", model_,
            "Folder of the model as Hugging Face lays it out, its name on the hub (org/name), or a .gguf file");
  add_reading_flags(app);
}

void ModelFlags::add_reading_flags(CLI::App& app) {
  add_value(app, "--max-length", max_length_,
            "Most tokens of a text, special tokens included; the model's own limit unless given")
      ->check(CLI::PositiveNumber);
  add_value(app, "--truncate-side", truncate_side_, "Which end of a longer text is cut: right, left, or none to refuse it")
      ->capture_default_str();
  prompt_given_ = add_value(app, "--prompt", prompt_, "Text to put before every text");
  add_value(app, "--prompt-name", prompt_name_, "Name of a prompt that the model folder defines")->excludes(prompt_given_);
  add_value(app, "--task", task_, "Task that the model has weights of its own for (jina-embeddings-v3: retrieval.query, ...)");
}

void ModelFlags::add_compute_flags(CLI::App& app) {
  add_value(app, "--dtype", dtype_, "What the model computes in: auto, float32, bfloat16, float16, int8 or int4")
      ->capture_default_str();
  add_value(app, "--device", device_, "auto or cpu")->capture_default_str();
  add_value(app, "--threads", threads_, "Cores to use; what the system grants unless given")->check(CLI::Range(1, 1024));
  add_value(app, "--weight-cache", weight_cache_,
            "Folder that keeps packed weights, so that the next start is faster and processes share memory");
  add_value(app, "--max-batch-tokens", max_batch_tokens_,
            "Most tokens computed at once by a core; what is fastest unless given")
      ->check(CLI::Range(1, 1 << 20));
}

void ModelFlags::add_vector_flags(CLI::App& app) {
  add_value(app, "--pooling", pooling_,
            "Pooling instead of the model's: cls, mean, max, ...; splade for the words' weights of a masked language model");
  add_value(app, "--normalize", normalize_, "Scale vectors to length 1: auto (as the model says), on or off")
      ->capture_default_str();
  add_value(app, "--dimensions", dimensions_, "Keep so many leading numbers of each vector")->check(CLI::PositiveNumber);
}

void ModelFlags::add_all(CLI::App& app) {
  add_text_flags(app);
  add_compute_flags(app);
  add_vector_flags(app);
}

Result<Normalize> ModelFlags::normalize() const { return normalize_from_name(normalize_); }

Result<EngineOptions> ModelFlags::options(const Interrupt* interrupt) const {
  if (model_.empty())
    return fail(ErrorCode::kInvalidArgument, "--model is missing: the folder of a model, or its name on the hub");
  EngineOptions options;
  const std::optional<Precision> dtype = precision_from_name(dtype_);
  if (!dtype) {
    return fail(ErrorCode::kInvalidArgument, "--dtype {}: wanted auto, float32, bfloat16, float16, int8 or int4", dtype_);
  }
  TRY_VOID(check_device(device_));
  options.dtype = *dtype;
  options.threads = threads_;
  options.weight_cache = weight_cache_;
  options.task = task_;
  options.truncate_side = TRY(truncation_from_name(truncate_side_));
  options.normalize = TRY(normalize());
  options.splade = pooling_ == "splade";
  if (!options.splade) options.pooling = TRY(optional_pooling(pooling_));
  if (max_length_ > 0) options.max_length = max_length_;
  if (dimensions_ > 0) options.dimensions = dimensions_;
  if (max_batch_tokens_ > 0) options.max_batch_tokens = max_batch_tokens_;
  if (prompt_given_ != nullptr && prompt_given_->count() > 0) options.prompt = prompt_;
  if (!prompt_name_.empty()) options.prompt_name = prompt_name_;
  DownloadBar bar;  // Other flags were checked before, since this may take long.
  options.model = TRY(locate_model(model_, hub_options_from_environment(), bar.pull_options(interrupt)));
  return options;
}

void ModelFlags::add_choice_flags(CLI::App& app) {
  add_value(
      app, "--validate-on", validate_on_,
      "File of texts; --dtype auto then takes the fastest precision that loses little enough on them (see inlay validate)");
}

Result<EngineOptions> ModelFlags::chosen_options(const Interrupt& interrupt) const {
  EngineOptions chosen = TRY(options(&interrupt));
  if (validate_on_.empty()) return chosen;
  if (chosen.dtype != Precision::kAuto) {
    return fail(ErrorCode::kInvalidArgument, "--validate-on chooses among precisions, but --dtype {} names one", dtype_);
  }
  SampleOptions sampling;
  sampling.sources = {parse_sample_source(validate_on_)};
  sampling.rows = kTextsValidatedOn;
  const Sample texts = TRY(read_sample(sampling, SampleKind::kTexts, &interrupt));
  JobHooks hooks;
  hooks.stopped = [&interrupt] { return interrupt.requested(); };
  const DtypeChoice choice = TRY(choose_dtype(chosen, texts, ValidationRule{}, hooks));
  for (const PrecisionTrial& trial : choice.trials) spdlog::info("{}", trial_text(trial));
  spdlog::info("--dtype auto takes {}", choice.why);
  chosen.dtype = choice.dtype;
  return chosen;
}

}  // namespace inlay
