#include "jobs/vector_writer.h"

#include <bit>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/output_file.h"

namespace inlay {
namespace {

static_assert(std::endian::native == std::endian::little, "the header says '<f4'");

// A multiple of 64, as the format wants, with room for any count of rows: the count is known only at the end.
constexpr size_t kNpyHeaderBytes = 128;

std::string npy_header(uint64_t rows, int dimensions) {
  std::string header("\x93NUMPY\x01\x00", 8);
  const size_t rest = kNpyHeaderBytes - 10;
  header += static_cast<char>(rest & 0xFF);
  header += static_cast<char>(rest >> 8);
  header += fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, dimensions);
  header.resize(kNpyHeaderBytes - 1, ' ');
  header += '\n';
  return header;
}

void put_id(JsonWriter& json, const RowKey& key) {
  if (key.id.empty()) {
    json.key("index").value(key.index);
  } else {
    json.key("id").raw(key.id);
  }
}

class JsonlWriter final : public VectorWriter {
 public:
  explicit JsonlWriter(OutputFile file) : file_(std::move(file)) {}

  Result<> write(const RowKey& key, std::span<const float> vector) override {
    json_.begin_object();
    put_id(json_, key);
    json_.key("embedding").begin_array();
    for (const float number : vector) json_.value(number);
    json_.end_array().end_object();
    return put_line();
  }

  Result<> write_failed(const RowKey& key, std::string_view why) override {
    json_.begin_object();
    put_id(json_, key);
    json_.key("error").value(why).end_object();
    return put_line();
  }

  Result<> flush() override { return file_.flush(); }
  Result<> finish() override { return file_.commit(); }

 private:
  Result<> put_line() {
    TRY_VOID(file_.write(json_.text()));
    json_.clear();
    return file_.write("\n");
  }

  OutputFile file_;
  JsonWriter json_;
};

class NpyWriter final : public VectorWriter {
 public:
  static Result<std::unique_ptr<VectorWriter>> open(const std::string& path, int dimensions) {
    OutputFile file = TRY(OutputFile::create(path));
    if (!file.is_rewritable()) {
      return fail(ErrorCode::kInvalidArgument, "{}: .npy starts with the count of rows, which needs a regular file; use jsonl",
                  file.name());
    }
    TRY_VOID(file.write(npy_header(0, dimensions)));
    return std::unique_ptr<VectorWriter>(new NpyWriter(std::move(file), path, dimensions));
  }

  Result<> write(const RowKey&, std::span<const float> vector) override {
    ++rows_;
    return file_.write({reinterpret_cast<const char*>(vector.data()), vector.size_bytes()});
  }

  Result<> write_failed(const RowKey& key, std::string_view why) override {
    if (!errors_) errors_ = TRY(OutputFile::create(errors_path_));
    JsonWriter json;
    json.begin_object().key("row").value(key.index).key("line").value(key.line);
    if (!key.id.empty()) json.key("id").raw(key.id);
    json.key("error").value(why).end_object();
    TRY_VOID(errors_->write(json.text()));
    TRY_VOID(errors_->write("\n"));
    return write(key, zeros_);
  }

  Result<> flush() override { return file_.flush(); }

  Result<> finish() override {
    TRY_VOID(file_.rewrite(0, npy_header(rows_, dimensions_)));
    std::error_code ignored;
    if (!errors_) std::filesystem::remove(errors_path_, ignored);
    if (errors_) TRY_VOID(errors_->commit());
    return file_.commit();
  }

 private:
  NpyWriter(OutputFile file, const std::string& path, int dimensions)
      : file_(std::move(file)), errors_path_(path + ".errors.jsonl"), dimensions_(dimensions), zeros_(dimensions) {}

  OutputFile file_;
  std::string errors_path_;
  std::optional<OutputFile> errors_;
  int dimensions_;
  std::vector<float> zeros_;
  uint64_t rows_ = 0;
};

}  // namespace

std::optional<OutputFormat> output_format_from_name(std::string_view name) {
  if (name == "auto") return OutputFormat::kAuto;
  if (name == "npy") return OutputFormat::kNpy;
  if (name == "jsonl") return OutputFormat::kJsonl;
  return std::nullopt;
}

Result<OutputFormat> choose_output_format(const std::string& path, OutputFormat format) {
  if (format != OutputFormat::kAuto) return format;
  const std::string suffix = std::filesystem::path(path).extension().string();
  if (suffix == ".npy") return OutputFormat::kNpy;
  if (path == "-" || suffix == ".jsonl" || suffix == ".ndjson") return OutputFormat::kJsonl;
  return fail(ErrorCode::kInvalidArgument,
              "{}: the suffix names no output format (.npy, .jsonl); say --output-format npy or jsonl", path);
}

Result<std::unique_ptr<VectorWriter>> open_writer(const std::string& path, OutputFormat format, int dimensions) {
  const OutputFormat chosen = TRY(choose_output_format(path, format));
  if (chosen == OutputFormat::kNpy) return NpyWriter::open(path, dimensions);
  return std::unique_ptr<VectorWriter>(new JsonlWriter(TRY(OutputFile::create(path))));
}

}  // namespace inlay
