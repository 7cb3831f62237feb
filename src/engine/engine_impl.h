// What an engine is made of; for the files of this folder only.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/team.h"
#include "engine/engine.h"
#include "model/classifier.h"
#include "model/encoder.h"
#include "model/head.h"
#include "model/sparse_head.h"
#include "model/token_head.h"
#include "weights/packed_store.h"
#include "weights/weight_store.h"

namespace inlay {

class EngineLane {
 public:
  EngineLane(const ComputePlan& plan, const EncoderSizes& sizes, int max_tokens, int ranks)
      : workspace(plan, sizes, max_tokens, ranks) {}

  LaneMemory bytes() const {
    const uint64_t head = vector_memory.bytes() + score_memory.bytes() + token_memory.bytes() + sparse_memory.bytes();
    return {workspace.bytes() + head, workspace.touched_bytes() + head};
  }

  Workspace workspace;
  PackedBatch batch;
  std::vector<int> prompt_tokens;
  std::vector<OutputSet> outputs;              // by text
  std::vector<bool> queries;                   // by text
  std::vector<std::vector<TokenSpan>> chunks;  // by text
  OutputSet any_output;                        // of any text
  RowMemory vector_memory, score_memory, token_memory;
  SparseMemory sparse_memory;
};

struct Engine::Impl {
  Impl(ModelSpec model_spec, WeightStore model_weights) : spec(std::move(model_spec)), weights(std::move(model_weights)) {}

  ModelSpec spec;
  std::optional<Tokenizer> tokenizer;  // none if only token ids are taken
  WeightStore weights;
  std::optional<PackedStore> packed;  // holds what the encoder maps
  uint64_t tokenizer_bytes = 0;
  Precision precision = Precision::kFloat32;
  BlobArena arena;  // packed matrices
  LoadPlan plan;
  std::unique_ptr<Team> team;
  std::unique_ptr<Encoder> encoder;
  OutputSet outputs;
  Head head;
  std::optional<Classifier> classifier;
  std::optional<SparseHead> sparse;
  TokenHead tokens;
  std::optional<int32_t> fill_id;  // what fills queries up; none without a tokenizer
  std::string prompt;
  int prompt_tokens = 0;
  int max_length = 0;
  int max_batch_tokens = 0;
  EncodeOptions encode_options;
  // Lanes of embed(), made when first needed; the first has scratch for the whole team.
  std::mutex lanes_mutex;
  std::vector<EngineLanePtr> lanes;

  uint64_t head_bytes() const;
  int max_lane_tokens() const;
  Result<> load_weights(const EngineOptions& options, const Kernels& table);
  Result<> load_heads(const EngineOptions& options, const Kernels& table);
  EngineLanePtr make_lane(int ranks) const;
  // Whether the text may run: its length and its ids; check() asks also whether the model gives what it wants.
  Result<> check_ids(const TokenizedText& text) const;
  Result<> check(const TokenizedText& text) const;
  std::vector<float> pool_chunks(EngineLane& lane, int text) const;
  Result<TokenizedText> tokenize_judgement(std::string_view query, std::string_view text, const TextOptions& options) const;
  Result<EncodeOptions> encode_options_for(const TextOptions& options, bool is_pair) const;
  int most_tokens(const TextOptions& options) const;
  void fill_up(TokenizedText& query) const;
  // Takes the texts in as the lane's batch.
  void fill(EngineLane& lane, std::span<const TokenizedText* const> texts) const;
  // One thread's share of the forward pass; once it returns, every thread is done with its own.
  void run(EngineLane& lane, const Share& share) const;
  // Pools the batch into `out` [texts, dimensions] and sets status[i] for a vector that is not finite; makes ready what
  // collect() gives.
  void finish(EngineLane& lane, float* out, std::span<Result<>> status) const;
  Result<> collect(EngineLane& lane, int text, TextOutput& output) const;
};

// Leading tokens that pooling leaves out where the folder says so: those of the prompt alone, without the special token that
// ends every text.
Result<int> count_prompt_tokens(const Tokenizer& tokenizer, const std::string& prompt, const EncodeOptions& options);
// Whether pooling takes the prompt in.
bool pools_prompt(const ModelSpec& spec);

}  // namespace inlay
