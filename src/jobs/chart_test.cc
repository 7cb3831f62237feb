#include "jobs/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlay {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Chart, SpellsOutWhatHtmlTakesForItsOwn) {
  EXPECT_EQ(html_escape("<a href='x'>\"&\"\x01"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot; ");
  EXPECT_THAT(html_table({{"head"}, {"<b>"}}), HasSubstr("<td>&lt;b&gt;</td>"));
  EXPECT_THAT(html_page("<t>", "body"), HasSubstr("<title>&lt;t&gt;</title>"));
}

TEST(Chart, PutsPointsWhereTheirValuesAre) {
  const Plot plot = {.title = "t",
                     .x = {.label = "x", .is_log = true, .has_powers_of_2 = true},
                     .y = {"y"},
                     .series = {{.name = "s", .points = {{64, 0}, {256, 100}}}}};
  const std::string svg = svg_plot(plot);
  // 64 at the left end and 0 at the foot; 256 at the right end; the axis ends 8 % above 100.
  EXPECT_THAT(svg, HasSubstr("cx='74.0' cy='266.0'"));
  EXPECT_THAT(svg, HasSubstr("cx='620.0' cy='56.7'"));
  EXPECT_THAT(svg, HasSubstr(">128</text>"));
}

TEST(Chart, LeavesOutWhatALogarithmicAxisCannotShow) {
  const Plot plot = {.title = "t",
                     .x = {"x"},
                     .y = {.label = "y", .is_log = true},
                     .series = {{.name = "s", .points = {{1, 0}, {2, 10}, {3, 1000}}}}};
  const std::string svg = svg_plot(plot);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, HasSubstr("<title>2, 10</title>"));
  EXPECT_THAT(svg, Not(HasSubstr("<title>1, 0</title>")));
}

TEST(Chart, DrawsNothingAtAllWithoutNumbers) {
  for (const std::string& svg :
       {svg_plot({.title = "t", .series = {}}), svg_bars({.title = "t", .series = {"a"}, .values = {{}}}),
        svg_columns({.title = "t", .series = {"a"}, .values = {{}}})}) {
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, HasSubstr("</svg>"));
  }
}

TEST(Chart, BarsAreAsLongAsTheirValues) {
  const std::string svg = svg_bars({.title = "t", .unit = "", .names = {"a", "b"}, .series = {"s"}, .values = {{2, 1}}});
  EXPECT_THAT(svg, HasSubstr("width='430.0'"));
  EXPECT_THAT(svg, HasSubstr("width='215.0'"));
}

}  // namespace
}  // namespace inlay
