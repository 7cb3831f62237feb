// tests/data/weights/torch holds files that torch wrote, and the same numbers as safetensors; tools/make_weight_files.py made
// them.
#include "weights/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "weights/test_files.h"
#include "weights/weight_store.h"

namespace inlay {
namespace {

using testing::HasSubstr;

const std::string kTorchFolder = "tests/data/weights/torch/";

WeightStore open(const std::string& file) {
  Result<WeightStore> store = WeightStore::open_file(kTorchFolder + file);
  INLAY_CHECK(store.has_value(), store.error().message.c_str());
  return *std::move(store);
}

Error torch_error(std::string_view bytes) {
  const Result<std::vector<StoredTensor>> tensors = read_torch_file(as_bytes(bytes), "m.bin");
  return tensors ? Error{ErrorCode::kInternal, "no error"} : tensors.error();
}

void expect_equal(const TensorView& found, const TensorView& wanted, const std::string& what) {
  ASSERT_EQ(found.dtype, wanted.dtype) << what;
  ASSERT_EQ(found.shape, wanted.shape) << what;
  if (!is_float_type(wanted.dtype)) {
    ASSERT_TRUE(found.is_row_major()) << what;
    ASSERT_TRUE(std::equal(found.bytes.begin(), found.bytes.end(), wanted.bytes.begin(), wanted.bytes.end())) << what;
    return;
  }
  const size_t count = static_cast<size_t>(wanted.element_count());
  std::vector<float> a(count);
  std::vector<float> b(count);
  ASSERT_TRUE(to_float(found, 0, a).has_value()) << what;
  ASSERT_TRUE(to_float(wanted, 0, b).has_value()) << what;
  ASSERT_EQ(a, b) << what;
  // In parts that begin and end within rows, as rows of a fused matrix are read.
  for (size_t begin = 0; begin + 5 <= count; begin += 3) {
    std::array<float, 5> part = {};
    ASSERT_TRUE(to_float(found, static_cast<int64_t>(begin), part).has_value()) << what;
    ASSERT_TRUE(std::equal(part.begin(), part.end(), b.begin() + static_cast<std::ptrdiff_t>(begin))) << what << begin;
  }
}

// All tensors of the reference that are floats or, if `all`, of any type.
void expect_reference(const WeightStore& store, bool all) {
  const WeightStore reference = open("ugly.safetensors");
  size_t count = 0;
  for (const std::string& name : reference.names()) {
    if (!all && !is_float_type(reference.find(name)->dtype)) continue;
    ++count;
    ASSERT_NE(store.find(name), nullptr) << name;
    expect_equal(*store.find(name), *reference.find(name), name);
  }
  EXPECT_EQ(store.names().size(), count);
}

TEST(TorchFile, HoldsTheNumbersThatTorchWrote) { expect_reference(open("zip.bin"), true); }
TEST(TorchFile, TheFormBeforeZipHoldsThemToo) { expect_reference(open("before-zip.bin"), true); }
TEST(TorchFile, NewerPickleProtocolsHoldThemToo) { expect_reference(open("protocol4.bin"), true); }
TEST(TorchFile, ParametersInACheckpointAreFound) { expect_reference(open("checkpoint.pt"), false); }

TEST(TorchFile, RowMajorTensorsAreUsedInPlace) {
  const WeightStore store = open("zip.bin");
  for (const char* name : {"f32", "rows", "one row", "scalar"}) EXPECT_TRUE(store.find(name)->is_row_major()) << name;
  for (const char* name : {"transposed", "columns", "permuted"}) EXPECT_FALSE(store.find(name)->is_row_major()) << name;
}

TEST(TorchFile, HeadsOfOtherModelsAreRead) {
  const WeightStore store = open("sparse_linear.pt");
  EXPECT_EQ(store.find("weight")->shape, (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(store.find("weight")->dtype, DType::kF16);
}

TEST(TorchFile, RepeatedElementsOnlyMatterToWhoAsks) {
  const WeightStore store = open("repeated.bin");
  EXPECT_NE(store.find("f32"), nullptr);
  EXPECT_EQ(store.find("repeated"), nullptr);
  EXPECT_THAT(store.get("repeated").error().message, HasSubstr("'F32, with elements that repeat'"));
}

TEST(TorchFile, CodeIsRefusedByName) {
  for (const char* file : {"hostile.bin", "hostile-before-zip.bin"}) {
    const Error error = torch_error(read_test_file(kTorchFolder + file));
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << file;
    EXPECT_THAT(error.message, HasSubstr("m.bin: pickle: it wants 'posix.system', and only tensors"));
  }
  EXPECT_THAT(torch_error(read_test_file(kTorchFolder + "module.bin")).message, HasSubstr("'torch.nn.modules.linear.Linear'"));
}

TEST(TorchFile, EveryTruncationIsAnError) {
  for (const char* file : {"zip.bin", "before-zip.bin"}) {
    const std::string whole = read_test_file(kTorchFolder + file);
    for (size_t size = 0; size < whole.size(); ++size) {
      const Error error = torch_error(std::string_view(whole).substr(0, size));
      ASSERT_NE(error.code, ErrorCode::kInternal) << file << " cut to " << size;
    }
  }
}

TEST(TorchFile, OtherFilesAreNamed) {
  EXPECT_THAT(torch_error("version https://git-lfs.github.com/spec/v1\n").message, HasSubstr("Git LFS pointer"));
  EXPECT_THAT(torch_error("").message, HasSubstr("no file of torch.save"));
  EXPECT_THAT(torch_error("\x80\x02K\x05.\x80\x02K\x05.\x80\x02K\x05.\x80\x02K\x05.\x80\x02K\x05.").message,
              HasSubstr("not one that torch.save wrote"));
}

}  // namespace
}  // namespace inlay
