// TEI's /tokenize and /decode.
#pragma once

#include "base/json.h"
#include "server/api/embed_request.h"

namespace inlay {

struct TokenizeCall {
  std::vector<std::string> texts;
  bool add_special_tokens = true;
  std::optional<std::string> prompt_name;
  std::string model;  // empty: the server's first
};

struct DecodeCall {
  std::vector<std::vector<int64_t>> ids;
  bool skip_special_tokens = true;
  std::string model;  // empty: the server's first
};

struct ByteSpan {
  size_t begin = 0;
  size_t end = 0;
};

// One token of a text.
struct TokenPiece {
  int32_t id = 0;
  std::string text;
  bool special = false;
  std::optional<ByteSpan> bytes = {};  // of the text; nullopt: it stands for no part of it, or for one that is not known
};

Result<TokenizeCall> parse_tokenize(const Json& body);
HttpResponse render_tokenize(const std::vector<std::vector<TokenPiece>>& texts);
Result<DecodeCall> parse_decode(const Json& body);
HttpResponse render_decode(const std::vector<std::string>& texts);

}  // namespace inlay
