#include "jobs/output_job.h"

#include <vector>

#include "base/json_writer.h"

namespace inlay {
namespace {

// Rows that run together: enough for several batches a lane, and few enough that vectors of all their tokens fit in memory.
constexpr size_t kWindowRows = 256;

void put_floats(JsonWriter& json, std::span<const float> values) {
  json.begin_array();
  for (const float value : values) json.value(value);
  json.end_array();
}

void put_sparse(JsonWriter& json, const SparseVector& sparse) {
  json.key("indices").begin_array();
  for (const SparseWeight& weight : sparse) json.value(weight.id);
  json.end_array().key("values").begin_array();
  for (const SparseWeight& weight : sparse) json.value(weight.weight);
  json.end_array();
}

void put_tokens(JsonWriter& json, const TokenVectors& tokens) {
  json.key("ids").begin_array();
  for (const int32_t id : tokens.ids) json.value(id);
  json.end_array().key("vectors").begin_array();
  const size_t columns = static_cast<size_t>(tokens.columns);
  for (size_t row = 0; row < tokens.ids.size(); ++row)
    put_floats(json, std::span(tokens.values).subspan(row * columns, columns));
  json.end_array();
}

class OutputJob {
 public:
  OutputJob(const Engine& engine, const OutputJobOptions& options, OutputFile& out,
            const std::function<void(const std::string&)>& skipped)
      : engine_(engine), options_(options), out_(out), skipped_(skipped) {}

  Result<OutputReport> run(const NextRow& next) {
    TRY_VOID(engine_.require(options_.kind));
    for (;;) {
      std::optional<TextRow> row = TRY(next());
      if (row) window_.push_back(*std::move(row));
      if (window_.size() == kWindowRows || !row) TRY_VOID(write_window());
      if (!row) return report_;
    }
  }

 private:
  Result<TokenizedText> take_in(const TextRow& row) {
    if (!row.text) return tl::unexpected<Error>(row.text.error());
    TokenizedText text = TRY(engine_.tokenize(*row.text).map_error(within(fmt::format("line {}", row.line))));
    text.outputs = {options_.kind};
    report_.tokens += text.ids.size();
    if (text.truncated) ++report_.truncated;
    return text;
  }

  Result<> write_window() {
    std::vector<Result<TokenizedText>> texts;
    for (const TextRow& row : window_) texts.push_back(take_in(row));
    std::vector<Result<TextOutput>> outputs = run_usable(engine_, std::move(texts));
    for (size_t i = 0; i < outputs.size(); ++i) TRY_VOID(write(window_[i], outputs[i]));
    window_.clear();
    return out_.flush();
  }

  Result<> write(const TextRow& row, Result<TextOutput>& output) {
    JsonWriter json;
    json.begin_object();
    if (row.id.empty()) {
      json.key("index").value(report_.texts);
    } else {
      json.key("id").raw(row.id);
    }
    ++report_.texts;
    if (output) {
      put(json, *output);
    } else {
      if (!options_.skips_bad_rows) return tl::unexpected<Error>(output.error());
      ++report_.failed;
      if (skipped_) skipped_(output.error().message);
      json.key("error").value(std::string_view(output.error().message));
    }
    json.end_object();
    return out_.write(json.text() + "\n");
  }

  void put(JsonWriter& json, TextOutput& output) const {
    switch (options_.kind) {
      case OutputKind::kVector: json.key("embedding"); return put_floats(json, output.vector);
      case OutputKind::kSparse: return put_sparse(json, output.sparse);
      case OutputKind::kTokens: return put_tokens(json, output.tokens);
      case OutputKind::kScores: break;
    }
    finish_scores(engine_.spec(), options_.form, output.scores);
    const std::vector<std::string>& labels = engine_.spec().classifier->labels;
    json.key("scores").begin_object();
    for (size_t label = 0; label < labels.size(); ++label) json.key(labels[label]).value(output.scores[label]);
    json.end_object();
  }

  const Engine& engine_;
  const OutputJobOptions& options_;
  OutputFile& out_;
  const std::function<void(const std::string&)>& skipped_;
  std::vector<TextRow> window_;
  OutputReport report_;
};

}  // namespace

Result<OutputReport> run_output_job(const Engine& engine, const OutputJobOptions& options, const NextRow& next, OutputFile& out,
                                    const std::function<void(const std::string&)>& skipped) {
  OutputJob job(engine, options, out, skipped);
  return job.run(next);
}

}  // namespace inlay
