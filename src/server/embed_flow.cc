#include "server/embed_flow.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <utility>

#include "base/log.h"
#include "engine/input_type.h"
#include "server/api/fields.h"
#include "server/api/vectors.h"
#include "server/late_pairs.h"

namespace inlay {
namespace {

using std::chrono::nanoseconds;

// A long list is tokenised in pieces of this size, between which other requests get the thread.
constexpr size_t kSliceTexts = 64;
constexpr size_t kSliceBytes = 64 * 1024;
// Lists from this length on are bulk work unless the request says otherwise.
constexpr size_t kBulkTexts = 16;
// A body up to this size is read and tokenised by the I/O thread that received it, and a list up to this length is written by
// the lane that computed it: some 50 microseconds each, where handing the work to the pool costs two wake-ups.
constexpr size_t kInlineBytes = 2048;
constexpr size_t kInlineTexts = 4;

double seconds_of(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

Failure overload_failure(const Overload& overload) {
  const std::chrono::milliseconds wait = std::max(overload.retry_after, std::chrono::milliseconds(1));
  switch (overload.kind) {
    case Rejection::kTooLarge: return {Fault::kTooLarge, overload.reason, {}};
    case Rejection::kDraining: return {Fault::kUnavailable, overload.reason, wait};
    case Rejection::kTooManyRequests:
    case Rejection::kQueueFull: break;
  }
  return {Fault::kOverloaded, overload.reason, wait};
}

// Whether the model is of the kind that the route is for, in TEI's words.
Result<> check_kind(const EmbedRequest& request, const ModelFacts& facts) {
  if (request.ranks && facts.late_score) return {};
  const bool is_there = facts.outputs.has(request.output);
  switch (request.output) {
    case OutputKind::kVector:
      if (is_there) return {};
      return fail(ErrorCode::kUnsupported, "Model is not an embedding model");
    case OutputKind::kScores:
      if (request.ranks && !(is_there && facts.labels.size() == 1)) {
        return fail(ErrorCode::kUnsupported, "model is not a re-ranker model");
      }
      if (is_there) return {};
      return fail(ErrorCode::kUnsupported, "model is not a classifier model");
    case OutputKind::kSparse:
      if (is_there) return {};
      return fail(ErrorCode::kUnsupported, "Model is not an embedding model with SPLADE pooling");
    case OutputKind::kTokens:
      if (is_there) return {};
      return fail(ErrorCode::kUnsupported, "model gives no vectors of tokens");
  }
  return {};
}

// nullopt: the engine's own.
std::optional<TruncationSide> side_of(const EmbedRequest& request, const ModelFacts& facts) {
  if (!request.truncate.value_or(facts.auto_truncate)) return TruncationSide::kNone;
  if (request.truncate_side) return request.truncate_side;
  if (facts.auto_truncate) return std::nullopt;
  return TruncationSide::kRight;
}

// Owned by the one task or callback that carries the request on.
class EmbedFlow : public std::enable_shared_from_this<EmbedFlow> {
 public:
  EmbedFlow(const EmbedContext& context, const EmbedRoute& route, IncomingRequest incoming, HttpReply reply)
      : context_(context), route_(route), incoming_(std::move(incoming)), reply_(std::move(reply)) {}

  void start() {
    if (incoming_.bytes <= kInlineBytes) return guarded(&EmbedFlow::parse);
    next(&EmbedFlow::parse);
  }

 private:
  using Step = void (EmbedFlow::*)();

  // What a step throws (memory may run out) fails this request and no other.
  void guarded(Step step) {
    try {
      (this->*step)();
    } catch (const std::exception& exception) {
      spdlog::error("request {}: {}", incoming_.id, exception.what());
      fail_with({Fault::kInternal, "the server failed to handle the request", {}});
    }
  }

  // Runs a step in the pool.
  void next(Step step) {
    context_.pool.post([self = shared_from_this(), step] { self->guarded(step); });
  }

  void parse() {
    Parsed<DialectCall> parsed = route_.parse(incoming_.http);
    if (!parsed) return fail_with(std::move(parsed).error());
    call_ = *std::move(parsed);
    std::string().swap(incoming_.http.body);  // A long one should not wait for the vectors.
    NamedModel named = find_model(context_, call_.request.model);
    if (!named.model) {
      return fail_with({Fault::kModelNotFound, fmt::format("model '{}' is not served here", call_.request.model), {}});
    }
    service_ = std::move(named.model);
    if (named.prompt_name && !call_.request.prompt && !call_.request.prompt_name)
      call_.request.prompt_name = std::move(named.prompt_name);
    if (Result<> checked = check(); !checked) return fail_with(failure_of(checked.error()));
    if (inputs().empty()) return answer({});
    tokenize();
  }

  // Values against the model; sets the options for its texts.
  Result<> check() {
    const EmbedRequest& request = call_.request;
    const ModelFacts& facts = service_->facts();
    TRY_VOID(check_kind(request, facts));
    if (request.output == OutputKind::kVector) TRY_VOID(check_vector());
    if (request.max_tokens && *request.max_tokens < 1) {
      return fail(ErrorCode::kInvalidArgument, "`max_tokens` is {}, wanted 1 or more", *request.max_tokens);
    }
    if (request.output != OutputKind::kScores) text_options_.prompt = TRY(prompt_of(request, facts));
    text_options_.is_query = is_query_type(request.input_type.value_or(""));
    if (request.max_tokens)
      text_options_.max_length = static_cast<int>(std::min<int64_t>(*request.max_tokens, facts.max_length));
    text_options_.truncate_side = side_of(request, facts);
    priority_ = priority_of(request, incoming_.http.header("x-priority"));
    deadline_ = deadline();
    if (request.ranks && facts.late_score) return compare_tokens();
    return {};
  }

  // Pairs are computed text by text.
  Result<> compare_tokens() {
    const ModelFacts& facts = service_->facts();
    late_.emplace(std::move(call_.request.inputs));
    call_.request.output = OutputKind::kTokens;
    query_options_ = text_options_;
    query_options_.is_query = true;
    query_options_.prompt = TRY(prompt_for_input_type("query", facts.prompts)).value_or("");
    text_options_.prompt = TRY(prompt_for_input_type("document", facts.prompts)).value_or("");
    return {};
  }

  const std::vector<EmbedInput>& inputs() const { return late_ ? late_->inputs() : call_.request.inputs; }

  Failure item_failure(size_t item, const Error& error) const {
    Failure failure = failure_of(error);
    const std::string of_query = late_ && late_->is_query(item) ? "query of " : "";
    if (late_) item = late_->pair_of(item);
    if (inputs().size() > 1) failure.message = fmt::format("{}item {}: {}", of_query, item, failure.message);
    return failure;
  }

  Result<> check_vector() const {
    const EmbedRequest& request = call_.request;
    const ModelFacts& facts = service_->facts();
    const int64_t dimensions = request.dimensions.value_or(facts.dimensions);
    if (dimensions < 1 || dimensions > facts.dimensions) {
      return fail(ErrorCode::kInvalidArgument, "`dimensions` is {}, the model gives 1 to {}", dimensions, facts.dimensions);
    }
    if (dimensions % request.dimensions_multiple_of != 0) {
      return fail(ErrorCode::kInvalidArgument, "{} dimensions do not pack into whole bytes: wanted a multiple of {}",
                  dimensions, request.dimensions_multiple_of);
    }
    if (request.normalize == false && !facts.raw_available) {
      return fail(ErrorCode::kInvalidArgument, "`normalize` is false, but the model normalises between its modules");
    }
    return {};
  }

  std::optional<Clock::time_point> deadline() const {
    std::chrono::microseconds timeout = call_.request.timeout.value_or(context_.policy.timeout);
    const std::string_view header = incoming_.http.header("request-timeout-ms");
    int64_t milliseconds = 0;
    const std::from_chars_result parsed = std::from_chars(header.data(), header.data() + header.size(), milliseconds);
    if (parsed.ec == std::errc() && milliseconds > 0 && milliseconds < 86'400'000)
      timeout = std::chrono::milliseconds(milliseconds);
    if (timeout.count() <= 0) return std::nullopt;
    return started_ + timeout;
  }

  bool cancelled() const { return incoming_.http.cancelled && incoming_.http.cancelled->load(std::memory_order_relaxed); }

  void tokenize() {
    const Clock::time_point begin = Clock::now();
    const size_t end = std::min(inputs().size(), texts_.size() + kSliceTexts);
    for (size_t bytes = 0; texts_.size() < end && bytes < kSliceBytes;) {
      const EmbedInput& input = inputs()[texts_.size()];
      Result<TokenizedText> text = tokenize(input, options_of(texts_.size()));
      if (!text) return fail_with(item_failure(texts_.size(), text.error()));
      text->outputs = {call_.request.output};
      bytes += input.text.size() + input.ids.size() + (input.second ? input.second->size() : 0);
      account(input, *text);
      texts_.push_back(*std::move(text));
    }
    answer_.times.tokenize += Clock::now() - begin;
    if (cancelled()) return fail_with({Fault::kCancelled, "the client has gone", {}});
    const int64_t limit = service_->facts().max_queue_tokens;
    if (answer_.total_tokens > limit) {
      return fail_with(
          {Fault::kTooLarge, fmt::format("the request has more than {} tokens, the most that one may have", limit), {}});
    }
    if (texts_.size() < inputs().size()) return next(&EmbedFlow::tokenize);
    submit();
  }

  const TextOptions& options_of(size_t input) const { return late_ && late_->is_query(input) ? query_options_ : text_options_; }

  Result<TokenizedText> tokenize(const EmbedInput& input, const TextOptions& options) const {
    if (input.is_ids) return service_->from_ids(input.ids);
    if (input.second) return service_->tokenize_pair(input.text, *input.second, options);
    return service_->tokenize(input.text, options);
  }

  void account(const EmbedInput& input, const TokenizedText& text) {
    const int tokens = static_cast<int>(text.ids.size());
    answer_.tokens.push_back(tokens);
    answer_.total_tokens += tokens;
    answer_.total_characters += count_characters(input.text) + (input.second ? count_characters(*input.second) : 0);
    truncated_ += text.truncated ? 1 : 0;
    context_.metrics.text_tokens.observe(tokens);
  }

  void submit() {
    WorkRequest work{.texts = std::move(texts_),
                     .priority = priority_,
                     .tenant = incoming_.tenant,
                     .deadline = deadline_,
                     .cancelled = incoming_.http.cancelled};
    // Before submit(), since the answer may come before it returns.
    in_progress().fetch_add(1, std::memory_order_relaxed);
    const std::optional<Overload> overload = service_->submit(std::move(work), [self = shared_from_this()](WorkResult result) {
      self->result_ = std::move(result);
      if (self->result_.vectors.size() <= kInlineTexts) return self->guarded(&EmbedFlow::collect);
      self->next(&EmbedFlow::collect);  // A lane has better things to do than to write long answers.
    });
    if (!overload) return;
    in_progress().fetch_sub(1, std::memory_order_relaxed);
    fail_with(overload_failure(*overload));
  }

  std::atomic<int64_t>& in_progress() { return context_.metrics.in_progress[static_cast<size_t>(priority_)]; }

  void collect() {
    in_progress().fetch_sub(1, std::memory_order_relaxed);
    answer_.times.queue = result_.queued;
    answer_.times.compute = result_.computed;
    std::vector<std::vector<float>> vectors;
    vectors.reserve(result_.vectors.size());
    for (Result<std::vector<float>>& vector : result_.vectors) {
      if (!vector) return fail_with(compute_failure(vectors.size(), vector.error()));
      vectors.push_back(*std::move(vector));
    }
    if (call_.request.output != OutputKind::kVector) {
      answer_.outputs = late_ ? late_->score(*service_->facts().late_score, result_.outputs) : std::move(result_.outputs);
      return answer({});
    }
    const bool normalize = normalizes();
    const int64_t dimensions = call_.request.dimensions.value_or(service_->facts().dimensions);
    for (std::vector<float>& vector : vectors) finish_vector(vector, dimensions, normalize);
    answer(std::move(vectors));
  }

  Failure compute_failure(size_t item, const Error& error) {
    if (error.code == ErrorCode::kInternal) context_.metrics.non_finite.fetch_add(1, std::memory_order_relaxed);
    if (error.code == ErrorCode::kUnavailable && deadline_ && Clock::now() >= *deadline_) {
      return {Fault::kDeadline, "the request's time was over before it was computed", {}};
    }
    return item_failure(item, error);
  }

  bool normalizes() const {
    if (call_.request.normalize) return *call_.request.normalize;
    if (context_.policy.normalize != Normalize::kAuto) return context_.policy.normalize == Normalize::kOn;
    return call_.request.unit_length || service_->facts().folder_normalizes;
  }

  void answer(std::vector<std::vector<float>> vectors) {
    answer_.id = incoming_.id;
    answer_.model = service_->facts().name;
    answer_.facts = &service_->facts();
    answer_.vectors = std::move(vectors);
    answer_.times.total = Clock::now() - started_;
    const Clock::time_point begin = Clock::now();
    HttpResponse response = call_.render(answer_);
    Metrics& metrics = context_.metrics;
    metrics.render_seconds.observe(seconds_of(Clock::now() - begin));
    metrics.tokenize_seconds.observe(seconds_of(answer_.times.tokenize));
    metrics.queue_seconds.observe(seconds_of(answer_.times.queue));
    metrics.compute_seconds.observe(seconds_of(answer_.times.compute));
    metrics.texts.fetch_add(inputs().size(), std::memory_order_relaxed);
    metrics.tokens.fetch_add(static_cast<uint64_t>(answer_.total_tokens), std::memory_order_relaxed);
    metrics.truncated.fetch_add(truncated_, std::memory_order_relaxed);
    metrics.successes[static_cast<size_t>(route_.dialect)].fetch_add(1, std::memory_order_relaxed);
    reply(std::move(response));
  }

  void fail_with(const Failure& failure) {
    context_.metrics.failures[static_cast<size_t>(failure.fault)].fetch_add(1, std::memory_order_relaxed);
    if (failure.fault == Fault::kInternal) spdlog::error("request {}: {}", incoming_.id, failure.message);
    reply(render_failure(route_.dialect, failure));
  }

  void reply(HttpResponse response) {
    // Let go of, since a reply keeps its connection; a step that throws after its reply finds none.
    const HttpReply reply = std::exchange(reply_, nullptr);
    if (!reply) return;
    context_.metrics.request_seconds.observe(seconds_of(Clock::now() - started_));
    reply(std::move(response));
  }

  const EmbedContext& context_;
  const EmbedRoute& route_;
  IncomingRequest incoming_;
  HttpReply reply_;
  Clock::time_point started_ = Clock::now();
  DialectCall call_;
  ModelRegistry::Lease service_;
  TextOptions text_options_;
  std::optional<LatePairs> late_;
  TextOptions query_options_;  // where late_ is
  Priority priority_ = Priority::kStandard;
  std::optional<Clock::time_point> deadline_;
  std::vector<TokenizedText> texts_;
  uint64_t truncated_ = 0;
  WorkResult result_;
  EmbedAnswer answer_;
};

}  // namespace

NamedModel find_model(const EmbedContext& context, const std::string& name) {
  NamedModel named{context.models.find(name), std::nullopt};
  if (named.model) return named;
  const size_t colon = name.rfind(':');
  if (colon != std::string::npos && colon > 0) {
    named.model = context.models.find(name.substr(0, colon));
    if (named.model && named.model->facts().prompts.contains(name.substr(colon + 1))) {
      named.prompt_name = name.substr(colon + 1);
      return named;
    }
    named.model = {};
  }
  if (context.policy.any_model_name) named.model = context.models.first();
  return named;
}

Result<std::optional<std::string>> prompt_of(const EmbedRequest& request, const ModelFacts& facts) {
  if (request.prompt) return request.prompt;
  if (request.prompt_name) {
    const std::map<std::string, std::string>::const_iterator found = facts.prompts.find(*request.prompt_name);
    if (found != facts.prompts.end()) return std::optional<std::string>(found->second);
    std::vector<std::string> names;
    for (const auto& [name, text] : facts.prompts) names.push_back(name);
    return fail(ErrorCode::kInvalidArgument, "`prompt_name` is '{}', the model has {}", *request.prompt_name,
                names.empty() ? "no prompts" : fmt::format("{}", fmt::join(names, ", ")));
  }
  if (!request.input_type) return std::optional<std::string>();
  const std::string& type = *request.input_type;
  if (type == "image") return fail(ErrorCode::kUnsupported, "`input_type` is 'image': the model embeds text only");
  TRY_VOID(check_one_of("input_type", type,
                        {"search_query", "search_document", "query", "document", "passage", "classification", "clustering"}));
  return prompt_for_input_type(type, facts.prompts);
}

Priority priority_of(const EmbedRequest& request, std::string_view header) {
  if (request.priority) return *request.priority;
  if (!header.empty()) {
    if (const Result<Priority> named = priority_from_name(header)) return *named;
  }
  if (request.inputs.size() == 1) return Priority::kInteractive;
  return request.inputs.size() < kBulkTexts ? Priority::kStandard : Priority::kBulk;
}

void embed(const EmbedContext& context, const EmbedRoute& route, IncomingRequest incoming, HttpReply reply) {
  context.metrics.requests[static_cast<size_t>(route.dialect)].fetch_add(1, std::memory_order_relaxed);
  std::make_shared<EmbedFlow>(context, route, std::move(incoming), std::move(reply))->start();
}

}  // namespace inlay
