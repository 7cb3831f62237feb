// An encoder turns token ids into hidden states. One file per architecture implements it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/embedding_table.h"
#include "backend/linear.h"
#include "backend/ops.h"
#include "base/result.h"
#include "base/team.h"
#include "model/model_spec.h"
#include "weights/packed_store.h"
#include "weights/weight_store.h"

namespace inlay {

// Texts lie end to end without padding: text i is tokens [starts[i], starts[i + 1]). Attention therefore needs no mask, only
// these bounds, and how many leading tokens of a text are seen; `starts` has one entry more than the batch has texts.
struct PackedBatch {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;
  std::vector<int> starts = {0};
  std::vector<int> keys;  // by text: the tokens that attention sees

  int tokens() const { return starts.back(); }
  int texts() const { return static_cast<int>(starts.size()) - 1; }
  void clear();
  // `types` may be empty: all 0. Attention sees the first `seen` tokens; 0: all.
  void add(std::span<const int32_t> text, std::span<const int32_t> types, int seen = 0);
};

// What the linear layers and attention of a model compute in.
struct ComputePlan {
  const Kernels* kernels = nullptr;
  Format format = Format::kF32;
  AttentionKind attention = AttentionKind::kF32;
  // Where q and k are turned or normalised between the product that makes them and attention.
  AttentionKind attention_of_changed = AttentionKind::kF32;
};

struct EncoderSizes {
  int hidden_size = 0;
  int heads = 0;
  int intermediate_size = 0;
  int kv_heads = 0;          // 0: as many as heads
  int head_dim = 0;          // 0: hidden_size / heads
  bool is_gated = false;     // the product up is twice as wide as the product down
  bool is_pre_norm = false;  // blocks read a normalised copy of the hidden states
  // q, k and v as the product leaves them, or floats first because they are changed before attention, or floats in attention.
  enum class Qkv : uint8_t { kAsMultiplied, kFloatFirst, kFloat } qkv = Qkv::kAsMultiplied;

  int qkv_columns() const {
    const int dim = head_dim == 0 ? hidden_size / heads : head_dim;
    return (heads + 2 * (kv_heads == 0 ? heads : kv_heads)) * dim;
  }
  int context_columns() const { return head_dim == 0 ? hidden_size : heads * head_dim; }
};

// Memory for one batch at a time: activations of at most `max_tokens` tokens and attention scratch for each thread of a team.
// Sized once; pages are touched only as far as batches need them.
class Workspace {
 public:
  Workspace(const ComputePlan& plan, const EncoderSizes& sizes, int max_tokens, int ranks);

  int max_tokens() const { return max_tokens_; }
  size_t bytes() const;
  size_t touched_bytes() const;  // the part that is resident

  Floats hidden() { return floats(hidden_, hidden_stride_); }  // [tokens, hidden_size]
  Floats normed() { return floats(normed_, hidden_stride_); }  // [tokens, hidden_size], of pre-norm encoders
  Floats feed() { return floats(feed_, feed_stride_); }        // [kFeedRows, intermediate_size], twice as wide when gated
  void* qkv() { return qkv_.as<>(); }                          // [tokens, qkv_columns()], float or bf16
  int64_t qkv_stride() const { return qkv_stride_; }
  Floats qkv_floats() { return floats(qkv_, qkv_stride_); }       // where qkv() holds floats
  uint16_t* narrow_qkv() { return narrow_qkv_.as<uint16_t>(); }   // of kFloatFirst with bf16 attention, else null
  Floats context() { return floats(context_, context_stride_); }  // [tokens, context_columns()]
  // What the kernels read in place of hidden(), context() and feed(); the same memory for float formats.
  Operand hidden_operand();
  Operand normed_operand();
  Operand context_operand();
  Operand feed_operand();
  void* attention_scratch(int rank) { return scratch_.as<>() + static_cast<size_t>(rank) * scratch_bytes_; }

  // The feed-forward block takes this many rows at a time, so that its wide activations stay in the cache and its memory stays
  // small for long texts.
  static constexpr int kFeedRows = 256;

 private:
  static Floats floats(Buffer& buffer, int64_t stride) { return {buffer.as<float>(), stride}; }
  Operand narrow(Floats rows, Buffer& codes, int64_t stride);

  ComputePlan plan_;
  int max_tokens_;
  int64_t hidden_stride_, context_stride_, feed_stride_, qkv_stride_;
  size_t scratch_bytes_;
  Buffer hidden_, normed_, feed_, qkv_, narrow_qkv_, context_, scratch_;
  Buffer hidden_codes_, feed_codes_;  // kBF16, kI8 and kI4
  Buffer scale_, minimum_;            // kI8 and kI4: [tokens]
};

// Bytes of weights, by where they lie.
struct WeightBytes {
  uint64_t own = 0;  // in memory of this process alone
  // In mapped files: resident as far as they are used, and then once for all processes that map them.
  uint64_t cached = 0;    // in the file of packed weights
  uint64_t in_place = 0;  // in the model's own files

  void add(const PackedLinear& linear) { (linear.is_borrowed() ? cached : own) += linear.bytes(); }
  void add(const EmbeddingTable& table) {
    (table.is_borrowed() ? cached : own) += table.bytes();
    in_place += table.source_bytes();
  }
};

struct EncoderMemory {
  WeightBytes linear;  // packed matrices with their biases and scales
  WeightBytes tables;  // embedding tables

  uint64_t packed_bytes() const { return linear.own + linear.cached + tables.own + tables.cached; }
};

class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual EncoderSizes sizes() const = 0;
  // Runs one thread's share of a forward pass; every thread of the team calls it with the same batch and workspace. The hidden
  // states of the last layer are in workspace.hidden() once all have returned and synchronised. Ids and lengths have been
  // checked.
  virtual void forward(const Share& share, const PackedBatch& batch, Workspace& workspace) const = 0;
  // Operations (two per multiply-add) for texts of these lengths.
  virtual double flop(std::span<const int> lengths) const = 0;
  virtual EncoderMemory memory() const = 0;
};

// Sees what an encoder is made of while it is loaded, so that tools need not know architectures.
class LinearVisitor {
 public:
  struct Layer {
    std::vector<std::string> weights;  // full names of the tensors, whose output features follow one another
    int columns = 0;
    int k = 0;
  };
  virtual ~LinearVisitor() = default;
  // Gives whoever wants to see the layer's inputs, or null. Called on the thread that loads.
  virtual InputObserver* linear(const Layer& layer) = 0;
  virtual void table(const std::string& name, int rows, int columns) = 0;
};

// How weights are stored for a precision.
struct LoadPlan {
  ComputePlan compute;
  EmbeddingTable::Storage tables = EmbeddingTable::Storage::kAsStored;
  BlobArena* arena = nullptr;     // where packed matrices come to lie; null: each on its own. Outlives the encoder.
  PackedStore* packed = nullptr;  // where packed weights are taken from and kept; null: nowhere. Outlives the encoder.
  // Of a folder whose weights are codes: layers that it holds as floats were left so on purpose, and are not made codes here.
  bool keeps_floats = false;
  LinearVisitor* visitor = nullptr;  // told of every linear layer and table; null: nobody. Outlives the encoder.
};

// Builds the encoder that the spec names; `weights` must outlive it. Tensors that were copied are released.
Result<std::unique_ptr<Encoder>> load_encoder(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                              Team& team);

}  // namespace inlay
