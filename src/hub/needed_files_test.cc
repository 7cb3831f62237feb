#include "hub/needed_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlay {
namespace {

using testing::ElementsAre;

TEST(NeededFiles, OneFormatOfWeightsIsTaken) {
  EXPECT_THAT(needed_files({"README.md", "config.json", "model.safetensors", "onnx/model.onnx", "pytorch_model.bin",
                            "tf_model.h5", "tokenizer.json", "training_args.bin"}),
              ElementsAre("config.json", "model.safetensors", "tokenizer.json"));
  EXPECT_THAT(
      needed_files({"config.json", "onnx/model.onnx", "onnx/model.onnx_data", "onnx/model_O2.onnx", "pytorch_model.bin"}),
      ElementsAre("config.json", "pytorch_model.bin"));
  EXPECT_THAT(needed_files({"config.json", "onnx/model.onnx", "onnx/model.onnx_data", "onnx/model_O2.onnx"}),
              ElementsAre("config.json", "onnx/model.onnx", "onnx/model.onnx_data"));
  EXPECT_THAT(needed_files({"m-Q4_K_M.gguf", "m-f16.gguf", "m-f32.gguf"}), ElementsAre("m-f16.gguf"));
}

TEST(NeededFiles, ShardsComeWithTheirIndex) {
  EXPECT_THAT(
      needed_files({"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json",
                    "pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json", "config.json"}),
      ElementsAre("config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                  "model.safetensors.index.json"));
}

TEST(NeededFiles, ModulesBringTheirOwnWeights) {
  EXPECT_THAT(needed_files({"1_Pooling/config.json", "2_Dense/config.json", "2_Dense/pytorch_model.bin", "colbert_linear.pt",
                            "config.json", "eval/results.json", "imgs/config.json", "model.safetensors", "modules.json",
                            "sentence_bert_config.json", "sparse_linear.pt"}),
              ElementsAre("1_Pooling/config.json", "2_Dense/config.json", "2_Dense/pytorch_model.bin", "colbert_linear.pt",
                          "config.json", "model.safetensors", "modules.json", "sentence_bert_config.json", "sparse_linear.pt"));
}

TEST(NeededFiles, PathsThatLeaveTheFolderAreLeftOut) {
  EXPECT_THAT(needed_files({"../config.json", "/config.json", "1_Pooling/../../config.json", "a\\config.json", "config.json"}),
              ElementsAre("config.json"));
}

}  // namespace
}  // namespace inlay
