// What `inlay tune` measured and what it makes of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace inlay {

inline constexpr double kMilli = 1e3;  // milliseconds of a second

// Batches of so many tokens, one lane a thread, nothing else.
struct BatchPoint {
  int batch_tokens = 0;
  double batch_texts = 0;  // on average
  double tokens_per_second = 0;
  double p50 = 0;  // seconds of a batch
  double p99 = 0;
  uint64_t memory_bytes = 0;  // of weights, tokenizer and all lanes
  double memory_share = 0;    // of what this process may have; 0 where the system does not say
};

// So many threads with batches of the engine's own size.
struct ThreadPoint {
  int threads = 0;
  double tokens_per_second = 0;
};

// Requests of one text each to a server, for some seconds.
struct LoadPoint {
  int batch_tokens = 0;
  int queue_delay_us = 0;
  int clients = 0;                 // that each send the next request when one is answered; 0: arrivals at a rate
  double rate = 0;                 // requests a second that arrive, at random; 0: as clients send them
  double requests_per_second = 0;  // answered
  double tokens_per_second = 0;
  double p50 = 0;  // seconds from when a request was due to its answer
  double p99 = 0;
  double lane_use = 0;     // share of the time that lanes compute
  double batch_texts = 0;  // on average
  uint64_t requests = 0;
  uint64_t rejected = 0;
};

struct TuneChoice {
  int threads = 0;
  int batch_tokens = 0;
  int clients = 0;         // requests under way at once that still keep the objective
  int queue_delay_us = 0;  // of bulk work
  bool keeps_objective = false;
  uint64_t requests = 0;  // that were measured at that load
  double p99 = 0;         // seconds, of these
  double requests_per_second = 0;
  // Arrivals at random that keep the objective; 0 where none of the rates tried did.
  double rate = 0;
  double rate_p99 = 0;
};

struct TuneReport {
  std::string created;
  std::string model;
  std::string dtype;
  std::string isa;
  double slo_p99 = 0;      // seconds
  double seconds = 0;      // that it took
  double text_tokens = 0;  // of a text, on average
  uint64_t texts = 0;
  bool texts_are_made_up = false;  // random ids, since no texts were given
  std::vector<ThreadPoint> threads;
  std::vector<BatchPoint> batches;  // by batch_tokens
  std::string batches_end;          // why there are no larger ones
  std::vector<LoadPoint> closed;    // by batch_tokens, then clients
  std::vector<LoadPoint> delays;    // of bulk work, by delay
  std::vector<LoadPoint> open;      // of the choice, by rate
  TuneChoice choice;
};

// The rest is pure.

// Why the doubling of batches ends here, or empty: the last two doublings gained less than 3 % each (and 32 texts are reached),
// the next would take more than 80 % of the memory, or a batch alone takes longer than the objective.
struct BatchBounds {
  double slo_p99 = 0;
  double text_tokens = 0;
  int most_tokens = 0;
};
std::string end_of_batches(std::span<const BatchPoint> points, const BatchBounds& bounds);

// Batches worth loading: at most `count`, by size, all with 90 % or more of the best throughput and less than the objective for
// a batch alone; the fastest if none is.
std::vector<int> batches_to_load(std::span<const BatchPoint> points, double slo_p99, size_t count);

// The fewest threads with 97 % of the best throughput. `points` by threads.
int choose_threads(std::span<const ThreadPoint> points);

// The point that answers the most requests within the objective; of those within 2 % of it the one with the largest batch, then
// with the lowest P99. Where none keeps the objective: the one with the lowest P99. nullopt of no points.
std::optional<LoadPoint> choose_load(std::span<const LoadPoint> closed, double slo_p99);

// The choice of these, as `again` measures it. Of many measurements the best one was also lucky: where the objective is lost
// then, what loads the model no less is left out, and the next is tried, three in all. Where none keeps it: the one with the
// lowest P99. `closed` must not be empty.
using MeasureAgain = std::function<Result<LoadPoint>(const LoadPoint&)>;
Result<LoadPoint> confirm_load(std::vector<LoadPoint> closed, double slo_p99, const MeasureAgain& again);

// The shortest delay with 98 % of the best throughput. 0 of no points.
int choose_delay(std::span<const LoadPoint> delays);

// The highest rate that kept the objective, with all lower ones, and answered what came. nullptr if none did. `open` by rate.
const LoadPoint* choose_rate(std::span<const LoadPoint> open, double slo_p99);

std::string tune_json(const TuneReport& report);    // one line
std::string tune_table(const TuneReport& report);   // for people
std::string tune_config(const TuneReport& report);  // for serve --config
std::string tune_html(const TuneReport& report);    // one page that needs nothing else

}  // namespace inlay
