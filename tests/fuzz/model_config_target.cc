// The JSON files of a model folder, as fuzz_folder.h has them.
#include "base/check.h"
#include "fuzz_folder.h"
#include "fuzz_target.h"
#include "model/model_spec.h"
#include "weights/quantization_config.h"
#include "weights/shard_index.h"

namespace inlay {

bool fuzz_model_config(std::string_view bytes) {
  static FuzzFolder folder;
  folder.fill(bytes, {"config.json", "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json",
                      "tokenizer_config.json", "quantize_config.json", "model.safetensors.index.json", "1_Pooling/config.json",
                      "2_Dense/config.json", "3_Dense/config.json", "1_SpladePooling/config.json", "artifact.metadata",
                      "1_Dense/config.json", "2_MultiVectorMask/config.json", "3_Normalize/config.json"});
  static_cast<void>(read_quantization_config(folder.path()));
  static_cast<void>(read_shard_index(folder.path() / "model.safetensors.index.json", ".safetensors"));
  const Result<ModelSpec> spec = read_model_spec(folder.path());
  if (!spec) {
    INLAY_CHECK(!spec.error().message.empty(), "an error says what is wrong");
    return false;
  }
  const EncoderConfig& encoder = spec->encoder;
  INLAY_CHECK(encoder.hidden_size > 0 && encoder.layers > 0 && encoder.heads > 0, "sizes are checked before they are used");
  INLAY_CHECK(spec->max_length > 0 && spec->dimensions > 0, "a model takes and gives something");
  return true;
}

}  // namespace inlay
