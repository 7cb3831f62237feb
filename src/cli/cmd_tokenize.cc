// inlay tokenize: what the model would be fed.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/output_file.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/input_flags.h"
#include "cli/model_flags.h"
#include "jobs/tokenize_job.h"
#include "model/model_spec.h"

namespace inlay {
namespace {

constexpr const char* kTokenizeFooter =
    "Prints {\"ids\":[…],\"tokens\":[…]} for every text, cut at the model's maximum length as embed does it. With --offsets,\n"
    "\"offsets\" are the [begin,end] of each token in characters of its text, a prompt included; null for special tokens that\n"
    "are put around it.\n"
    "Examples:\n"
    "  inlay tokenize --model all-MiniLM-L6-v2 'Hello, world' 'two texts'\n"
    "  inlay tokenize --model all-MiniLM-L6-v2 --input docs.jsonl > ids.jsonl\n"
    "  inlay tokenize --model all-MiniLM-L6-v2 --decode 101 7592 102";

class TokenizeCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    model_.add_text_flags(app);
    app.add_option("texts", texts_, "Texts, instead of --input");
    input_.add(app, "--input")->capture_default_str();
    add_switch(app, "--no-special-tokens", no_special_tokens_, "Without [CLS], [SEP] and the like");
    add_switch(app, "--no-truncation", no_truncation_, "Do not cut long texts");
    add_switch(app, "--pair", pair_, "Take texts two by two, each two as one input");
    add_switch(app, "--offsets", offsets_, "Print which part of its text each token stands for");
    add_switch(app, "--decode", decode_, "Take the arguments as token ids and print {\"text\":…} that they stand for");
    app.footer(kTokenizeFooter);
  }

  Result<> run(const Interrupt& interrupt) override {
    const EngineOptions flags = TRY(model_.options(&interrupt));
    const ModelSpec spec = TRY(read_model_spec(flags.model));
    const Tokenizer tokenizer = TRY(Tokenizer::load(spec.folder, spec.lower_case_first));
    prompt_ = TRY(resolve_prompt(flags, spec));
    options_.max_length = no_truncation_ ? std::numeric_limits<int>::max() : flags.max_length.value_or(spec.max_length);
    options_.truncation = flags.truncate_side;
    options_.add_special_tokens = !no_special_tokens_;
    OutputFile out = TRY(OutputFile::create("-"));
    if (decode_) {
      TRY_VOID(print_decoded(tokenizer, out));
      return out.commit();
    }
    TRY_VOID(texts_.empty() ? print_rows(tokenizer, interrupt, out) : print_arguments(tokenizer, out));
    return out.commit();
  }

 private:
  Result<> print_decoded(const Tokenizer& tokenizer, OutputFile& out) const {
    if (texts_.empty()) return fail(ErrorCode::kInvalidArgument, "--decode: found no ids among the arguments");
    std::vector<int32_t> ids;
    for (const std::string& text : texts_) {
      int32_t id = 0;
      const std::from_chars_result parsed = std::from_chars(text.data(), text.data() + text.size(), id);
      if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || id < 0 || id >= tokenizer.vocab_size()) {
        return fail(ErrorCode::kInvalidArgument, "--decode: found '{}', wanted an id from 0 to {}", text,
                    tokenizer.vocab_size() - 1);
      }
      ids.push_back(id);
    }
    return out.write(TRY(decode_line(tokenizer, ids)));
  }

  Result<> print_arguments(const Tokenizer& tokenizer, OutputFile& out) {
    for (const std::string& text : texts_) TRY_VOID(print(tokenizer, text, out));
    return check_pairs();
  }

  Result<> print_rows(const Tokenizer& tokenizer, const Interrupt& interrupt, OutputFile& out) {
    TextReader reader = TRY(input_.open(interrupt));
    while (std::optional<TextRow> row = TRY(reader.next())) {
      if (interrupt.requested()) return fail(ErrorCode::kCancelled, "interrupted");
      std::string text = TRY(std::move(row->text));
      TRY_VOID(print(tokenizer, std::move(text), out).map_error(within(fmt::format("line {}", row->line))));
    }
    return check_pairs();
  }

  // The first of a pair waits for its second.
  Result<> print(const Tokenizer& tokenizer, std::string text, OutputFile& out) {
    const TokenLines lines{tokenizer, options_, offsets_};
    if (!pair_) return out.write(TRY(tokenize_line(lines, prompt_ + text, std::nullopt)));
    if (!first_) {
      first_ = std::move(text);
      return {};
    }
    const std::string first = std::move(*first_);
    first_.reset();
    return out.write(TRY(tokenize_line(lines, prompt_ + first, text)));
  }

  Result<> check_pairs() const {
    if (first_) return fail(ErrorCode::kInvalidArgument, "--pair: found an odd number of texts");
    return {};
  }

  ModelFlags model_;
  InputFlags input_;
  std::vector<std::string> texts_;
  bool no_special_tokens_ = false;
  bool no_truncation_ = false;
  bool pair_ = false;
  bool offsets_ = false;
  bool decode_ = false;

  std::string prompt_;
  EncodeOptions options_;
  std::optional<std::string> first_;
};

}  // namespace

std::unique_ptr<Command> make_tokenize_command() { return std::make_unique<TokenizeCommand>(); }

}  // namespace inlay
