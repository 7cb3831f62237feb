// inlay rerank: texts in the order in which they answer a query.
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/output_file.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/input_flags.h"
#include "cli/model_flags.h"
#include "jobs/rerank_job.h"

namespace inlay {
namespace {

constexpr const char* kRerankFooter =
    "Prints the score and the text of each row, the best first; with --json a line of JSON each:\n"
    "{\"index\":0,\"id\":\"a\",\"score\":0.97,\"text\":\"…\"}. Scores are what the model's folder says (--scores model): for\n"
    "most rerankers a number from 0 to 1.\n"
    "Examples:\n"
    "  inlay rerank --model bge-reranker-base --query 'what is a panda' 'a bear' 'a fish'\n"
    "  inlay rerank --model bge-reranker-base --query 'what is a panda' --input docs.jsonl --top-k 10 --json";

class RerankCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    model_.add_text_flags(app);
    model_.add_compute_flags(app);
    add_value(app, "--query", options_.query, "What the texts should answer");
    app.add_option("texts", texts_, "Texts, instead of --input");
    input_.add(app, "--input")->capture_default_str();
    add_value(app, "--top-k", options_.top_k, "Print only so many rows, the best ones")->check(CLI::PositiveNumber);
    add_value(app, "--scores", scores_, "model (as its folder says), raw (logits), or probability (0 to 1)")
        ->capture_default_str();
    add_value(app, "--on-error", on_error_, "What a row without a usable text does: fail or skip")->capture_default_str();
    add_switch(app, "--json", json_, "A line of JSON for each row");
    app.footer(kRerankFooter);
  }

  Result<> run(const Interrupt& interrupt) override {
    if (on_error_ != "fail" && on_error_ != "skip") {
      return fail(ErrorCode::kInvalidArgument, "--on-error {}: wanted fail or skip", on_error_);
    }
    if (options_.query.empty()) return fail(ErrorCode::kInvalidArgument, "--query is missing: what the texts should answer");
    const std::optional<ScoreForm> form = score_form_from_name(scores_);
    if (!form) return fail(ErrorCode::kInvalidArgument, "--scores {}: wanted model, raw or probability", scores_);
    options_.form = *form;
    options_.skips_bad_rows = on_error_ == "skip";
    const EngineOptions model = TRY(model_.options(&interrupt));
    const Engine engine = TRY(Engine::load(model));
    TRY_VOID(can_rerank(engine));
    const std::vector<RankedRow> rows = TRY(texts_.empty() ? rank_input(engine, interrupt) : rank_arguments(engine));
    OutputFile out = TRY(OutputFile::create("-"));
    for (const RankedRow& row : rows) {
      TRY_VOID(out.write(json_ ? ranked_line(row) : fmt::format("{:<10.6f} {}\n", row.score, row.text)));
    }
    return out.commit();
  }

 private:
  Result<std::vector<RankedRow>> rank_input(const Engine& engine, const Interrupt& interrupt) {
    TextReader reader = TRY(input_.open(interrupt));
    const NextRow next = [&]() -> Result<std::optional<TextRow>> {
      if (interrupt.requested()) return fail(ErrorCode::kCancelled, "interrupted");
      return reader.next();
    };
    return run_rerank_job(engine, options_, next,
                          [](const std::string& why) { std::fputs(fmt::format("skipped {}\n", why).c_str(), stderr); });
  }

  Result<std::vector<RankedRow>> rank_arguments(const Engine& engine) const {
    size_t at = 0;
    const NextRow next = [&]() -> Result<std::optional<TextRow>> {
      if (at == texts_.size()) return std::optional<TextRow>();
      ++at;
      return TextRow{.line = at, .id = {}, .text = texts_[at - 1]};
    };
    return run_rerank_job(engine, options_, next, {});
  }

  ModelFlags model_;
  InputFlags input_;
  RerankJobOptions options_;
  std::vector<std::string> texts_;
  std::string scores_ = "model";
  std::string on_error_ = "fail";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_rerank_command() { return std::make_unique<RerankCommand>(); }

}  // namespace inlay
