// Plots as SVG, and the HTML page around them: self-contained, without scripts or anything from elsewhere. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace inlay {

// The text with what HTML takes for its own spelt out.
std::string html_escape(std::string_view text);

// A whole page; `body` is HTML. Follows the reader's choice of light or dark.
std::string html_page(std::string_view title, std::string_view body);

// Rows of cells, all text; the first is the head. Columns after the first are set to the right.
std::string html_table(const std::vector<std::vector<std::string>>& rows);

struct Axis {
  std::string label = {};
  bool is_log = false;           // values must be above 0
  bool has_powers_of_2 = false;  // ticks of a logarithmic axis: 1, 2, 4, ... instead of 1, 10, 100, ...
};

struct PlotPoint {
  double x = 0;
  double y = 0;
  std::string label = {};  // shown beside the point
};

struct PlotSeries {
  std::string name = {};
  std::vector<PlotPoint> points = {};
  bool is_line = true;    // else points only
  bool is_bound = false;  // a limit: dashed, without points
};

struct Plot {
  std::string title = {};
  Axis x = {};
  Axis y = {};  // from 0 unless logarithmic
  std::vector<PlotSeries> series = {};
};
std::string svg_plot(const Plot& plot);

struct Bars {
  std::string title = {};
  std::string unit = {};                         // of the values
  std::vector<std::string> names = {};           // of the groups
  std::vector<std::string> series = {};          // of the bars in a group; one or more
  std::vector<std::vector<double>> values = {};  // [series][group]
};
// Lying bars, a line each.
std::string svg_bars(const Bars& bars);
// Standing bars side by side, for a histogram: one series, every name that fits shown.
std::string svg_columns(const Bars& bars);

}  // namespace inlay
