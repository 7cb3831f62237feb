#include "jobs/memory_report.h"
#include "jobs/validate/report.h"
#include "jobs/validate/sample.h"

namespace inlay {
namespace {

std::string line(std::string_view name, const std::string& value) { return fmt::format("{:<14} {}\n", name, value); }

std::string model_line(const char* name, const ModelFigures& figures) {
  return fmt::format("{:<10} {:<9} {:>11} {:>11} {:>11} {:>9.1f} {:>10.0f} {:>9.2f}  {}\n", name, figures.dtype,
                     bytes_text(figures.file_bytes), bytes_text(figures.weight_bytes), bytes_text(figures.memory_bytes),
                     figures.texts_per_second, figures.tokens_per_second, 1e3 * figures.single_p50_seconds, figures.folder);
}

std::string models_table(const ValidationReport& report) {
  std::string text = fmt::format("{:<10} {:<9} {:>11} {:>11} {:>11} {:>9} {:>10} {:>9}\n", "", "dtype", "files", "weights",
                                 "memory", "texts/s", "tokens/s", "single ms");
  return text + model_line("reference", report.reference) + model_line("candidate", report.candidate);
}

std::string distance_line(const std::string& name, const Distribution& distance) {
  return fmt::format("{:<14} {:>7} {:>9.6f} {:>9.6f} {:>9.6f} {:>9.6f} {:>9.6f}\n", name, distance.count, distance.mean,
                     distance.p50, distance.p95, distance.p99, distance.max);
}

std::string distance_table(const ValidationReport& report) {
  std::string text =
      fmt::format("{:<14} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "1 - cosine", "texts", "mean", "P50", "P95", "P99", "max");
  text += distance_line("all", report.distance);
  for (const DistanceGroup& group : report.languages) text += distance_line(group.name, group.distance);
  for (const DistanceGroup& group : report.lengths) text += distance_line(group.name + " tokens", group.distance);
  return text;
}

std::string scores_text(double reference, double candidate) { return fmt::format("{:.4f} > {:.4f}", reference, candidate); }

std::string retrieval_table(const ValidationReport& report) {
  if (report.retrieval.empty()) return {};
  std::string text = fmt::format("\n{:<14} {:>7} {:>15} {:>15} {:>15} {:>15} {:>9} {:>8}\n", "retrieval", "queries", "Recall@1",
                                 "Recall@5", "nDCG@10", "MRR", "@5 lost", "same 10");
  for (const RetrievalGroup& group : report.retrieval) {
    const RetrievalScores& a = group.reference;
    const RetrievalScores& b = group.candidate;
    text +=
        fmt::format("{:<14} {:>7} {:>15} {:>15} {:>15} {:>15} {:>7.2f} % {:>6.1f} %\n", group.name, a.queries,
                    scores_text(a.recall_1, b.recall_1), scores_text(a.recall_5, b.recall_5), scores_text(a.ndcg_10, b.ndcg_10),
                    scores_text(a.mrr, b.mrr), 100 * group.recall_5_loss(), 100 * group.overlap_10);
  }
  return text;
}

std::string outputs_table(const ValidationReport& report) {
  if (report.outputs.empty()) return {};
  std::string text = fmt::format("\n{:<14} {:>7} {:>9} {:>9} {:>9} | {:>9} {:>9} {:>9}\n", "stored as", "bytes", "Recall@1",
                                 "Recall@5", "nDCG@10", "rescored", "Recall@5", "nDCG@10");
  for (const OutputLoss& output : report.outputs) {
    text += fmt::format("{:<14} {:>7} {:>9.4f} {:>9.4f} {:>9.4f} | {:>9.4f} {:>9.4f} {:>9.4f}\n", output.type, output.bytes,
                        output.plain.recall_1, output.plain.recall_5, output.plain.ndcg_10, output.rescored.recall_1,
                        output.rescored.recall_5, output.rescored.ndcg_10);
  }
  return text;
}

// Texts of strangers: what a terminal would obey is left out.
std::string printable(const std::string& text) {
  std::string result;
  for (const char symbol : text) result += static_cast<unsigned char>(symbol) < 0x20 || symbol == 0x7F ? ' ' : symbol;
  return result;
}

std::string worst_lines(const ValidationReport& report) {
  if (report.worst.empty()) return {};
  std::string text = "\nfarthest off\n";
  for (const WorstText& worst : report.worst) {
    text += fmt::format("{:.6f} {}:{} ({}, {} tokens) {}\n", worst.distance, worst.file, worst.line, worst.language,
                        worst.tokens, printable(std::string(cut_text(worst.text, 80))));
  }
  return text;
}

std::string fallback_lines(const ValidationReport& report) {
  std::string text;
  for (const PrecisionTrial& trial : report.fallbacks) {
    const std::string recall = trial.recall_5_loss ? fmt::format(", Recall@5 {:.2f} % lost", 100 * *trial.recall_5_loss) : "";
    text += line("fallback", fmt::format("{}: {}, P99 {:.6f}{}, {:.1f} texts/s", trial.dtype,
                                         trial.verdict.passed ? "suited" : "not suited", trial.distance.p99, recall,
                                         trial.texts_per_second));
  }
  return text;
}

std::string verdict_lines(const ValidationReport& report) {
  if (report.verdict.passed) return line("verdict", "suited");
  std::string text = line("verdict", "not suited");
  for (const std::string& reason : report.verdict.reasons) text += line("", reason);
  text += fallback_lines(report);
  const bool is_settled = !report.fallbacks.empty() && report.fallbacks.back().verdict.passed;
  if (is_settled) return text + line("advice", fmt::format("--dtype {}, which passes", report.fallbacks.back().dtype));
  if (!report.fallbacks.empty()) return text + line("advice", "stay with the reference: no smaller precision passes");
  return text + line("advice", "--dtype bfloat16 or float16 of the reference; --fallback tries them");
}

}  // namespace

std::string validation_table(const ValidationReport& report) {
  std::string text = models_table(report) + "\n" + distance_table(report) + retrieval_table(report) + outputs_table(report);
  text += worst_lines(report) + "\n";
  if (report.unusable_rows > 0) text += line("left out", fmt::format("{} rows without a usable text", report.unusable_rows));
  text += line("bits", fmt::format("{} of {} vectors are the same alone and in a batch",
                                   report.bits.texts - report.bits.different, report.bits.texts));
  text += line("rule", fmt::format("P99 at most {:g}, Recall@5 loss at most {:g} %", report.rule.max_p99,
                                   100 * report.rule.max_recall_loss));
  return text + verdict_lines(report);
}

}  // namespace inlay
