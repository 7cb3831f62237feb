#include <algorithm>

#include "jobs/chart.h"
#include "jobs/memory_report.h"
#include "jobs/validate/report.h"

namespace inlay {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string number(double value) { return fmt::format("{:.6f}", value); }
std::string share(double value) { return fmt::format("{:.4f}", value); }
std::string percent(double value) { return fmt::format("{:.2f} %", 100 * value); }

std::string verdict_html(const ValidationReport& report) {
  std::string html = report.verdict.passed ? "<p class='good'><b>Suited.</b> The rule holds.</p>\n"
                                           : "<p class='bad'><b>Not suited.</b></p>\n<ul>\n";
  for (const std::string& reason : report.verdict.reasons) html += fmt::format("<li>{}</li>\n", html_escape(reason));
  if (!report.verdict.passed) html += "</ul>\n";
  html += fmt::format(
      "<p>Rule: P99 of the cosine distances at most {:g}, Recall@5 loss at most {:g} %. {} texts and {} pairs, {}.</p>\n",
      report.rule.max_p99, 100 * report.rule.max_recall_loss, report.texts, report.pairs, report.created);
  return html;
}

std::vector<std::string> model_row(const char* name, const ModelFigures& figures) {
  return {name,
          figures.dtype,
          bytes_text(figures.file_bytes),
          bytes_text(figures.weight_bytes),
          bytes_text(figures.memory_bytes),
          fmt::format("{:.1f}", figures.texts_per_second),
          fmt::format("{:.0f}", figures.tokens_per_second),
          fmt::format("{:.2f} ms", 1e3 * figures.single_p50_seconds),
          figures.folder};
}

std::string models_html(const ValidationReport& report) {
  const Rows rows = {{"", "dtype", "files", "weights", "memory", "texts/s", "tokens/s", "one text", "folder"},
                     model_row("reference", report.reference),
                     model_row("candidate", report.candidate)};
  std::string html = "<h2>Cost</h2>\n" + html_table(rows);
  html +=
      fmt::format("<p>{} of {} vectors have the same bits alone and in a batch. Computed with {} kernels on {} threads.</p>\n",
                  report.bits.texts - report.bits.different, report.bits.texts, html_escape(report.candidate.isa),
                  report.candidate.threads);
  return html;
}

std::vector<std::string> distance_row(const std::string& name, const Distribution& distance) {
  return {name,
          std::to_string(distance.count),
          number(distance.mean),
          number(distance.p50),
          number(distance.p95),
          number(distance.p99),
          number(distance.max)};
}

// The columns between the first and the last that hold anything.
std::string histogram_svg(const DistanceHistogram& histogram) {
  Bars bars = {.title = "Texts by cosine distance", .unit = "texts", .names = {}, .series = {"texts"}, .values = {{}}};
  const auto is_filled = [](uint64_t count) { return count > 0; };
  const int first =
      static_cast<int>(std::find_if(histogram.counts.begin(), histogram.counts.end(), is_filled) - histogram.counts.begin());
  const int last =
      static_cast<int>(histogram.counts.rend() - std::find_if(histogram.counts.rbegin(), histogram.counts.rend(), is_filled)) -
      1;
  for (int i = first; i <= last; ++i) {
    bars.names.push_back(i == 0 ? "0" : fmt::format("{:.1e}", DistanceHistogram::edge(i - 1)));
    bars.values[0].push_back(static_cast<double>(histogram.counts[static_cast<size_t>(i)]));
  }
  return svg_columns(bars);
}

std::string group_bars(const std::string& title, const std::vector<DistanceGroup>& groups) {
  Bars bars = {.title = title, .unit = "", .names = {}, .series = {"mean", "P99"}, .values = {{}, {}}};
  for (const DistanceGroup& group : groups) {
    bars.names.push_back(fmt::format("{} ({})", group.name, group.distance.count));
    bars.values[0].push_back(group.distance.mean);
    bars.values[1].push_back(group.distance.p99);
  }
  return svg_bars(bars);
}

std::string distances_html(const ValidationReport& report) {
  Rows rows = {{"1 - cosine", "texts", "mean", "P50", "P95", "P99", "max"}, distance_row("all", report.distance)};
  for (const DistanceGroup& group : report.languages) rows.push_back(distance_row(group.name, group.distance));
  for (const DistanceGroup& group : report.lengths) rows.push_back(distance_row(group.name + " tokens", group.distance));
  return "<h2>Distance from the reference</h2>\n" + html_table(rows) + histogram_svg(report.histogram) +
         group_bars("Cosine distance by language", report.languages) + group_bars("Cosine distance by tokens", report.lengths);
}

std::string retrieval_html(const ValidationReport& report) {
  if (report.retrieval.empty()) return {};
  Rows rows = {{"retrieval", "queries", "Recall@1", "", "Recall@5", "", "lost", "nDCG@10", "", "MRR", "", "same 10"}};
  Bars bars = {
      .title = "Recall@5 by language", .unit = "", .names = {}, .series = {"reference", "candidate"}, .values = {{}, {}}};
  for (const RetrievalGroup& group : report.retrieval) {
    const RetrievalScores& a = group.reference;
    const RetrievalScores& b = group.candidate;
    rows.push_back({group.name, std::to_string(a.queries), share(a.recall_1), share(b.recall_1), share(a.recall_5),
                    share(b.recall_5), percent(group.recall_5_loss()), share(a.ndcg_10), share(b.ndcg_10), share(a.mrr),
                    share(b.mrr), percent(group.overlap_10)});
    bars.names.push_back(group.name);
    bars.values[0].push_back(a.recall_5);
    bars.values[1].push_back(b.recall_5);
  }
  return "<h2>Retrieval</h2>\n<p>Reference on the left of each pair of columns, candidate on the right.</p>\n" +
         html_table(rows) + svg_bars(bars);
}

std::string outputs_html(const ValidationReport& report) {
  if (report.outputs.empty()) return {};
  Rows rows = {{"stored as", "bytes", "Recall@1", "Recall@5", "nDCG@10", "rescored Recall@1", "Recall@5", "nDCG@10"}};
  for (const OutputLoss& output : report.outputs) {
    rows.push_back({output.type, std::to_string(output.bytes), share(output.plain.recall_1), share(output.plain.recall_5),
                    share(output.plain.ndcg_10), share(output.rescored.recall_1), share(output.rescored.recall_5),
                    share(output.rescored.ndcg_10)});
  }
  return "<h2>Vectors stored in fewer bits</h2>\n" + html_table(rows);
}

std::string scatter_html(const ValidationReport& report) {
  PlotSeries models = {.name = "precisions", .points = {}, .is_line = false};
  models.points.push_back({report.reference.texts_per_second, 0, report.reference.dtype + " (reference)"});
  models.points.push_back({report.candidate.texts_per_second, report.distance.p99, report.candidate.dtype});
  for (const PrecisionTrial& trial : report.fallbacks) {
    models.points.push_back({trial.texts_per_second, trial.distance.p99, trial.dtype});
  }
  for (const CostPoint& other : report.others) models.points.push_back({other.texts_per_second, other.p99, other.dtype});
  double fastest = 0;
  for (const PlotPoint& point : models.points) fastest = std::max(fastest, point.x);
  const PlotSeries bound = {
      .name = "rule", .points = {{0, report.rule.max_p99}, {fastest, report.rule.max_p99}}, .is_line = true, .is_bound = true};
  Plot plot;
  plot.title = "P99 cosine distance against speed";
  plot.x.label = "texts a second";
  plot.y.label = "P99 of 1 - cosine";
  plot.series = {models, bound};
  return "<h2>Cost and quality</h2>\n" + svg_plot(plot);
}

std::string worst_html(const ValidationReport& report) {
  if (report.worst.empty()) return {};
  Rows rows = {{"distance", "where", "language", "tokens", "text"}};
  for (const WorstText& worst : report.worst) {
    rows.push_back({number(worst.distance), fmt::format("{}:{}", worst.file, worst.line), worst.language,
                    std::to_string(worst.tokens), worst.text});
  }
  return "<h2>Farthest off</h2>\n<div class='wrap'>" + html_table(rows) + "</div>\n";
}

}  // namespace

std::string validation_html(const ValidationReport& report) {
  const std::string title =
      fmt::format("Validation: {} in {} against {}", report.candidate.folder, report.candidate.dtype, report.reference.dtype);
  return html_page(title, verdict_html(report) + models_html(report) + scatter_html(report) + distances_html(report) +
                              retrieval_html(report) + outputs_html(report) + worst_html(report));
}

}  // namespace inlay
