#include "engine/validation_report.h"

#include <algorithm>
#include <span>

#include "base/checksum.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/output_file.h"

namespace inlay {
namespace {

constexpr uint64_t kMostFileBytes = 16 << 20;
constexpr size_t kSampleBytes = 4096;
constexpr size_t kSamples = 64;

// Weights and configurations of the folder and of the modules' folders in it.
std::vector<std::filesystem::path> model_files(const std::filesystem::path& folder, int depth = 1) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() == ".safetensors" || path.filename() == "config.json") files.push_back(path);
    if (depth == 0 || !entry.is_directory(ignored)) continue;
    for (std::filesystem::path& file : model_files(path, depth - 1)) files.push_back(std::move(file));
  }
  return files;
}

// Tells whether the weights are those that were judged, without reading them all: sizes, beginnings and samples of every file.
// Times are left out, since copying a folder changes them.
std::string weights_fingerprint(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files = model_files(folder);
  std::sort(files.begin(), files.end());
  Checksum sum;
  for (const std::filesystem::path& path : files) {
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file) continue;
    const std::span<const std::byte> bytes = file->bytes();
    const std::string name = fmt::format("{} {}", path.lexically_relative(folder).string(), bytes.size());
    sum.add(std::as_bytes(std::span<const char>(name)));
    for (size_t i = 0; i < kSamples; ++i) {
      const size_t begin = bytes.size() / kSamples * i;
      sum.add(bytes.subspan(begin, std::min(kSampleBytes, bytes.size() - begin)));
    }
  }
  return fmt::format("{:016x}", sum.value());
}

Result<ValidationSummary> read_summary(std::string_view dtype, const Json& report, const std::string& fingerprint) {
  ValidationSummary summary;
  summary.dtype = dtype;
  const Json verdict = TRY(report.get("verdict"));
  const Json passed = TRY(verdict.get("passed"));
  summary.passed = TRY(passed.as_bool());
  const Json reasons = TRY(verdict.get("reasons"));
  for (const Json& reason : TRY(reasons.items())) summary.reasons.emplace_back(TRY(reason.as_string()));
  summary.created = TRY(report.string_or("created", ""));
  const Json distance = TRY(report.get("distance"));
  summary.texts = static_cast<uint64_t>(TRY(distance.int_or("texts", 0)));
  summary.p99 = TRY(distance.double_or("p99", 0));
  const Json candidate = TRY(report.get("candidate"));
  summary.texts_per_second = TRY(candidate.double_or("texts_per_s", 0));
  const Json reference = TRY(report.get("reference"));
  summary.reference_dtype = TRY(reference.string_or("dtype", ""));
  const std::string weights = TRY(report.string_or("weights", ""));
  summary.is_stale = weights != fingerprint;
  const std::optional<Json> retrieval = report.find("retrieval");
  const std::optional<Json> all = retrieval ? retrieval->find("all") : std::nullopt;
  if (all) summary.recall_5_loss = TRY(all->double_or("recall_5_loss", 0));
  if (!retrieval) return summary;
  for (const auto& [name, group] : TRY(retrieval->members())) {
    if (name == "all") continue;
    const double loss = TRY(group.double_or("recall_5_loss", 0));
    summary.recall_5_loss_by_language.emplace_back(name, loss);
  }
  return summary;
}

// Reports of other precisions, as JSON members with commas behind them. What cannot be read is not kept.
std::string other_reports(const std::filesystem::path& file, std::string_view dtype) {
  std::string text;
  const Result<JsonDocument> document = JsonDocument::read(file, kMostFileBytes);
  const std::optional<Json> reports = document ? document->root().find("reports") : std::nullopt;
  if (!reports) return text;
  const Result<std::vector<std::pair<std::string_view, Json>>> members = reports->members();
  if (!members) return text;
  for (const auto& [name, report] : *members) {
    if (name == dtype) continue;
    append_json_string(text, name);
    text += fmt::format(":{},\n", simdjson::minify(report.element()));
  }
  return text;
}

}  // namespace

Result<> store_validation(const std::filesystem::path& folder, Precision precision, std::string_view report) {
  const size_t begin = report.find('{');
  const size_t end = report.rfind('}');
  if (begin == std::string_view::npos || end == std::string_view::npos) {
    return fail(ErrorCode::kInternal, "a validation report that is no JSON object");
  }
  const std::filesystem::path path = folder / kValidationFile;
  const std::string_view dtype = precision_name(precision);
  const std::string text = fmt::format("{{\"reports\":{{\n{}\"{}\":{{\"weights\":\"{}\",{}\n}}}}\n", other_reports(path, dtype),
                                       dtype, weights_fingerprint(folder), report.substr(begin + 1, end - begin));
  return write_file(path.string(), text);
}

Result<std::vector<ValidationSummary>> read_validations(const std::filesystem::path& folder) {
  std::vector<ValidationSummary> summaries;
  const std::filesystem::path path = folder / kValidationFile;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return summaries;
  const JsonDocument document = TRY(JsonDocument::read(path, kMostFileBytes));
  const std::string fingerprint = weights_fingerprint(folder);
  const Json reports = TRY(document.root().get("reports"));
  for (const auto& [dtype, report] : TRY(reports.members())) {
    summaries.push_back(TRY(read_summary(dtype, report, fingerprint)));
  }
  return summaries;
}

std::optional<ValidationSummary> find_validation(const std::filesystem::path& folder, Precision precision) {
  Result<std::vector<ValidationSummary>> summaries = read_validations(folder);
  if (!summaries) return std::nullopt;
  for (ValidationSummary& summary : *summaries) {
    if (summary.dtype == precision_name(precision)) return std::move(summary);
  }
  return std::nullopt;
}

std::optional<std::string> validation_warning(const std::filesystem::path& folder, Precision precision) {
  const bool is_wide =
      precision == Precision::kFloat32 || precision == Precision::kBFloat16 || precision == Precision::kFloat16;
  const std::string dtype(precision_name(precision));
  const Result<std::vector<ValidationSummary>> summaries = read_validations(folder);
  if (!summaries) return summaries.error().message;
  for (const ValidationSummary& summary : *summaries) {
    if (summary.dtype != dtype) continue;
    if (!summary.passed) {
      return fmt::format("{} in {}: its validation report says not suited: {}", folder.string(), dtype,
                         summary.reasons.empty() ? "no reason given" : summary.reasons.front());
    }
    if (!summary.is_stale) return std::nullopt;
    return fmt::format("{} in {}: its validation report was made of other weights; run inlay validate again", folder.string(),
                       dtype);
  }
  if (is_wide) return std::nullopt;
  return fmt::format("{} in {}: nothing shows that this precision is good enough for your texts; inlay validate does",
                     folder.string(), dtype);
}

std::string validation_text(const ValidationSummary& summary) {
  std::string text = fmt::format("{}: {}, P99 {:.5f} over {} texts", summary.dtype, summary.passed ? "suited" : "not suited",
                                 summary.p99, summary.texts);
  if (summary.recall_5_loss) text += fmt::format(", Recall@5 {:.2f} % lost", 100 * *summary.recall_5_loss);
  text += fmt::format(" ({})", summary.created);
  if (summary.is_stale) text += "; made of other weights";
  return text;
}

}  // namespace inlay
