#include "model/disentangled.h"

#include <algorithm>
#include <cmath>

namespace inlay {
namespace {

constexpr int kBlock = 32;  // queries whose biases are in memory at a time

// Products of `rows` vectors with positions [first, last], which land in the columns of those numbers.
struct Products {
  const PackedLinear* positions;
  const float* x;
  int64_t stride;
  int rows;
  int first, last;
};

void multiply(const Kernels& kernels, const Products& p, std::vector<float>& out) {
  const PanelLayout& layout = kernels.panel(Format::kF32);
  GemmArgs args;
  args.a = p.x;
  args.a_stride = p.stride * static_cast<int64_t>(sizeof(float));
  args.b = p.positions->panels();
  args.rows = p.rows;
  args.k = p.positions->shape().padded_k;
  args.panel_begin = p.first / layout.panel_columns;
  args.panel_end = p.last / layout.panel_columns + 1;
  args.bias = p.positions->bias();
  args.c = out.data();
  args.c_stride = p.positions->shape().padded_columns;
  kernels.gemm[static_cast<int>(Format::kF32)](args);
}

}  // namespace

// Source: He et al. 2021 and transformers' make_log_bucket_position, with its floats.
int log_bucket(int distance, int buckets, int farthest) {
  const int middle = buckets / 2;
  const int size = std::abs(distance) < middle ? middle - 1 : std::abs(distance);
  if (size <= middle) return distance;
  const float ratio =
      std::log(static_cast<float>(size) / static_cast<float>(middle)) / std::log(static_cast<float>((farthest - 1.0) / middle));
  const int bucket = static_cast<int>(std::ceil(ratio * static_cast<float>(middle - 1))) + middle;
  return distance < 0 ? -bucket : bucket;
}

// One head of one text, and the memory that its thread works in.
struct Disentangled::Item {
  AttentionArgs args;
  int head = 0;
  std::vector<float> by_query, by_key, bias;
};

void Disentangled::run_item(const Kernels& kernels, Item& item) const {
  AttentionArgs& a = item.args;
  const int first = row_of(1 - a.length);
  const int last = row_of(a.length - 1);
  const size_t head = static_cast<size_t>(item.head);
  const bool has_query = !parts_.for_queries.empty();
  const bool has_key = !parts_.for_keys.empty();
  const float* q = static_cast<const float*>(a.q);
  const float* k = static_cast<const float*>(a.k);
  if (has_query) multiply(kernels, {&parts_.for_queries[head], q, a.stride, a.length, first, last}, item.by_query);
  if (has_key) multiply(kernels, {&parts_.for_keys[head], k, a.stride, a.length, first, last}, item.by_key);
  const PackedLinear& shape = has_query ? parts_.for_queries[head] : parts_.for_keys[head];
  const int64_t width = shape.shape().padded_columns;
  a.bias_stride = a.length;
  a.is_packed = false;
  for (int begin = 0; begin < a.length; begin += kBlock) {
    a.query_begin = begin;
    a.query_end = std::min(a.length, begin + kBlock);
    for (int i = begin; i < a.query_end; ++i) {
      float* out = item.bias.data() + int64_t{i - begin} * a.length;
      for (int j = 0; j < a.length; ++j) {
        const int row = row_of(i - j);
        float sum = 0;
        if (has_query) sum += item.by_query[static_cast<size_t>(i * width + row)];
        if (has_key) sum += item.by_key[static_cast<size_t>(j * width + row)];
        out[j] = sum * parts_.scale;
      }
    }
    a.bias = item.bias.data() - int64_t{begin} * a.length;
    kernels.attention_f32(a);
    a.is_packed = true;
  }
}

void Disentangled::run(const Kernels& kernels, const Share& share, const AttentionOp& op) const {
  int longest = 0;
  const int sequences = static_cast<int>(op.starts.size()) - 1;
  for (int i = 0; i < sequences; ++i) longest = std::max(longest, op.starts[i + 1] - op.starts[i]);
  Item item;
  for (const auto& [positions, memory] :
       {std::pair(&parts_.for_queries, &item.by_query), std::pair(&parts_.for_keys, &item.by_key)}) {
    if (!positions->empty()) memory->resize(static_cast<size_t>(longest) * positions->front().shape().padded_columns);
  }
  item.bias.resize(static_cast<size_t>(kBlock) * longest + kBiasPadding);
  const int64_t hidden = int64_t{op.heads} * op.head_dim;
  item.args.stride = op.stride;
  item.args.out_stride = op.out_stride;
  item.args.head_dim = op.head_dim;
  item.args.scale = parts_.scale;
  item.args.scratch = op.scratch;
  for (int i = share.rank; i < sequences * op.heads; i += share.size) {
    const int begin = op.starts[i / op.heads];
    item.head = i % op.heads;
    item.args.length = op.starts[i / op.heads + 1] - begin;
    const float* q = static_cast<const float*>(op.qkv) + begin * op.stride + int64_t{item.head} * op.head_dim;
    item.args.q = q;
    item.args.k = q + hidden;
    item.args.v = q + 2 * hidden;
    item.args.out = static_cast<float*>(op.out) + begin * op.out_stride + int64_t{item.head} * op.head_dim;
    run_item(kernels, item);
    share.give_way();
  }
}

double Disentangled::flop_per_token(int length) const {
  double total = 0;
  for (const std::vector<PackedLinear>* heads : {&parts_.for_queries, &parts_.for_keys}) {
    for (const PackedLinear& head : *heads) total += 2.0 * std::min(2 * length, head.shape().columns) * head.shape().k;
  }
  return total;
}

void Disentangled::count(WeightBytes& bytes) const {
  for (const std::vector<PackedLinear>* heads : {&parts_.for_queries, &parts_.for_keys}) {
    for (const PackedLinear& head : *heads) bytes.add(head);
  }
}

}  // namespace inlay
