// A loaded model that embeds texts: tokenizer, encoder and the modules after it, behind one class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/memory.h"
#include "engine/precision.h"
#include "model/model_spec.h"
#include "model/output.h"
#include "tokenizer/tokenizer.h"

namespace inlay {

enum class Normalize : uint8_t { kAuto, kOn, kOff };  // auto: as the folder's modules say

struct EngineOptions {
  std::filesystem::path model = {};
  Precision dtype = Precision::kAuto;
  int threads = 0;                     // 0: what affinity and the cgroup grant
  std::optional<int> max_length = {};  // at most what the model's positions allow
  TruncationSide truncate_side = TruncationSide::kRight;
  std::optional<std::string> prompt = {};  // put before every text; excludes prompt_name
  std::optional<std::string> prompt_name = {};
  std::optional<Pooling> pooling = {};  // instead of the folder's
  Normalize normalize = Normalize::kAuto;
  std::optional<int> dimensions = {};  // keep this many leading numbers of each vector (before normalising)
  // The folder holds a masked language model for SPLADE, although no module says so: it gives kSparse.
  bool splade = false;
  bool escape_special_tokens = false;
  bool ids_only = false;                     // no tokenizer is loaded: texts come as token ids, so that prompts have no place
  std::optional<int> max_batch_tokens = {};  // most tokens of a batch; a longer text is a batch of its own
  const Kernels* kernels = nullptr;          // null: the best table of this CPU
  // Folder for packed weights, made if it isn't there, so that the next start maps them and processes share them. A file in it
  // is used only if it was made of the same model files by the same version for the same kernels and precision. Empty: none.
  std::filesystem::path weight_cache = {};
  std::string task = {};  // one of those that the model has weights of its own for (Jina v3); "" is the plain weights
};

// The text that goes before every text: the prompt given, or the one named, or the folder's default, or none.
Result<std::string> resolve_prompt(const EngineOptions& options, const ModelSpec& spec);

// Tokens [begin, end) of a text.
struct TokenSpan {
  int begin = 0;
  int end = 0;
};

// One text, tokenised and checked, ready to run.
struct TokenizedText {
  std::vector<int32_t> ids = {};
  std::vector<int32_t> type_ids = {};  // empty when all are 0
  int prompt_tokens = 0;               // leading tokens left out of pooling (include_prompt: false)
  bool truncated = false;
  OutputSet outputs = {OutputKind::kVector};  // what to make of it
  bool is_query = false;                      // for late interaction, which leaves some tokens of documents out
  int seen_tokens = 0;                        // attention sees this many leading tokens; 0: all
  std::vector<TokenSpan> chunks = {};         // late chunking: each gets a vector of its own, besides the text's
};

// How one text is read, where it differs from the engine's options.
struct TextOptions {
  std::optional<std::string> prompt;  // instead of the engine's; "" is none
  std::optional<int> max_length;      // at most the engine's; more is cut to that
  std::optional<TruncationSide> truncate_side;
  bool is_query = false;  // as in TokenizedText; queries and documents may have lengths of their own
};

struct Share;

// Memory that one lane works in. A lane belongs to one thread at a time; lanes share nothing that is written.
class EngineLane;
struct EngineLaneDeleter {
  void operator()(EngineLane* lane) const;
};
using EngineLanePtr = std::unique_ptr<EngineLane, EngineLaneDeleter>;

// Thread-safe: all const functions may be called from any thread.
class Engine {
 public:
  static Result<Engine> load(const EngineOptions& options);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  const ModelSpec& spec() const;
  // What this model can make of a text. A model made to score, or to weigh words, gives a vector only if the options name a
  // pooling.
  OutputSet outputs() const;
  // kUnsupported, with what the model gives instead.
  Result<> require(OutputKind kind) const;
  // Not to be asked for if the options say ids_only.
  const Tokenizer& tokenizer() const;
  Precision precision() const;   // never kAuto
  std::string_view isa() const;  // the kernel table in use: "avx512_bf16", ...
  int dimensions() const;        // of the vectors that come out
  int max_length() const;
  int threads() const;
  // Bytes of the packed weights and of the tables that were converted.
  uint64_t weight_bytes() const;
  EngineMemory memory() const;
  // Multiply-adds times two of a forward pass over texts of these lengths (linear layers and attention).
  double flop(std::span<const int> lengths) const;

  // Prompt, tokenizer and truncation as the options say; kInvalidArgument if they say ids_only.
  Result<TokenizedText> tokenize(std::string_view text) const;
  Result<TokenizedText> tokenize(std::string_view text, const TextOptions& options) const;
  // The two as one input, as cross-encoders read a query and a document; the longer one is cut first. Asks for kScores. No
  // prompt is put before them.
  Result<TokenizedText> tokenize_pair(std::string_view first, std::string_view second, const TextOptions& options) const;
  // Chunks of one text, which are read together so that each is understood beside the others, and get a vector each (late
  // chunking). kTooLarge if they are too long together: nothing is cut.
  Result<TokenizedText> tokenize_chunks(std::span<const std::string> chunks, const TextOptions& options) const;
  // Ids used as given, nothing added. Every id must be in [0, vocab_size), and the length in [1, max_length].
  Result<TokenizedText> from_ids(std::span<const int64_t> ids) const;

  // Embeds `texts` with every thread of the engine; result i belongs to texts[i]; each text has its own error.
  // Texts are batched by length; vectors do not depend on the batching. Calls from several threads take turns.
  std::vector<Result<std::vector<float>>> embed(std::span<const TokenizedText> texts) const;

  // As embed, but gives all that each text asks for in its `outputs`.
  std::vector<Result<TextOutput>> run(std::span<const TokenizedText> texts) const;

  // Whether the text may run: its length, its ids, and whether the model gives what it asks for.
  Result<> check(const TokenizedText& text) const;

  // For callers that schedule batches themselves. Runs on the calling thread alone. `out` is [texts.size(), dimensions()]: rows
  // of texts that ask for no vector are left alone. status[i] is set for a text whose vector is not finite.
  EngineLanePtr make_lane() const;
  LaneMemory lane_memory(const EngineLane& lane) const;  // while no batch runs in it
  void embed_batch(EngineLane& lane, std::span<const TokenizedText* const> texts, float* out, std::span<Result<>> status) const;
  // Most tokens that one batch may hold: as the options say, else what is fastest.
  int max_batch_tokens() const;
  // Most tokens that one batch may hold: what a lane has memory for. Any text that check() passes fits.
  int max_lane_tokens() const;

  // embed_batch in steps, so that up to `ranks` threads can share the middle one. One thread begins and ends the batch;
  // run_batch is called by each thread of the share, which starts after begin_batch and is synchronised before end_batch.
  // run_batch does not throw.
  EngineLanePtr make_lane(int ranks) const;
  void begin_batch(EngineLane& lane, std::span<const TokenizedText* const> texts) const;
  void run_batch(EngineLane& lane, const Share& share) const;
  void end_batch(EngineLane& lane, float* out, std::span<Result<>> status) const;
  // After end_batch: what text number `text` of the batch asked for besides its vector. An error is that text's own.
  Result<> collect(EngineLane& lane, int text, TextOutput& output) const;

 private:
  friend class EmbedCall;
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Groups texts of similar length: each group holds at most `max_batch_tokens` tokens (or one longer text). Returns indices into
// `lengths`, longest texts first, so that the last batches are the small ones.
std::vector<std::vector<uint32_t>> plan_batches(std::span<const int> lengths, int max_batch_tokens);

}  // namespace inlay
