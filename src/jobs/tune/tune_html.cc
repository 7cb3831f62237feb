#include <fmt/format.h>

#include <map>
#include <utility>

#include "jobs/chart.h"
#include "jobs/tune/tune_report.h"

namespace inlay {
namespace {

constexpr double kMega = 1024.0 * 1024.0;
using Rows = std::vector<std::vector<std::string>>;

Axis axis(std::string label) {
  Axis axis;
  axis.label = std::move(label);
  return axis;
}

Axis batch_axis() {
  Axis tokens = axis("tokens of a batch");
  tokens.is_log = true;
  tokens.has_powers_of_2 = true;
  return tokens;
}

std::string plot(std::string title, Axis x, Axis y, std::vector<PlotSeries> series) {
  Plot plot;
  plot.title = std::move(title);
  plot.x = std::move(x);
  plot.y = std::move(y);
  plot.series = std::move(series);
  return svg_plot(plot);
}

template <class Point, class Value>
PlotSeries series_of(const std::string& name, const std::vector<Point>& points, Value value) {
  PlotSeries series = {.name = name, .points = {}};
  for (const Point& point : points) series.points.push_back({static_cast<double>(point.batch_tokens), value(point)});
  return series;
}

PlotSeries objective(const std::vector<BatchPoint>& batches, double slo_p99) {
  if (batches.empty()) return {.name = "objective", .points = {}, .is_bound = true};
  return {.name = "objective",
          .points = {{static_cast<double>(batches.front().batch_tokens), kMilli * slo_p99},
                     {static_cast<double>(batches.back().batch_tokens), kMilli * slo_p99}},
          .is_bound = true};
}

std::string batch_plots(const TuneReport& report) {
  const std::vector<BatchPoint>& batches = report.batches;
  Axis milliseconds = axis("milliseconds");
  milliseconds.is_log = true;
  const PlotSeries throughput = series_of("tokens/s", batches, [](const BatchPoint& point) { return point.tokens_per_second; });
  const PlotSeries memory = series_of("weights and lanes", batches,
                                      [](const BatchPoint& point) { return static_cast<double>(point.memory_bytes) / kMega; });
  const std::vector<PlotSeries> times = {series_of("P50", batches, [](const BatchPoint& point) { return kMilli * point.p50; }),
                                         series_of("P99", batches, [](const BatchPoint& point) { return kMilli * point.p99; }),
                                         objective(batches, report.slo_p99)};
  return "<h2>Batches</h2>\n" + plot("Throughput of bare batches", batch_axis(), axis("tokens a second"), {throughput}) +
         plot("Time of a batch", batch_axis(), milliseconds, times) + plot("Memory", batch_axis(), axis("MiB"), {memory});
}

// For each size of batch, the load that answers the most requests within the objective.
std::vector<LoadPoint> best_loads(const TuneReport& report) {
  std::map<int, std::vector<LoadPoint>> by_batch;
  for (const LoadPoint& point : report.closed) by_batch[point.batch_tokens].push_back(point);
  std::vector<LoadPoint> best;
  for (const auto& [batch, points] : by_batch) best.push_back(*choose_load(points, report.slo_p99));
  return best;
}

std::string load_plots(const TuneReport& report) {
  std::map<int, PlotSeries> by_batch;
  for (const LoadPoint& point : report.closed) {
    PlotSeries& series = by_batch[point.batch_tokens];
    series.name = std::to_string(point.batch_tokens);
    series.points.push_back({point.requests_per_second, kMilli * point.p99, std::to_string(point.clients)});
  }
  std::vector<PlotSeries> clients;
  for (auto& [batch, series] : by_batch) clients.push_back(std::move(series));
  const std::vector<LoadPoint> best = best_loads(report);
  const std::vector<PlotSeries> times = {series_of("P50", best, [](const LoadPoint& point) { return kMilli * point.p50; }),
                                         series_of("P99", best, [](const LoadPoint& point) { return kMilli * point.p99; })};
  const PlotSeries use = series_of("lanes compute", best, [](const LoadPoint& point) { return 100 * point.lane_use; });
  return "<h2>Requests to a server</h2>\n" +
         plot("P99 against requests/s (numbers: clients)", axis("requests a second"), axis("P99, milliseconds"), clients) +
         plot("Latency at the best load within the objective", batch_axis(), axis("milliseconds"), times) +
         plot("Lane use at the best load within the objective", batch_axis(), axis("% of the time"), {use});
}

std::string open_plot(const TuneReport& report) {
  PlotSeries p50 = {.name = "P50"};
  PlotSeries p99 = {.name = "P99"};
  PlotSeries bound = {.name = "objective"};
  bound.is_bound = true;
  for (const LoadPoint& point : report.open) {
    p50.points.push_back({point.rate, kMilli * point.p50});
    p99.points.push_back({point.rate, kMilli * point.p99});
    bound.points.push_back({point.rate, kMilli * report.slo_p99});
  }
  return plot("Random arrivals at the choice", axis("requests a second"), axis("milliseconds"), {p50, p99, bound});
}

std::string load_table(const std::string& title, const std::vector<LoadPoint>& points) {
  Rows rows = {
      {"batch", "delay", "clients", "rate", "answers/s", "tokens/s", "P50", "P99", "lanes", "texts a batch", "rejected"}};
  for (const LoadPoint& point : points) {
    rows.push_back({std::to_string(point.batch_tokens), fmt::format("{} us", point.queue_delay_us),
                    std::to_string(point.clients), fmt::format("{:.1f}", point.rate),
                    fmt::format("{:.1f}", point.requests_per_second), fmt::format("{:.0f}", point.tokens_per_second),
                    fmt::format("{:.2f} ms", kMilli * point.p50), fmt::format("{:.2f} ms", kMilli * point.p99),
                    fmt::format("{:.1f} %", 100 * point.lane_use), fmt::format("{:.1f}", point.batch_texts),
                    std::to_string(point.rejected)});
  }
  return fmt::format("<h2>{}</h2>\n", title) + html_table(rows);
}

std::string choice_html(const TuneReport& report) {
  const TuneChoice& choice = report.choice;
  return fmt::format(
      "<p class='{}'><b>{}</b> {} threads, batches of {} tokens, {} requests at once: {:.1f} requests/s, P99 {:.2f} ms "
      "(objective {:g} "
      "ms).</p>\n<pre>{}</pre>\n",
      choice.keeps_objective ? "good" : "bad",
      choice.keeps_objective ? "Chosen." : "Nothing keeps the objective; the nearest:", choice.threads, choice.batch_tokens,
      choice.clients, choice.requests_per_second, kMilli * choice.p99, kMilli * report.slo_p99,
      html_escape(tune_config(report)));
}

}  // namespace

std::string tune_html(const TuneReport& report) {
  const std::string title = fmt::format("Tuning: {} in {}", report.model, report.dtype);
  return html_page(title, choice_html(report) + batch_plots(report) + load_plots(report) + open_plot(report) +
                              load_table("Clients", report.closed) + load_table("Bulk work", report.delays) +
                              load_table("Random arrivals", report.open));
}

}  // namespace inlay
