// Encodes texts for test_parity.py and bench/tokenizer_speed.py, which compare with PyPI's `tokenizers`.
//
//   tokenizer_parity FOLDER < requests > answers
//   tokenizer_parity FOLDER --decode < requests > answers
//   tokenizer_parity FOLDER --time N < requests     encodes all of them N times, prints {"seconds": of one round, "bytes": ...}
//
// A request is little-endian: u8 flags, i32 max_length, u32 size, the text, and for a pair u32 size and the second text. An
// answer: i32 number of ids, -1 for an error; u8 flags (1 truncated, 2 with types); i32 ids; i32 types if there are any;
// if the request asks for offsets, i32 begin and i32 end for each id, -1 where there is none.
// To decode, a request is u8 whether special tokens are skipped, u32 number of ids, i32 ids; an answer is i32 size, -1 for an
// error, and the text.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace {

constexpr uint8_t kPair = 1;
constexpr uint8_t kPlain = 2;  // without special tokens
constexpr uint8_t kLeft = 4;
constexpr uint8_t kNone = 8;
constexpr uint8_t kEscape = 16;
constexpr uint8_t kOnlyFirst = 32;
constexpr uint8_t kOnlySecond = 64;
constexpr uint8_t kOffsets = 128;

struct Request {
  bool is_pair = false;
  bool wants_offsets = false;
  inlay::EncodeOptions options;
  std::string_view first;
  std::string_view second;
};

std::string read_all(std::FILE* file) {
  std::string text;
  char block[1 << 16];
  for (size_t got = std::fread(block, 1, sizeof block, file); got > 0; got = std::fread(block, 1, sizeof block, file)) {
    text.append(block, got);
  }
  return text;
}

template <class T>
T take(std::string_view& input) {
  T value{};
  if (input.size() < sizeof value) std::abort();
  std::memcpy(&value, input.data(), sizeof value);
  input.remove_prefix(sizeof value);
  return value;
}

std::string_view take_text(std::string_view& input) {
  const size_t size = take<uint32_t>(input);
  if (input.size() < size) std::abort();
  const std::string_view text = input.substr(0, size);
  input.remove_prefix(size);
  return text;
}

std::vector<Request> parse(std::string_view input) {
  std::vector<Request> requests;
  while (!input.empty()) {
    Request request;
    const uint8_t flags = take<uint8_t>(input);
    request.is_pair = (flags & kPair) != 0;
    request.wants_offsets = (flags & kOffsets) != 0;
    request.options.max_length = take<int32_t>(input);
    request.options.add_special_tokens = (flags & kPlain) == 0;
    request.options.escape_special_tokens = (flags & kEscape) != 0;
    if ((flags & kLeft) != 0) request.options.truncation = inlay::TruncationSide::kLeft;
    if ((flags & kNone) != 0) request.options.truncation = inlay::TruncationSide::kNone;
    if ((flags & kOnlyFirst) != 0) request.options.pair_truncation = inlay::PairTruncation::kOnlyFirst;
    if ((flags & kOnlySecond) != 0) request.options.pair_truncation = inlay::PairTruncation::kOnlySecond;
    request.first = take_text(input);
    if (request.is_pair) request.second = take_text(input);
    requests.push_back(request);
  }
  return requests;
}

inlay::Result<inlay::Encoding> encode(const inlay::Tokenizer& tokenizer, const Request& request) {
  return request.is_pair ? tokenizer.encode_pair(request.first, request.second, request.options)
                         : tokenizer.encode(request.first, request.options);
}

void put(const void* data, size_t size) { std::fwrite(data, 1, size, stdout); }

void put_offsets(const inlay::Tokenizer& tokenizer, const Request& request, const inlay::Encoding& encoding) {
  const std::optional<std::string_view> second = request.is_pair ? std::optional(request.second) : std::nullopt;
  for (const std::optional<inlay::Offsets>& offsets : tokenizer.offsets(encoding, request.first, second, request.options)) {
    const int32_t ends[] = {offsets ? offsets->begin : -1, offsets ? offsets->end : -1};
    put(ends, sizeof ends);
  }
}

void answer(const inlay::Tokenizer& tokenizer, const std::vector<Request>& requests) {
  for (const Request& request : requests) {
    const inlay::Result<inlay::Encoding> encoding = encode(tokenizer, request);
    const int32_t count = encoding ? static_cast<int32_t>(encoding->ids.size()) : -1;
    put(&count, sizeof count);
    if (!encoding) continue;
    const bool has_types = !encoding->type_ids.empty();
    const uint8_t flags = static_cast<uint8_t>((encoding->truncated ? 1 : 0) | (has_types ? 2 : 0));
    put(&flags, sizeof flags);
    put(encoding->ids.data(), encoding->ids.size() * sizeof(int32_t));
    put(encoding->type_ids.data(), encoding->type_ids.size() * sizeof(int32_t));
    if (request.wants_offsets) put_offsets(tokenizer, request, *encoding);
  }
}

void decode(const inlay::Tokenizer& tokenizer, std::string_view input) {
  while (!input.empty()) {
    const bool skips_special = take<uint8_t>(input) != 0;
    std::vector<int32_t> ids(take<uint32_t>(input));
    for (int32_t& id : ids) id = take<int32_t>(input);
    const inlay::Result<std::string> text = tokenizer.decode(ids, skips_special);
    const int32_t size = text ? static_cast<int32_t>(text->size()) : -1;
    put(&size, sizeof size);
    if (text) put(text->data(), text->size());
  }
}

// The fastest round, as the bench does for the other side.
void time_rounds(const inlay::Tokenizer& tokenizer, const std::vector<Request>& requests, int rounds) {
  size_t bytes = 0;
  for (const Request& request : requests) bytes += request.first.size() + request.second.size();
  double best = 1e30;
  size_t ids = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    ids = 0;
    for (const Request& request : requests) {
      const inlay::Result<inlay::Encoding> encoding = encode(tokenizer, request);
      ids += encoding ? encoding->ids.size() : 0;
    }
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("{\"seconds\": %.9f, \"bytes\": %zu, \"ids\": %zu}\n", best, bytes, ids);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const inlay::Result<inlay::Tokenizer> tokenizer = inlay::Tokenizer::load(argv[1]);
  if (!tokenizer) {
    std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str());
    return 1;
  }
  const std::string input = read_all(stdin);
  if (argc >= 3 && std::string_view(argv[2]) == "--decode") {
    decode(*tokenizer, input);
    return 0;
  }
  const std::vector<Request> requests = parse(input);
  if (argc >= 4 && std::string_view(argv[2]) == "--time") {
    time_rounds(*tokenizer, requests, std::atoi(argv[3]));
  } else {
    answer(*tokenizer, requests);
  }
  return 0;
}
