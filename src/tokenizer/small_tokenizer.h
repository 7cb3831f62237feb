// For tests: a small tokenizer, and encodings as text.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_folder.h"
#include "tokenizer/tokenizer.h"

namespace inlay {

inline std::string small_vocab_text() {
  std::ifstream file("tests/data/tokenizers/uncased/vocab.txt", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The fields of a tokenizer.json as JSON text. The vocabulary is that of tests/data/tokenizers/uncased.
struct SmallTokenizer {
  std::string normalizer =
      R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})";
  std::string pre_tokenizer = R"({"type":"BertPreTokenizer"})";
  std::string post_processor = R"({"type":"BertProcessing","sep":["[SEP]",3],"cls":["[CLS]",2]})";
  std::string more_added_tokens = {};  // ",{...}"
  std::string unknown_token = "[UNK]";
  std::string more = {};  // ",\"padding\":{...}"

  std::string json() const {
    std::string vocab;
    std::istringstream lines(small_vocab_text());
    int id = 0;
    for (std::string line; std::getline(lines, line); ++id) vocab += fmt::format("{}\"{}\":{}", id > 0 ? "," : "", line, id);
    std::string added;
    constexpr std::string_view kSpecial[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (int i = 0; i < 5; ++i) {
      added += fmt::format(
          R"({}{{"id":{},"content":"{}","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}})",
          i > 0 ? "," : "", i, kSpecial[i]);
    }
    return fmt::format(
        R"({{"version":"1.0","added_tokens":[{}{}],"normalizer":{},"pre_tokenizer":{},"post_processor":{},"model":{{"type":)"
        R"("WordPiece","unk_token":"{}","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{{{}}}}}{}}})",
        added, more_added_tokens, normalizer, pre_tokenizer, post_processor, unknown_token, vocab, more);
  }

  // Loads the tokenizer from a folder that holds it and `config`, its tokenizer_config.json.
  Result<Tokenizer> load(std::string_view config = {}, bool lower_case_first = false) const {
    const TestFolder folder;
    folder.write("tokenizer.json", json());
    if (!config.empty()) folder.write("tokenizer_config.json", config);
    return Tokenizer::load(folder.path(), lower_case_first);
  }
};

inline Tokenizer small(const SmallTokenizer& tokenizer = {}) { return tokenizer.load().value(); }

inline std::string bert_normalizer(std::string_view lowercase, std::string_view strip_accents) {
  return fmt::format(
      R"({{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":{},"lowercase":{}}})",
      strip_accents, lowercase);
}

// The tokens of an encoding, joined by spaces; "error: ..." where it failed.
inline std::string tokens_of(const Tokenizer& tokenizer, const Result<Encoding>& encoding) {
  if (!encoding) return "error: " + encoding.error().message;
  std::string result;
  for (const int32_t id : encoding->ids) {
    if (!result.empty()) result += ' ';
    result += tokenizer.id_to_token(id).value_or("?");
  }
  return result;
}

inline std::string tokens_of(const Tokenizer& tokenizer, std::string_view text, const EncodeOptions& options = {}) {
  return tokens_of(tokenizer, tokenizer.encode(text, options));
}

}  // namespace inlay
