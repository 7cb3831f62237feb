// Rows of JSON lines and of plain text, which come in pieces of a few bytes.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "fuzz_target.h"
#include "jobs/text_reader.h"

namespace inlay {
namespace {

constexpr size_t kPiece = 7;

size_t count_rows(std::string_view bytes, std::string name, TextReaderOptions options) {
  const ByteSource source = [rest = bytes](std::span<char> out) mutable -> Result<size_t> {
    const size_t size = std::min({kPiece, rest.size(), out.size()});
    std::memcpy(out.data(), rest.data(), size);
    rest.remove_prefix(size);
    return size;
  };
  options.max_line_bytes = 1000;
  TextReader reader(source, std::move(name), std::move(options));
  size_t rows = 0;
  for (;;) {
    const Result<std::optional<TextRow>> row = reader.next();
    if (!row || !*row) return rows;
    INLAY_CHECK(++rows <= bytes.size() + 1, "an input has no more rows than bytes");
  }
}

}  // namespace

bool fuzz_text_rows(std::string_view bytes) {
  const size_t texts = count_rows(bytes, "in.txt", {});
  const size_t rows = count_rows(bytes, "in.jsonl", {.more_fields = {"query"}});
  const size_t ids = count_rows(bytes, "in.jsonl", {.ids_field = "ids"});
  INLAY_CHECK(rows == ids, "a row is a row, whatever it holds");
  return texts + rows > 0;
}

}  // namespace inlay
