// A model as the server uses it: facts, tokenizer, and a place to hand in work. The server's tests put a fake here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/scheduler.h"
#include "server/api/embed_request.h"
#include "server/api/text_routes.h"

namespace inlay {

// Thread-safe.
class EmbedService {
 public:
  virtual ~EmbedService() = default;

  virtual const ModelFacts& facts() const = 0;

  // A text that is too long and may not be truncated is kTooLarge, with its number of tokens and the limit.
  virtual Result<TokenizedText> tokenize(std::string_view text, const TextOptions& options) const = 0;
  // The two as one input; the longer one is cut first. No prompt is put before them.
  virtual Result<TokenizedText> tokenize_pair(std::string_view first, std::string_view second,
                                              const TextOptions& options) const = 0;
  virtual Result<TokenizedText> from_ids(std::span<const int64_t> ids) const = 0;
  // The whole text, also beyond the model's limit; kTooLarge beyond 131,072 tokens.
  virtual Result<std::vector<TokenPiece>> pieces(std::string_view text, bool add_special_tokens) const = 0;
  virtual Result<std::string> decode(std::span<const int64_t> ids, bool skip_special_tokens) const = 0;

  // As Scheduler::submit.
  virtual std::optional<Overload> submit(WorkRequest request, std::function<void(WorkResult)> done) = 0;
  // As Scheduler::metrics.
  virtual SchedulerMetrics scheduler() const = 0;
  // As Scheduler::drain.
  virtual bool drain(std::chrono::milliseconds limit) = 0;
};

}  // namespace inlay
