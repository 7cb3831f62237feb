#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cmath>
#include <optional>
#include <random>
#include <thread>

#include "base/json_writer.h"
#include "jobs/tune/load.h"
#include "jobs/tune/load_client.h"
#include "jobs/validate/quality.h"
#include "server/server.h"

namespace inlay {
namespace {

namespace asio = boost::asio;
using Nanoseconds = std::chrono::nanoseconds;
// Of the time, not counted: queues fill and clocks settle.
constexpr double kWarmUpShare = 0.2;
// How often `stopped` is asked.
constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::seconds kPatience{20};

Clock::time_point after(Clock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// What the scheduler counted between two moments.
struct LaneFigures {
  double busy = 0;  // seconds of all lanes
  double batches = 0;
  double texts = 0;
};

LaneFigures figures_of(const SchedulerMetrics& metrics) {
  LaneFigures figures;
  for (const Nanoseconds busy : metrics.lane_busy) figures.busy += std::chrono::duration<double>(busy).count();
  for (const uint64_t count : metrics.batch_texts.counts) figures.batches += static_cast<double>(count);
  figures.texts = static_cast<double>(metrics.batch_texts.sum);
  return figures;
}

// A server as `inlay serve` starts it, on a free port of this machine, as long as the object lives.
class LoadedServer {
 public:
  static Result<std::unique_ptr<LoadedServer>> start(const ServedEngine& model, const SchedulerOptions& limits) {
    std::unique_ptr<LoadedServer> loaded(new LoadedServer(model.engine->threads()));
    std::unique_ptr<EmbedService> service =
        make_service(model.engine, "tuned", model.serving, limits, CorePart{loaded->cores_, 1});
    loaded->service_ = service.get();
    ServerOptions options;
    options.http.port = 0;
    options.http.max_connections = 1 << 12;
    options.http.takes_signals = false;
    options.workers = model.engine->threads();
    ServedModels models;
    models.push_back(std::move(service));
    loaded->server_ = TRY(Server::start(std::move(options), std::move(models)));
    loaded->thread_ = std::jthread([server = loaded->server_.get()] { server->run(); });
    return loaded;
  }
  ~LoadedServer() {
    if (server_) server_->drain();
  }

  int port() const { return server_->port(); }
  LaneFigures figures() const { return figures_of(service_->scheduler()); }

 private:
  explicit LoadedServer(int cores) : cores_(cores) {}

  CoreShare cores_;
  std::unique_ptr<Server> server_;
  const EmbedService* service_ = nullptr;  // the server's
  std::jthread thread_;                    // the last member, so that it ends first
};

std::string http_request(std::string_view input, bool is_bulk) {
  const std::string body = fmt::format("{{\"input\":{}}}", input);
  return fmt::format(
      "POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{}",
      is_bulk ? "x-priority: bulk\r\n" : "", body.size(), body);
}

// One for each text.
std::vector<std::string> http_requests(const LoadTexts& texts, bool is_bulk) {
  std::vector<std::string> requests;
  for (const std::string& text : texts.texts) {
    std::string input;
    append_json_string(input, text);
    requests.push_back(http_request(input, is_bulk));
  }
  if (!requests.empty()) return requests;
  for (const TokenizedText& text : texts.tokenized)
    requests.push_back(http_request(fmt::format("[{}]", fmt::join(text.ids, ",")), is_bulk));
  return requests;
}

class LoadRun {
 public:
  LoadRun(LoadedServer& server, const ServedEngine& model, const LoadTexts& texts, const LoadOptions& options)
      : server_(server),
        threads_(model.engine->threads()),
        texts_(texts),
        options_(options),
        random_(options.seed),
        client_(io_, server.port(), http_requests(texts, options.is_bulk),
                [this](const LoadClient::Answer& answer) { take(answer); }) {}

  Result<LoadPoint> run(const std::function<bool()>& stopped) {
    TRY_VOID(client_.open(std::max(1, options_.clients)));
    begin_ = Clock::now();
    counted_from_ = after(begin_, kWarmUpShare * options_.seconds);
    end_ = after(begin_, options_.seconds);
    if (options_.rate > 0) {
      send_at(begin_);
    } else {
      for (int client = 0; client < options_.clients; ++client) client_.send(sent_++, begin_);
    }
    TRY_VOID(run_until(counted_from_, stopped));
    const LaneFigures warm = server_.figures();
    TRY_VOID(run_until(end_, stopped));
    const LaneFigures figures = server_.figures();
    TRY_VOID(finish(stopped));
    return point(warm, figures);
  }

 private:
  Result<> run_until(Clock::time_point end, const std::function<bool()>& stopped) {
    for (Clock::time_point now = Clock::now(); now < end; now = Clock::now()) {
      io_.run_until(std::min(end, now + kLook));
      TRY_VOID(client_.fault());
      if (stopped && stopped()) return fail(ErrorCode::kCancelled, "interrupted");
    }
    return {};
  }

  // What was sent is answered.
  Result<> finish(const std::function<bool()>& stopped) {
    timer_.cancel();
    const Clock::time_point limit = Clock::now() + kPatience;
    while (client_.under_way() > 0) {
      if (Clock::now() >= limit)
        return fail(ErrorCode::kInternal, "requests are still under way after {} s", kPatience.count());
      TRY_VOID(run_until(Clock::now() + std::chrono::milliseconds(1), stopped));
    }
    return {};
  }

  void take(const LoadClient::Answer& answer) {
    if (answer.is_refused) {
      if (answer.due >= counted_from_) ++rejected_;
    } else {
      answers_.push_back(answer);
    }
    // A client comes back at once; arrivals at a rate that are refused are lost.
    if (options_.rate == 0 && answer.end < end_) client_.send(sent_++, Clock::now());
  }

  // Sends what is due, and sets the timer for the next.
  void send_at(Clock::time_point due) {
    const double share = (static_cast<double>(random_() >> 11) + 0.5) / 9007199254740992.0;  // 53 bits: in (0, 1)
    const Clock::time_point next = after(due, -std::log(share) / options_.rate);
    if (next >= end_) return;
    timer_.expires_at(next);
    timer_.async_wait([this, next](boost::system::error_code cancelled) {
      if (cancelled) return;
      client_.send(sent_++, next);
      send_at(next);
    });
  }

  // Of requests that were due from then on, also where the answer came after the end, or the slowest would be left out.
  std::vector<double> latencies_since(Clock::time_point from) const {
    std::vector<double> latencies;
    for (const LoadClient::Answer& answer : answers_) {
      if (answer.due < from) continue;
      latencies.push_back(std::chrono::duration<double>(answer.end - answer.due).count());
    }
    return latencies;
  }

  LoadPoint point(const LaneFigures& warm, const LaneFigures& figures) const {
    const double seconds = std::chrono::duration<double>(end_ - counted_from_).count();
    LoadPoint point = {.batch_tokens = options_.scheduler.max_batch_tokens,
                       .queue_delay_us = static_cast<int>(options_.scheduler.max_queue_delay[2].count()),
                       .clients = options_.clients,
                       .rate = options_.rate,
                       .rejected = rejected_};
    for (const LoadClient::Answer& answer : answers_) {
      if (answer.end < counted_from_ || answer.end >= end_) continue;
      point.requests_per_second += 1 / seconds;
      point.tokens_per_second += static_cast<double>(texts_.tokenized[answer.request].ids.size()) / seconds;
    }
    std::vector<double> latencies = latencies_since(counted_from_);
    // So slow that what was sent first is all there is.
    if (latencies.empty()) latencies = latencies_since(begin_);
    std::sort(latencies.begin(), latencies.end());
    point.requests = latencies.size();
    point.p50 = percentile(latencies, 0.5);
    point.p99 = percentile(latencies, 0.99);
    point.lane_use = std::min(1.0, (figures.busy - warm.busy) / (seconds * threads_));
    const double batches = figures.batches - warm.batches;
    point.batch_texts = batches > 0 ? (figures.texts - warm.texts) / batches : 0;
    return point;
  }

  const LoadedServer& server_;
  int threads_;
  const LoadTexts& texts_;
  const LoadOptions& options_;
  std::mt19937_64 random_;
  asio::io_context io_;
  asio::steady_timer timer_{io_};
  Clock::time_point begin_;
  Clock::time_point counted_from_;
  Clock::time_point end_;
  size_t sent_ = 0;
  uint64_t rejected_ = 0;
  std::vector<LoadClient::Answer> answers_;
  LoadClient client_;
};

}  // namespace

Result<LoadPoint> run_load(const ServedEngine& model, const LoadTexts& texts, const LoadOptions& options,
                           const std::function<bool()>& stopped) {
  const std::unique_ptr<LoadedServer> server = TRY(LoadedServer::start(model, options.scheduler));
  LoadRun run(*server, model, texts, options);
  return run.run(stopped);
}

}  // namespace inlay
