#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/auth.h"

namespace inlay {
namespace {

using testing::HasSubstr;

TEST(MetricHistogram, PutsValuesUnderTheirBound) {
  MetricHistogram distribution(1);
  for (const double value : {0.0, 1.0, 1.2, 1.5, 1.6, 1e30}) distribution.observe(value);
  std::string text;
  distribution.write(text, "x");
  EXPECT_THAT(text, HasSubstr("x_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("x_bucket{le=\"1.5\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("x_bucket{le=\"2.25\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("x_bucket{le=\"+Inf\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("x_count 6\n"));
}

TEST(ApiKeys, BelongToTenants) {
  ApiKeys keys;
  EXPECT_TRUE(keys.empty());
  ASSERT_TRUE(keys.add("a:first-key"));
  ASSERT_TRUE(keys.add("second-key"));
  EXPECT_FALSE(keys.add("short"));
  EXPECT_FALSE(keys.add(""));
  EXPECT_EQ(keys.tenant("Bearer first-key"), "a");
  EXPECT_EQ(keys.tenant("BEARER   second-key "), "key-2");
  EXPECT_EQ(keys.tenant("Bearer first-key second-key"), std::nullopt);
  EXPECT_EQ(keys.tenant(""), std::nullopt);
}

}  // namespace
}  // namespace inlay
