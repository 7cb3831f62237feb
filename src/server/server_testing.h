// For tests: a model made of arithmetic, and a router that is asked without sockets.
#pragma once

#include <future>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "server/router.h"

namespace inlay {

// Tokens are words between two special ids, and a word's id is its length. The vector of a text is [3, 4, 12, number of ids].
class FakeService final : public EmbedService {
 public:
  FakeService() {
    facts_.name = "fake";
    facts_.id = "folder";
    facts_.dimensions = 4;
    facts_.max_length = 8;
    facts_.vocab_size = 1'000;
    facts_.prompts = {{"query", "ask: "}, {"passage", "say: "}};
    facts_.max_queue_tokens = 1'000;
    facts_.max_concurrent_requests = 4;
  }

  const ModelFacts& facts() const override { return facts_; }
  ModelFacts& facts() { return facts_; }

  Result<TokenizedText> tokenize(std::string_view text, const TextOptions& options) const override {
    const std::string whole = options.prompt.value_or("") + std::string(text);
    TokenizedText result;
    result.ids.push_back(101);
    for (const std::string_view word : split_words(whole)) result.ids.push_back(static_cast<int32_t>(word.size()));
    result.ids.push_back(102);
    const size_t limit = static_cast<size_t>(std::min(options.max_length.value_or(8), 8));
    if (result.ids.size() <= limit) return result;
    if (options.truncate_side == TruncationSide::kNone) {
      return fail(ErrorCode::kTooLarge, "`inputs` must have less than {} tokens. Given: {}", limit + 1, result.ids.size());
    }
    result.ids.resize(limit);
    result.truncated = true;
    return result;
  }

  Result<TokenizedText> tokenize_pair(std::string_view first, std::string_view second,
                                      const TextOptions& options) const override {
    return tokenize(std::string(first) + " " + std::string(second), options);
  }

  Result<TokenizedText> from_ids(std::span<const int64_t> ids) const override {
    TokenizedText result;
    for (const int64_t id : ids) {
      if (id < 0 || id >= facts_.vocab_size) return fail(ErrorCode::kInvalidArgument, "token id {} is not in 0 to 999", id);
      result.ids.push_back(static_cast<int32_t>(id));
    }
    return result;
  }

  Result<std::vector<TokenPiece>> pieces(std::string_view text, bool) const override {
    std::vector<TokenPiece> pieces;
    for (const std::string_view word : split_words(text))
      pieces.push_back({static_cast<int32_t>(word.size()), std::string(word), false});
    return pieces;
  }

  Result<std::string> decode(std::span<const int64_t> ids, bool) const override { return std::string(ids.size(), 'x'); }

  std::optional<Overload> submit(WorkRequest request, std::function<void(WorkResult)> done) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = request;
    if (overloaded_) return Overload{.reason = "Model is overloaded", .retry_after = std::chrono::milliseconds(250)};
    WorkResult result;
    for (const TokenizedText& text : request.texts) {
      if (text.ids.size() > 1 && text.ids[1] == failing_id_) {
        result.vectors.push_back(fail(ErrorCode::kInternal, "the vector is not finite (NaN or infinity)"));
      } else if (!text.outputs.has(OutputKind::kVector)) {
        result.vectors.push_back(std::vector<float>());
      } else {
        result.vectors.push_back(std::vector<float>{3, 4, 12, static_cast<float>(text.ids.size())});
      }
    }
    for (const TextOutput& output : outputs_of(request.texts)) result.outputs.push_back(output);
    done(std::move(result));
    return std::nullopt;
  }
  SchedulerMetrics scheduler() const override {
    SchedulerMetrics metrics;
    metrics.waiting[2] = {3, 40, std::chrono::milliseconds(1'500)};
    metrics.batch_tokens.add(200);
    metrics.lane_busy = {std::chrono::seconds(2)};
    return metrics;
  }
  bool drain(std::chrono::milliseconds) override { return true; }

  // Scores are numbers of ids, and so on.
  static std::vector<TextOutput> outputs_of(const std::vector<TokenizedText>& texts) {
    std::vector<TextOutput> outputs(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const float ids = static_cast<float>(texts[i].ids.size());
      if (texts[i].outputs.has(OutputKind::kScores)) outputs[i].scores = {ids};
      if (texts[i].outputs.has(OutputKind::kSparse)) outputs[i].sparse = {{7, ids}};
      if (texts[i].outputs.has(OutputKind::kTokens)) outputs[i].tokens = {1, {101}, {ids}};
    }
    return outputs;
  }

  void overload() { overloaded_ = true; }
  void fail_on(int32_t id) { failing_id_ = id; }
  WorkRequest last() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return last_;
  }

 private:
  ModelFacts facts_;
  std::mutex mutex_;
  WorkRequest last_;
  bool overloaded_ = false;
  int32_t failing_id_ = -1;
};

// A router over one fake.
class RouterUnderTest {
 public:
  explicit RouterUnderTest(RouterOptions options = {}, EmbedPolicy policy = {})
      : options_(std::move(options)),
        policy_(policy),
        router_(
            options_, context_, [] { return Gauges{}; }, [](const LoadRequest& request) { return load(request); }) {
    std::unique_ptr<FakeService> fake = std::make_unique<FakeService>();
    fake_ = fake.get();
    const Result<> added = models_.add(std::move(fake));
    INLAY_CHECK(added.has_value(), "the first model's name is free");
  }

  FakeService& fake() { return *fake_; }
  Metrics& metrics() { return metrics_; }
  EmbedPolicy& policy() { return policy_; }

  HttpResponse ask(HttpRequest request) {
    std::promise<HttpResponse> promise;
    router_.handle(std::move(request), [&promise](HttpResponse response) { promise.set_value(std::move(response)); });
    return promise.get_future().get();
  }
  HttpResponse post(const std::string& path, const std::string& body, HttpHeaders headers = {}) {
    HttpRequest request;
    request.method = HttpMethod::kPost;
    request.path = path;
    request.body = body;
    request.headers = std::move(headers);
    return ask(std::move(request));
  }
  HttpResponse get(const std::string& path, HttpHeaders headers = {}) {
    HttpRequest request;
    request.path = path;
    request.headers = std::move(headers);
    return ask(std::move(request));
  }
  std::vector<std::string> routes() const { return router_.routes(); }
  HttpResponse refuse(int status, std::string_view path) { return router_.refuse(status, "no", path); }

 private:
  static Result<std::unique_ptr<EmbedService>> load(const LoadRequest& request) {
    if (request.folder == "/missing") return fail(ErrorCode::kNotFound, "/missing: no such folder");
    std::unique_ptr<FakeService> fake = std::make_unique<FakeService>();
    fake->facts().name = request.name;
    return std::unique_ptr<EmbedService>(std::move(fake));
  }

  RouterOptions options_;
  EmbedPolicy policy_;
  ModelRegistry models_;
  FakeService* fake_ = nullptr;
  Metrics metrics_;
  WorkPool pool_{2};
  EmbedContext context_{models_, policy_, pool_, metrics_};
  Router router_;
};

}  // namespace inlay
