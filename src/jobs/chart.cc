#include "jobs/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace inlay {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 320;
// Room for ticks and labels.
constexpr double kLeft = 74;
constexpr double kRight = 20;
constexpr double kTop = 40;
constexpr double kBottom = 54;
constexpr double kBarHeight = 15;
constexpr double kBarLeft = 120;
// Told apart by people who see few colours, on white and on black.
constexpr std::array<std::string_view, 5> kColours = {"#3b82f6", "#f59e0b", "#10b981", "#a855f7", "#ef4444"};

constexpr std::string_view kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:960px;margin:2rem auto;padding:0 1rem;color:#1f2937;background:#fff}"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}table{border-collapse:collapse;margin:.5rem 0;font-size:.9rem}"
    "th,td{padding:.25rem .7rem;border-bottom:1px solid "
    "#d1d5db;text-align:right;vertical-align:top;white-space:nowrap;font-variant-numeric:tabular-nums}"
    "th:first-child,td:first-child{text-align:left}svg{max-width:100%;height:auto;display:block;margin:.5rem 0}"
    "svg text{font:12px system-ui,sans-serif;fill:currentColor}svg .title{font-weight:600;font-size:13px}"
    ".grid{stroke:currentColor;stroke-opacity:.14}.good{color:#047857}.bad{color:#b91c1c}.wrap "
    "td:last-child{text-align:left;white-space:normal;overflow-wrap:anywhere}"
    ".scroll{overflow-x:auto}"
    "@media(prefers-color-scheme:dark){body{color:#e5e7eb;background:#111827}th,td{border-color:#374151}"
    ".good{color:#34d399}.bad{color:#f87171}}";

std::string colour(size_t series) { return std::string(kColours[series % kColours.size()]); }

// Values and where they lie on the page.
struct Scale {
  double low = 0;
  double high = 1;
  double begin = 0;  // of the page
  double end = 1;
  bool is_log = false;

  double place(double value) const {
    const double share = is_log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return begin + share * (end - begin);
  }
};

// 1, 2 or 5 times a power of ten, so that `range` holds about five of them.
double nice_step(double range) {
  const double rough = range / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) return factor * power;
  }
  return 10 * power;
}

std::vector<double> linear_ticks(double low, double high) {
  const double step = nice_step(high - low);
  std::vector<double> ticks;
  for (double index = std::ceil(low / step - 1e-9); index * step <= high * (1 + 1e-9); ++index) ticks.push_back(index * step);
  return ticks;
}

// The powers from the one below the least value to the one above the greatest.
std::vector<double> log_ticks(double low, double high, double base) {
  std::vector<double> ticks;
  const double first = std::floor(std::log(low) / std::log(base) + 1e-9);
  const double last = std::max(first + 1, std::ceil(std::log(high) / std::log(base) - 1e-9));
  for (double power = first; power <= last; ++power) ticks.push_back(std::pow(base, power));
  return ticks;
}

struct AxisLayout {
  Scale scale;
  std::vector<double> ticks;
};

AxisLayout lay_out(const Axis& axis, std::vector<double> values, double begin, double end) {
  AxisLayout layout;
  if (axis.is_log) std::erase_if(values, [](double value) { return value <= 0; });
  if (values.empty()) values = {1};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  if (axis.is_log) {
    layout.ticks = log_ticks(*low, *high, axis.has_powers_of_2 ? 2 : 10);
    layout.scale = {layout.ticks.front(), layout.ticks.back(), begin, end, true};
    return layout;
  }
  const double top = *high > 0 ? *high * 1.08 : 1;
  layout.scale = {0, top, begin, end, false};
  layout.ticks = linear_ticks(0, top);
  return layout;
}

std::string tick_text(double value) {
  if (value == 0) return "0";  // also of -0
  if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:g}", value);
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='{}'>{}</text>", x, y, anchor, html_escape(text));
}

std::string svg_begin(double height, std::string_view title) {
  return fmt::format(
      "<svg viewBox='0 0 {:g} {:g}' width='{:g}' height='{:g}' role='img' aria-label='{}'><text class='title' x='8' "
      "y='18'>{}</text>",
      kWidth, height, kWidth, height, html_escape(title), html_escape(title));
}

std::string axis_lines(const Plot& plot, const AxisLayout& x, const AxisLayout& y) {
  std::string svg;
  for (const double tick : y.ticks) {
    const double at = y.scale.place(tick);
    svg += fmt::format("<line class='grid' x1='{:g}' x2='{:g}' y1='{:.1f}' y2='{:.1f}'/>", kLeft, kWidth - kRight, at, at);
    svg += text_at(kLeft - 6, at + 4, "end", tick_text(tick));
  }
  for (const double tick : x.ticks) {
    const double at = x.scale.place(tick);
    svg += fmt::format("<line class='grid' x1='{:.1f}' x2='{:.1f}' y1='{:g}' y2='{:g}'/>", at, at, kTop, kHeight - kBottom);
    svg += text_at(at, kHeight - kBottom + 16, "middle", tick_text(tick));
  }
  svg += text_at((kLeft + kWidth - kRight) / 2, kHeight - kBottom + 34, "middle", plot.x.label);
  svg += fmt::format("<text transform='translate(16 {:.1f}) rotate(-90)' text-anchor='middle'>{}</text>",
                     (kTop + kHeight - kBottom) / 2, html_escape(plot.y.label));
  return svg;
}

// The points that the axes have a place for.
std::string series_marks(const Plot& plot, size_t index, const AxisLayout& x, const AxisLayout& y) {
  const PlotSeries& series = plot.series[index];
  std::string path;
  std::string marks;
  for (const PlotPoint& point : series.points) {
    if ((plot.x.is_log && point.x <= 0) || (plot.y.is_log && point.y <= 0)) continue;
    const double left = x.scale.place(point.x);
    const double top = y.scale.place(point.y);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", left, top);
    if (series.is_bound) continue;
    marks += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3.5' fill='{}'><title>{:g}, {:g}</title></circle>", left, top,
                         colour(index), point.x, point.y);
    const bool is_right = left > kWidth * 0.75;
    if (!point.label.empty()) marks += text_at(left + (is_right ? -7 : 7), top - 7, is_right ? "end" : "start", point.label);
  }
  if (!series.is_line && !series.is_bound) return marks;
  return fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='2'{}/>", path, colour(index),
                     series.is_bound ? " stroke-dasharray='5 4'" : "") +
         marks;
}

std::string legend(const std::vector<std::string>& names, double y) {
  std::string svg;
  double x = kWidth - kRight;
  for (size_t i = names.size(); i-- > 0;) {
    svg += text_at(x, y, "end", names[i]);
    x -= 7.6 * static_cast<double>(names[i].size()) + 16;
    svg += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='9' height='9' fill='{}'/>", x, y - 9, colour(i));
    x -= 12;
  }
  return svg;
}

double greatest(const Bars& bars) {
  double most = 0;
  for (const std::vector<double>& series : bars.values) {
    for (const double value : series) most = std::max(most, value);
  }
  return most > 0 ? most : 1;
}

}  // namespace

std::string html_escape(std::string_view text) {
  std::string result;
  for (const char symbol : text) {
    switch (symbol) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += static_cast<unsigned char>(symbol) < 0x20 && symbol != '\n' ? ' ' : symbol;
    }
  }
  return result;
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
      "<title>{}</title><style>{}</style></head><body>\n<h1>{}</h1>\n{}\n</body></html>\n",
      html_escape(title), kStyle, html_escape(title), body);
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string html = "<div class='scroll'><table>\n";
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string_view tag = row == 0 ? "th" : "td";
    html += "<tr>";
    for (const std::string& cell : rows[row]) html += fmt::format("<{}>{}</{}>", tag, html_escape(cell), tag);
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string svg_plot(const Plot& plot) {
  std::vector<double> xs;
  std::vector<double> ys;
  std::vector<std::string> names;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      xs.push_back(point.x);
      ys.push_back(point.y);
    }
    names.push_back(series.name);
  }
  const AxisLayout x = lay_out(plot.x, xs, kLeft, kWidth - kRight);
  const AxisLayout y = lay_out(plot.y, ys, kHeight - kBottom, kTop);
  std::string svg = svg_begin(kHeight, plot.title) + axis_lines(plot, x, y);
  for (size_t i = 0; i < plot.series.size(); ++i) svg += series_marks(plot, i, x, y);
  return svg + legend(names, 18) + "</svg>\n";
}

std::string svg_bars(const Bars& bars) {
  const double group = kBarHeight * static_cast<double>(bars.series.size()) + 8;
  const double scale = (kWidth - kBarLeft - 90) / greatest(bars);
  std::string svg = svg_begin(kTop + group * static_cast<double>(bars.names.size()) + 8, bars.title);
  for (size_t name = 0; name < bars.names.size(); ++name) {
    const double top = kTop + group * static_cast<double>(name);
    svg += text_at(kBarLeft - 8, top + group / 2, "end", bars.names[name]);
    for (size_t series = 0; series < bars.values.size(); ++series) {
      const double value = bars.values[series][name];
      const double y = top + kBarHeight * static_cast<double>(series);
      svg += fmt::format("<rect x='{:g}' y='{:.1f}' width='{:.1f}' height='{:g}' fill='{}'/>", kBarLeft, y,
                         std::max(1.0, value * scale), kBarHeight - 2, colour(series));
      svg += text_at(kBarLeft + std::max(1.0, value * scale) + 5, y + kBarHeight - 4, "start",
                     fmt::format("{:.4g}{}", value, bars.unit));
    }
  }
  return svg + (bars.series.size() > 1 ? legend(bars.series, 18) : "") + "</svg>\n";
}

std::string svg_columns(const Bars& bars) {
  const std::vector<double>& values = bars.values.front();
  const AxisLayout y = lay_out({bars.unit}, values, kHeight - kBottom, kTop);
  const double width = (kWidth - kLeft - kRight) / static_cast<double>(std::max<size_t>(1, values.size()));
  std::string svg = svg_begin(kHeight, bars.title) + axis_lines({{}, {}, {bars.unit}, {}}, {}, y);
  const size_t every = std::max<size_t>(1, static_cast<size_t>(std::ceil(52 / width)));
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = kLeft + width * static_cast<double>(i);
    const double top = y.scale.place(values[i]);
    svg += fmt::format("<rect x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' fill='{}'><title>{}: {:g}</title></rect>",
                       x + 1, top, std::max(1.0, width - 2), kHeight - kBottom - top, colour(0), html_escape(bars.names[i]),
                       values[i]);
    if (i % every == 0) svg += text_at(x + width / 2, kHeight - kBottom + 16, "middle", bars.names[i]);
  }
  return svg + "</svg>\n";
}

}  // namespace inlay
