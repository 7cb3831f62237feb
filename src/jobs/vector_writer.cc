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

const char* npy_type(OutputType type) {
  switch (type) {
    case OutputType::kFloat: return "<f4";
    case OutputType::kFp16: return "<f2";
    case OutputType::kInt8:
    case OutputType::kBinary: return "|i1";
    case OutputType::kUint8:
    case OutputType::kUbinary: return "|u1";
  }
  return "";
}

// A vector on its way to the output: encodes one at a time.
class VectorEncoder {
 public:
  VectorEncoder(StoredAs stored, int dimensions)
      : stored_(std::move(stored)),
        columns_(output_columns(stored_.type, static_cast<size_t>(dimensions))),
        bytes_(output_bytes(stored_.type, static_cast<size_t>(dimensions))) {}

  OutputType type() const { return stored_.type; }
  size_t columns() const { return columns_; }
  size_t bytes() const { return bytes_.size(); }
  // Valid until the next call.
  std::span<const std::byte> encode(std::span<const float> vector) {
    encode_vector(vector, stored_.type, stored_.ranges ? &*stored_.ranges : nullptr, bytes_);
    return bytes_;
  }

 private:
  StoredAs stored_;
  size_t columns_;
  std::vector<std::byte> bytes_;
};

std::string npy_header(uint64_t rows, const VectorEncoder& encoder) {
  std::string header("\x93NUMPY\x01\x00", 8);
  const size_t rest = kNpyHeaderBytes - 10;
  header += static_cast<char>(rest & 0xFF);
  header += static_cast<char>(rest >> 8);
  header += fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}", npy_type(encoder.type()), rows,
                        encoder.columns());
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
  JsonlWriter(OutputFile file, VectorEncoder encoder) : file_(std::move(file)), encoder_(std::move(encoder)) {}

  Result<> write(const RowKey& key, std::span<const float> vector) override {
    json_.begin_object();
    put_id(json_, key);
    json_.key("embedding").begin_array();
    put_numbers(vector);
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
  void put_numbers(std::span<const float> vector) {
    if (encoder_.type() == OutputType::kFloat) {
      for (const float number : vector) json_.value(number);
      return;
    }
    const std::span<const std::byte> stored = encoder_.encode(vector);
    const bool is_signed = encoder_.type() == OutputType::kInt8 || encoder_.type() == OutputType::kBinary;
    if (encoder_.type() == OutputType::kFp16) {
      halves_.resize(vector.size());
      decode_vector(stored, OutputType::kFp16, nullptr, halves_);
      for (const float number : halves_) json_.value(number);
      return;
    }
    for (const std::byte code : stored) json_.value(is_signed ? int{static_cast<int8_t>(code)} : static_cast<int>(code));
  }

  Result<> put_line() {
    TRY_VOID(file_.write(json_.text()));
    json_.clear();
    return file_.write("\n");
  }

  OutputFile file_;
  VectorEncoder encoder_;
  std::vector<float> halves_;
  JsonWriter json_;
};

class NpyWriter final : public VectorWriter {
 public:
  static Result<std::unique_ptr<VectorWriter>> open(const std::string& path, VectorEncoder encoder) {
    OutputFile file = TRY(OutputFile::create(path));
    if (!file.is_rewritable()) {
      return fail(ErrorCode::kInvalidArgument, "{}: .npy starts with the count of rows, which needs a regular file; use jsonl",
                  file.name());
    }
    TRY_VOID(file.write(npy_header(0, encoder)));
    return std::unique_ptr<VectorWriter>(new NpyWriter(std::move(file), path, std::move(encoder)));
  }

  Result<> write(const RowKey&, std::span<const float> vector) override {
    ++rows_;
    return put(encoder_.encode(vector));
  }

  Result<> write_failed(const RowKey& key, std::string_view why) override {
    if (!errors_) errors_ = TRY(OutputFile::create(errors_path_));
    JsonWriter json;
    json.begin_object().key("row").value(key.index).key("line").value(key.line);
    if (!key.id.empty()) json.key("id").raw(key.id);
    json.key("error").value(why).end_object();
    TRY_VOID(errors_->write(json.text()));
    TRY_VOID(errors_->write("\n"));
    ++rows_;
    const std::vector<std::byte> zeros(encoder_.bytes());
    return put(zeros);
  }

  Result<> flush() override { return file_.flush(); }

  Result<> finish() override {
    TRY_VOID(file_.rewrite(0, npy_header(rows_, encoder_)));
    std::error_code ignored;
    if (!errors_) std::filesystem::remove(errors_path_, ignored);
    if (errors_) TRY_VOID(errors_->commit());
    return file_.commit();
  }

 private:
  NpyWriter(OutputFile file, const std::string& path, VectorEncoder encoder)
      : file_(std::move(file)), errors_path_(path + ".errors.jsonl"), encoder_(std::move(encoder)) {}

  Result<> put(std::span<const std::byte> bytes) {
    return file_.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  OutputFile file_;
  std::string errors_path_;
  std::optional<OutputFile> errors_;
  VectorEncoder encoder_;
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

Result<std::unique_ptr<VectorWriter>> open_writer(const std::string& path, OutputFormat format, int dimensions,
                                                  StoredAs stored) {
  const OutputFormat chosen = TRY(choose_output_format(path, format));
  VectorEncoder encoder(std::move(stored), dimensions);
  if (chosen == OutputFormat::kNpy) return NpyWriter::open(path, std::move(encoder));
  return std::unique_ptr<VectorWriter>(new JsonlWriter(TRY(OutputFile::create(path)), std::move(encoder)));
}

}  // namespace inlay
