// Engine::run and embed: many texts over every thread, as lanes or as one team.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "engine/engine_impl.h"

namespace inlay {
namespace {

// Below this many tokens a team that splits the layers beats lanes that each stream all weights for a few rows.
constexpr int64_t kTeamTokens = 96;

// A lone batch, or one text that outweighs the rest, leaves lanes idle: then the threads share its layers instead.
bool suits_team(std::span<const int> lengths, int64_t total, int threads) {
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  return threads > 1 && (total <= kTeamTokens || longest * threads > total + longest / 4);
}

}  // namespace

// The texts of one call, their batches, and their results.
class EmbedCall {
 public:
  EmbedCall(const Engine::Impl& engine, std::span<const TokenizedText> texts)
      : engine_(engine), texts_(texts), results_(texts.size()) {}

  std::vector<Result<TextOutput>> take_results() { return std::move(results_); }

  // Keeps the texts that may run and forms their batches. False if there are none.
  bool plan(int max_batch_tokens) {
    std::vector<int> lengths;
    for (uint32_t i = 0; i < texts_.size(); ++i) {
      if (Result<> checked = engine_.check(texts_[i]); !checked) {
        results_[i] = tl::unexpected<Error>(std::move(checked).error());
        continue;
      }
      valid_.push_back(i);
      lengths.push_back(static_cast<int>(texts_[i].ids.size()));
    }
    if (valid_.empty()) return false;
    const int threads = engine_.team->size();
    const int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    as_team_ = suits_team(lengths, total, threads);
    const int64_t fair = (total + threads - 1) / threads;
    batches_ = plan_batches(lengths, static_cast<int>(as_team_ ? max_batch_tokens : std::min<int64_t>(max_batch_tokens, fair)));
    return true;
  }

  void run(const Share& share, std::span<const EngineLanePtr> lanes) {
    if (as_team_) return run_as_team(share, *lanes[0]);
    EngineLane& lane = *lanes[share.rank];
    for (size_t at = next_.fetch_add(1); at < batches_.size(); at = next_.fetch_add(1)) {
      gather(lane, batches_[at]);
      engine_.run(lane, Share{});
      scatter(lane, batches_[at]);
    }
  }

 private:
  void run_as_team(const Share& share, EngineLane& lane) {
    for (const std::vector<uint32_t>& batch : batches_) {
      if (share.rank == 0) gather(lane, batch);
      share.sync();
      engine_.run(lane, share);
      if (share.rank == 0) scatter(lane, batch);
      share.sync();
    }
  }

  void gather(EngineLane& lane, const std::vector<uint32_t>& batch) const {
    std::vector<const TokenizedText*> members;
    for (const uint32_t index : batch) members.push_back(&texts_[valid_[index]]);
    engine_.fill(lane, members);
  }

  void scatter(EngineLane& lane, const std::vector<uint32_t>& batch) {
    const size_t dimensions = static_cast<size_t>(engine_.head.dimensions());
    std::vector<float> out(lane.any_output.has(OutputKind::kVector) ? batch.size() * dimensions : 0);
    std::vector<Result<>> status(batch.size());
    engine_.finish(lane, out.data(), status);
    for (size_t i = 0; i < batch.size(); ++i) {
      Result<TextOutput>& result = results_[valid_[batch[i]]];
      if (status[i]) status[i] = engine_.collect(lane, static_cast<int>(i), *result);
      if (!status[i]) {
        result = tl::unexpected<Error>(std::move(status[i]).error());
        continue;
      }
      const float* vector = out.data() + i * dimensions;
      if (lane.outputs[i].has(OutputKind::kVector)) result->vector.assign(vector, vector + dimensions);
    }
  }

  const Engine::Impl& engine_;
  std::span<const TokenizedText> texts_;
  std::vector<Result<TextOutput>> results_;
  std::vector<uint32_t> valid_;                 // texts that may run
  std::vector<std::vector<uint32_t>> batches_;  // of indices into valid_
  bool as_team_ = false;
  std::atomic<size_t> next_ = 0;
};

std::vector<Result<TextOutput>> Engine::run(std::span<const TokenizedText> texts) const {
  EmbedCall call(*impl_, texts);
  if (!call.plan(max_batch_tokens())) return call.take_results();
  const std::lock_guard<std::mutex> lock(impl_->lanes_mutex);
  while (impl_->lanes.size() < static_cast<size_t>(impl_->team->size())) {
    impl_->lanes.push_back(impl_->make_lane(impl_->lanes.empty() ? impl_->team->size() : 1));
  }
  impl_->team->run([&](const Share& share) { call.run(share, impl_->lanes); });
  return call.take_results();
}

std::vector<Result<std::vector<float>>> Engine::embed(std::span<const TokenizedText> texts) const {
  std::vector<Result<std::vector<float>>> vectors;
  vectors.reserve(texts.size());
  for (Result<TextOutput>& output : run(texts)) {
    vectors.push_back(std::move(output).map([](TextOutput found) { return std::move(found.vector); }));
  }
  return vectors;
}

}  // namespace inlay
