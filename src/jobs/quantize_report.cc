// What a quantisation has done, as a table and as JSON.
#include <algorithm>

#include "base/json_writer.h"
#include "base/text.h"
#include "jobs/memory_report.h"
#include "jobs/quantize_job.h"

namespace inlay {
namespace {

constexpr double kFloatBytes = 4;

std::string sum_line(std::string_view name, const TensorSum& sum) {
  if (sum.count == 0) return "";
  const double of_float =
      static_cast<double>(sum.bytes) / (kFloatBytes * static_cast<double>(std::max<uint64_t>(sum.parameters, 1)));
  return fmt::format("{:<16} {:>7} {:>12} {:>12} {:>12} {:>10.4f}\n", name, sum.count, sum.parameters,
                     bytes_text(sum.bytes_before), bytes_text(sum.bytes), of_float);
}

TensorSum total_of(const QuantizeReport& report) {
  TensorSum total;
  for (const TensorSum* sum : {&report.rounded_layers, &report.kept_layers, &report.tables, &report.others}) {
    total.count += sum->count;
    total.parameters += sum->parameters;
    total.bytes_before += sum->bytes_before;
    total.bytes += sum->bytes;
  }
  return total;
}

void put_sum(JsonWriter& json, std::string_view name, const TensorSum& sum) {
  json.key(name).begin_object().key("tensors").value(sum.count).key("parameters").value(sum.parameters);
  json.key("bytes_before").value(sum.bytes_before).key("bytes").value(sum.bytes).end_object();
}

}  // namespace

std::string quantize_table(const QuantizeReport& report, const QuantizeOptions& options) {
  std::string text =
      fmt::format("{:<72} {:>12} {:>10}\n", "layer", "size", report.errors_are_of_weights ? "of weights" : "error");
  for (const LayerReport& layer : report.layers) {
    text += fmt::format("{:<72} {:>12} {:>10.4f}{}\n", layer.name, fmt::format("{} x {}", layer.columns, layer.k), layer.error,
                        layer.kept.empty() ? "" : "  bfloat16: " + layer.kept);
  }
  text +=
      fmt::format("\n{:<16} {:>7} {:>12} {:>12} {:>12} {:>10}\n", "", "tensors", "parameters", "before", "after", "of float32");
  text += sum_line(fmt::format("layers {}", weight_type_name(options.rounding.type)), report.rounded_layers);
  text += sum_line("layers bfloat16", report.kept_layers);
  text += sum_line("tables", report.tables);
  text += sum_line("others, copied", report.others);
  text += sum_line("all", total_of(report));
  if (report.texts > 0) text += fmt::format("\n{} calibration texts, {} tokens", report.texts, report.tokens);
  return text + fmt::format("\n{:.1f} s\n", report.seconds);
}

std::string quantize_json(const QuantizeReport& report, const QuantizeOptions& options) {
  JsonWriter json;
  json.begin_object().key("dtype").value(weight_type_name(options.rounding.type));
  json.key("method").value(options.rounding.use_gptq ? "gptq" : "rtn").key("texts").value(report.texts);
  json.key("tokens").value(report.tokens).key("errors_of").value(report.errors_are_of_weights ? "weights" : "outputs");
  json.key("layers").begin_array();
  for (const LayerReport& layer : report.layers) {
    json.begin_object().key("name").value(layer.name).key("columns").value(layer.columns).key("k").value(layer.k);
    json.key("error").value(layer.error).key("kept");
    if (layer.kept.empty()) {
      json.null();
    } else {
      json.value(layer.kept);
    }
    json.end_object();
  }
  json.end_array();
  put_sum(json, "rounded_layers", report.rounded_layers);
  put_sum(json, "kept_layers", report.kept_layers);
  put_sum(json, "tables", report.tables);
  put_sum(json, "others", report.others);
  put_sum(json, "all", total_of(report));
  json.key("seconds").value(report.seconds).end_object();
  return json.text() + "\n";
}

}  // namespace inlay
