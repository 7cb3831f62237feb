// tests/data/weights/bert-cls-onnx holds the golden model bert-cls-dense as torch's exporter writes it;
// tools/make_weight_files.py made it.
#include "weights/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "weights/test_files.h"
#include "weights/test_values.h"
#include "weights/weight_store.h"

namespace inlay {
namespace {

using testing::HasSubstr;

const std::string kFolder = "tests/data/weights/bert-cls-onnx/";

std::string onnx_error(std::string_view bytes) {
  const Result<std::vector<OnnxTensor>> tensors = read_onnx(as_bytes(bytes), "m.onnx");
  return tensors ? "no error" : tensors.error().message;
}

// A message with one field that holds bytes; all are shorter than 128.
std::string field(int number, std::string_view bytes) {
  std::string text;
  text += static_cast<char>(number << 3 | 2);
  text += static_cast<char>(bytes.size());
  return text.append(bytes);
}

void expect_golden(const Result<WeightStore>& store, const std::string& what) {
  ASSERT_TRUE(store.has_value()) << what << ": " << store.error().message;
  const Result<WeightStore> golden = WeightStore::open("tests/golden/bert-cls-dense/model");
  ASSERT_TRUE(golden.has_value());
  size_t count = 0;
  for (const std::string& name : golden->names()) {
    const bool is_exported = name.starts_with("bert.") && !name.starts_with("bert.pooler.");
    if (!is_exported || !is_float_type(golden->find(name)->dtype)) continue;
    const std::string exported = "auto_model." + name.substr(5);
    const TensorView* found = store->find(exported);
    ASSERT_NE(found, nullptr) << what << ": " << exported;
    EXPECT_EQ(found->shape, golden->find(name)->shape) << what << ": " << name;
    EXPECT_EQ(floats_of(*found), floats_of(*golden->find(name))) << what << ": " << name;
    ++count;
  }
  EXPECT_EQ(count, 5U + 2U * 16U);
  EXPECT_EQ(store->names().size(), count) << what;
}

TEST(Onnx, HoldsTheWeightsThatWereExported) {
  for (const char* file : {"model.onnx", "unfolded.onnx", "external/model.onnx"}) {
    expect_golden(WeightStore::open_file(kFolder + file), file);
  }
  expect_golden(WeightStore::open(kFolder), "the folder");
}

TEST(Onnx, TheFolderOfOptimumIsRead) {
  const TestFolder folder;
  std::filesystem::copy(kFolder + "external", folder.path() / "onnx");
  expect_golden(WeightStore::open(folder.path()), "onnx/");
  std::filesystem::resize_file(folder.path() / "onnx/model.onnx_data", 1000);
  EXPECT_THAT(WeightStore::open(folder.path()).error().message, HasSubstr("of model.onnx_data, which has 1000; truncated?"));
  std::filesystem::remove(folder.path() / "onnx/model.onnx_data");
  EXPECT_THAT(WeightStore::open(folder.path()).error().message, HasSubstr("onnx/model.onnx names model.onnx_data: "));
}

TEST(Onnx, ExternalFilesLieBesideTheModel) {
  for (const char* location : {"../secret", "/etc/passwd", "", "..", "a\\b"}) {
    const std::string external = field(13, field(1, "location") + field(2, location));
    const std::string tensor = std::string("\x08\x01\x10\x01", 4) + field(8, "w") + external + std::string("\x70\x01", 2);
    EXPECT_THAT(onnx_error(field(7, field(5, tensor))), HasSubstr("tensor 'w': its external data is at no plain name"))
        << location;
  }
}

TEST(Onnx, OtherGraphsAreRefused) {
  const std::string tensor = field(5, std::string("\x08\x01\x10\x01", 4) + field(8, "w") + field(9, "abcd"));
  const std::string fused = field(1, field(4, "SkipLayerNormalization") + field(7, "com.microsoft"));
  EXPECT_THAT(onnx_error(field(7, tensor + fused)), HasSubstr("m.onnx: the graph was optimised, with layers fused"));
  EXPECT_THAT(onnx_error(field(7, tensor + field(1, field(4, "MatMulInteger")))), HasSubstr("the graph was quantised"));
  EXPECT_EQ(onnx_error(field(7, tensor)), "no error");
}

TEST(Onnx, BrokenFilesAreErrors) {
  EXPECT_THAT(onnx_error(""), HasSubstr("without weights"));
  EXPECT_THAT(onnx_error("\xff\xff\xff"), HasSubstr("m.onnx: no ONNX model"));
  const std::string tensor = field(5, std::string("\x08\x02\x10\x01", 4) + field(8, "w") + field(9, "abcd"));
  EXPECT_THAT(onnx_error(field(7, tensor)), HasSubstr("tensor 'w': 4 bytes, its shape 2 takes 8"));
  const std::string whole = read_test_file(kFolder + "external/model.onnx");
  for (size_t size = 0; size < whole.size(); size += 1 + size / 200) {
    [[maybe_unused]] const std::string message = onnx_error(whole.substr(0, size));
  }
}

}  // namespace
}  // namespace inlay
