#include "engine/validation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_folder.h"

namespace inlay {
namespace {

using testing::HasSubstr;

std::string report(bool passed) {
  return fmt::format(
      R"({{"verdict":{{"passed":{},"reasons":[{}]}},"created":"2026-01-02T03:04:05Z","candidate":{{"texts_per_s":9.5}},)"
      R"("reference":{{"dtype":"float32"}},"distance":{{"texts":7,"p99":0.25}},"retrieval":{{"all":{{"recall_5_loss":0.5}},"de":{{"recall_5_loss":0.25}},"ja":{{"recall_5_loss":0.75}}}}}})",
      passed, passed ? "" : "\"too far off\"");
}

class ValidationRecord : public testing::Test {
 protected:
  ValidationRecord() { folder_.write("model.safetensors", std::string(100000, 'w')); }

  void store(Precision precision, bool passed) { ASSERT_TRUE(store_validation(folder_.path(), precision, report(passed))); }
  std::vector<ValidationSummary> read() { return read_validations(folder_.path()).value(); }
  std::string warning(Precision precision) { return validation_warning(folder_.path(), precision).value_or(""); }

  TestFolder folder_;
};

TEST_F(ValidationRecord, ComesBackAsItWasStored) {
  EXPECT_TRUE(read().empty());
  store(Precision::kInt8, false);
  ASSERT_EQ(read().size(), 1U);
  const ValidationSummary summary = read().front();
  EXPECT_EQ(summary.dtype, "int8");
  EXPECT_EQ(summary.reference_dtype, "float32");
  EXPECT_FALSE(summary.passed);
  EXPECT_EQ(summary.reasons, std::vector<std::string>{"too far off"});
  EXPECT_EQ(summary.texts, 7U);
  EXPECT_EQ(summary.p99, 0.25);
  EXPECT_EQ(summary.recall_5_loss, 0.5);
  EXPECT_EQ(summary.texts_per_second, 9.5);
  const std::vector<std::pair<std::string, double>> by_language = {{"de", 0.25}, {"ja", 0.75}};
  EXPECT_EQ(summary.recall_5_loss_by_language, by_language);
  EXPECT_FALSE(summary.is_stale);
  EXPECT_THAT(validation_text(summary), HasSubstr("int8: not suited, P99 0.25000 over 7 texts, Recall@5 50.00 % lost"));
}

TEST_F(ValidationRecord, IsFoundByPrecision) {
  EXPECT_FALSE(find_validation(folder_.path(), Precision::kInt8));
  store(Precision::kInt8, true);
  EXPECT_TRUE(find_validation(folder_.path(), Precision::kInt8));
  EXPECT_FALSE(find_validation(folder_.path(), Precision::kBFloat16));
  folder_.write(std::string(kValidationFile), "{");
  EXPECT_FALSE(find_validation(folder_.path(), Precision::kInt8));
}

TEST_F(ValidationRecord, KeepsOtherPrecisionsAndReplacesItsOwn) {
  store(Precision::kInt8, false);
  store(Precision::kBFloat16, true);
  store(Precision::kInt8, true);
  const std::vector<ValidationSummary> summaries = read();
  ASSERT_EQ(summaries.size(), 2U);
  EXPECT_TRUE(summaries[0].passed && summaries[1].passed);
}

TEST_F(ValidationRecord, WarnsOfWhatIsMissingFailedOrOld) {
  EXPECT_THAT(warning(Precision::kInt8), HasSubstr("nothing shows"));
  EXPECT_EQ(warning(Precision::kBFloat16), "");
  store(Precision::kInt8, true);
  EXPECT_EQ(warning(Precision::kInt8), "");
  store(Precision::kBFloat16, false);
  EXPECT_THAT(warning(Precision::kBFloat16), HasSubstr("too far off"));
  folder_.write("model.safetensors", std::string(100000, 'v'));
  EXPECT_THAT(warning(Precision::kInt8), HasSubstr("other weights"));
}

TEST_F(ValidationRecord, SeesWeightsOfModules) {
  store(Precision::kInt8, true);
  folder_.write("2_Dense/model.safetensors", "new");
  EXPECT_THAT(warning(Precision::kInt8), HasSubstr("other weights"));
}

TEST_F(ValidationRecord, SaysWhatIsWrongWithItsFile) {
  folder_.write(kValidationFile, "{\"reports\":{\"int8\":{\"verdict\":3}}}");
  EXPECT_THAT(read_validations(folder_.path()).error().message, HasSubstr("inlay-validation.json: reports.int8.verdict"));
  EXPECT_THAT(warning(Precision::kInt8), HasSubstr("verdict"));
  folder_.write(kValidationFile, "not JSON");
  EXPECT_THAT(warning(Precision::kInt8), HasSubstr("inlay-validation.json"));
  store(Precision::kInt8, true);
  EXPECT_EQ(warning(Precision::kInt8), "");
}

}  // namespace
}  // namespace inlay
