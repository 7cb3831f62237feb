#include "jobs/quantize_job.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <thread>

#include "backend/embedding_table.h"
#include "base/log.h"
#include "jobs/calibration.h"
#include "jobs/quantized_folder.h"
#include "weights/weight_store.h"

namespace inlay {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::vector<std::string>> read_texts(const QuantizeOptions& options, TextReader* reader) {
  std::vector<std::string> texts;
  while (reader != nullptr && static_cast<int>(texts.size()) < options.texts) {
    std::optional<TextRow> row = TRY(reader->next());
    if (!row) break;
    if (row->text) texts.push_back(*std::move(row->text));
  }
  if (reader != nullptr && texts.empty()) return fail(ErrorCode::kInvalidArgument, "{}: no texts", reader->name());
  return texts;
}

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, "+")); }

bool is_named(const std::vector<std::string>& names, const std::vector<std::string>& patterns) {
  for (const std::string& name : names) {
    for (const std::string& pattern : patterns) {
      if (name.find(pattern) != std::string::npos) return true;
    }
  }
  return false;
}

double median_error(const std::vector<LayerReport>& layers) {
  std::vector<double> errors;
  for (const LayerReport& layer : layers) {
    if (layer.kept.empty()) errors.push_back(layer.error);
  }
  if (errors.empty()) return 0;
  std::sort(errors.begin(), errors.end());
  return errors[errors.size() / 2];
}

class QuantizeJob {
 public:
  QuantizeJob(const QuantizeOptions& options, const WeightStore& weights)
      : options_(options), weights_(weights), parts_(kernels(), true) {}

  Result<QuantizeReport> run(const std::vector<std::string>& texts) {
    const Clock::time_point begin = Clock::now();
    const CalibrationOptions calibration = {options_.model, options_.max_length, options_.stopped};
    const CalibrationReport seen = TRY(calibrate(calibration, weights_, texts, parts_));
    report_.texts = seen.texts;
    report_.tokens = seen.tokens;
    report_.errors_are_of_weights = texts.empty();
    TRY_VOID(round_layers());
    TRY_VOID(replace_outliers());
    TRY_VOID(round_tables());
    TRY_VOID(write());
    report_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::move(report_);
  }

 private:
  using Rounded = std::vector<RoundedTensor>;

  // Layers are independent, so threads take one after another. Which thread takes which changes nothing.
  Result<> round_layers() {
    const size_t count = parts_.layers().size();
    report_.layers.resize(count);
    rounded_.resize(count);
    std::vector<Result<>> results(count);
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i = next++; i < count; i = next++) {
        results[i] = stopped() ? fail(ErrorCode::kCancelled, "stopped") : round_layer(i);
      }
    };
    std::vector<std::jthread> threads;
    for (int i = 1; i < options_.threads; ++i) threads.emplace_back(work);
    work();
    threads.clear();
    for (const Result<>& result : results) TRY_VOID(result);
    return {};
  }

  bool stopped() const { return options_.stopped && options_.stopped(); }

  // Four bits lie two to a byte.
  bool fits(const LinearVisitor::Layer& layer) const { return options_.rounding.type != WeightType::kInt4 || layer.k % 2 == 0; }

  Result<> round_layer(size_t i) {
    const LinearVisitor::Layer& layer = parts_.layers()[i];
    LayerReport& report = report_.layers[i];
    report = {joined(layer.weights), layer.columns, layer.k, 0, ""};
    if (is_named(layer.weights, options_.keep)) report.kept = "named by --keep";
    if (!fits(layer)) report.kept = "an odd number of inputs";
    RoundingOptions rounding = options_.rounding;
    if (!report.kept.empty()) rounding = {.type = WeightType::kBFloat16};
    std::vector<float> sums;
    InputSums* inputs = parts_.inputs(i);
    if (inputs != nullptr && inputs->rows() > 0) sums = inputs->sums();
    parts_.forget_inputs(i);
    // A layer that no text has reached (an expert, say) has nothing to go by.
    if (sums.empty()) rounding.use_gptq = false;
    LayerRounder rounder = TRY(LayerRounder::make(rounding, layer.k, sums).map_error(within(report.name)));
    for (const std::string& name : layer.weights) rounded_[i].push_back(TRY(rounder.round(name, *view_of(name))));
    report.error = rounder.error();
    return {};
  }

  const TensorView* view_of(const std::string& name) const { return weights_.find(name); }

  Result<> replace_outliers() {
    const double limit = options_.max_layer_error.value_or(QuantizeOptions::kOutlier * median_error(report_.layers));
    for (size_t i = 0; i < report_.layers.size(); ++i) {
      LayerReport& layer = report_.layers[i];
      if (!layer.kept.empty() || !(layer.error > limit)) continue;
      layer.kept = fmt::format("error {:.4f} is above {:.4f}", layer.error, limit);
      LayerRounder rounder = TRY(LayerRounder::make({.type = WeightType::kBFloat16}, layer.k, {}));
      for (RoundedTensor& tensor : rounded_[i]) {
        const std::string name = tensor.name;
        tensor = TRY(rounder.round(name, *view_of(name)));
      }
    }
    return {};
  }

  Result<> round_tables() {
    if (options_.keep_tables) return {};
    for (const ModelParts::Table& table : parts_.tables()) {
      if (!EmbeddingTable::is_rounded(table.rows)) continue;
      const bool is_odd = *options_.tables == WeightType::kInt4 && table.columns % 2 != 0;
      const WeightType type = is_odd ? WeightType::kInt8 : *options_.tables;
      tables_.push_back(TRY(round_table(table.name, *view_of(table.name), type, options_.rounding.group)));
    }
    return {};
  }

  void add(TensorSum& sum, const RoundedTensor& tensor) {
    const TensorView& before = *view_of(tensor.name);
    ++sum.count;
    sum.parameters += static_cast<uint64_t>(before.element_count());
    sum.bytes_before += before.bytes.size();
    sum.bytes += tensor.bytes();
    replaced_[tensor.name] = &tensor;
  }

  // Floats in place of what safetensors cannot hold: types of GGUF, and elements that do not lie in order.
  Result<TensorToWrite> as_it_was(const std::string& name, const TensorView& view) {
    if (view.is_row_major() && !is_block_type(view.dtype)) return TensorToWrite{name, view.dtype, view.shape, view.bytes};
    std::vector<float>& values = floats_.emplace_back(static_cast<size_t>(view.element_count()));
    TRY_VOID(to_float(view, 0, values).map_error(within(name)));
    return TensorToWrite{name, DType::kF32, view.shape, std::as_bytes(std::span(values))};
  }

  Result<> write() {
    for (size_t i = 0; i < rounded_.size(); ++i) {
      TensorSum& sum = report_.layers[i].kept.empty() ? report_.rounded_layers : report_.kept_layers;
      for (const RoundedTensor& tensor : rounded_[i]) add(sum, tensor);
    }
    for (const RoundedTensor& tensor : tables_) add(report_.tables, tensor);
    std::vector<TensorToWrite> tensors;
    for (const std::string& name : weights_.names()) {
      const auto replaced = replaced_.find(name);
      if (replaced != replaced_.end()) {
        tensors.insert(tensors.end(), replaced->second->tensors.begin(), replaced->second->tensors.end());
        continue;
      }
      const TensorView* view = TRY(weights_.get(name));
      if (!view->is_row_major() && !is_float_type(view->dtype)) continue;  // positions and the like, which no model reads
      tensors.push_back(TRY(as_it_was(name, *view)));
      TensorSum& sum = report_.others;
      ++sum.count;
      sum.parameters += static_cast<uint64_t>(view->element_count());
      sum.bytes_before += view->bytes.size();
      sum.bytes += tensors.back().bytes.size();
    }
    TRY_VOID(begin_quantized_folder(options_));
    return end_quantized_folder(options_, tensors);
  }

  const QuantizeOptions& options_;
  const WeightStore& weights_;
  ModelParts parts_;
  QuantizeReport report_;
  std::vector<Rounded> rounded_;  // by layer
  Rounded tables_;
  std::deque<std::vector<float>> floats_;
  std::map<std::string, const RoundedTensor*, std::less<>> replaced_;
};

Result<QuantizeOptions> with_defaults(QuantizeOptions options) {
  const RoundingOptions& rounding = options.rounding;
  if (rounding.use_gptq && rounding.type != WeightType::kInt4)
    return fail(ErrorCode::kInvalidArgument, "method gptq is for int4; {} takes rtn", weight_type_name(rounding.type));
  if (!options.tables) options.tables = rounding.type == WeightType::kInt4 ? WeightType::kInt8 : rounding.type;
  return options;
}

}  // namespace

Result<QuantizeReport> run_quantize_job(const QuantizeOptions& asked, TextReader* reader) {
  const QuantizeOptions options = TRY(with_defaults(asked));
  if (options.rounding.use_gptq && reader == nullptr)
    return fail(ErrorCode::kInvalidArgument, "method gptq needs texts to calibrate with: --texts FILE");
  const WeightStore weights = TRY(WeightStore::open(options.model));
  if (weights.quantization()) {
    return fail(ErrorCode::kInvalidArgument, "{}: its weights are quantised already, by '{}'; start from the original",
                options.model.string(), weights.quantization()->method);
  }
  const std::vector<std::string> texts = TRY(read_texts(options, reader));
  return QuantizeJob(options, weights).run(texts);
}

}  // namespace inlay
