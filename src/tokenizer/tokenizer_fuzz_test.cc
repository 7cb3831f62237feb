// Damaged files give a tokenizer or an error, and a tokenizer that came of one encodes and decodes without a fault. Meant to be
// run under the address sanitizer as well.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "base/test_folder.h"
#include "tokenizer/tokenizer.h"

namespace inlay {
namespace {

constexpr uint32_t kFuzzSeed = 20240613;

// Two files that between them use every kind of step.
constexpr std::string_view kUnigramJson = R"({"version":"1.0","added_tokens":[
{"id":0,"content":"<unk>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
{"id":9,"content":"<mask>","single_word":true,"lstrip":true,"rstrip":true,"normalized":true,"special":false}],
"normalizer":{"type":"Sequence","normalizers":[
{"type":"Precompiled","precompiled_charsmap":"DAAAAACAAQBhDQAAAAAAgGIA"},{"type":"NFKC"},{"type":"Nmt"},{"type":"Prepend","prepend":"x"},
{"type":"Replace","pattern":{"Regex":" {2,}|[^\\s\\p{L}]"},"content":"yy"},{"type":"Replace","pattern":{"String":"e"},"content":"ab"},
{"type":"Strip","strip_left":true,"strip_right":true},{"type":"StripAccents"},{"type":"Lowercase"}]},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true},
{"type":"Digits","individual_digits":true},{"type":"Punctuation","behavior":"MergedWithNext"},{"type":"FixedLength","length":7}]},
"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<unk>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{"<unk>":{"id":"<unk>","ids":[0],"tokens":["<unk>"]}}},
"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"},
{"type":"Strip","content":" ","start":1,"stop":2}]},
"model":{"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["<unk>",0.0],["▁",-2.5],["a",-3.0],["b",-3.5],["ab",-4.0],["▁ab",-4.5],["<0x78>",-9.0],["x",-5e1]]}})";

constexpr std::string_view kBpeJson = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[
{"id":300,"content":"<|end|>","single_word":false,"lstrip":false,"rstrip":true,"normalized":false,"special":true}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}]},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
{"type":"CharDelimiterSplit","delimiter":"-"},{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}]},
"post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true},
{"type":"RobertaProcessing","sep":["<|end|>",5],"cls":["a",0],"trim_offsets":true,"add_prefix_space":false}]},
"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","dropout":null,"unk_token":"c","continuing_subword_prefix":null,"end_of_word_suffix":"","fuse_unk":true,"byte_fallback":false,"ignore_merges":true,
"vocab":{"a":0,"b":1,"c":2,"ab":3,"Ġ":4,"<|end|>":5,"Ġa":6,"abc":7,"Ġab":8},"merges":["a b",["Ġ","a"],["ab","c"],["Ġa","b"]]}})";

std::string read_text(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    const size_t changes = 1 + below(3);
    for (size_t change = 0; change < changes && !text.empty(); ++change) change_once(text);
    return text;
  }

 private:
  size_t below(size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(random_); }

  void change_once(std::string& text) {
    static const std::string_view kParts[] = {"0",    "-1",     "4294967296", "1e999",   "null",       "[]",   "{}",    "\"",
                                              "true", "\\p{L}", "(",          "\\u0000", "2147483647", "\xff", "{9999}"};
    const size_t at = below(text.size());
    const size_t size = std::min(text.size() - at, 1 + below(40));
    // Half of the changes leave the syntax whole.
    switch (below(12)) {
      case 0: text[at] = static_cast<char>(below(256)); break;
      case 1: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
      case 2: text.erase(at, size); break;
      case 3: text.insert(below(text.size()), text.substr(at, size)); break;
      case 4: text.replace(at, std::min<size_t>(size, 4), kParts[below(std::size(kParts))]); break;
      case 5: text.resize(at + 1); break;
      case 6:
      case 7:
      case 8: change_digit(text, at); break;
      default: copy_string(text, at); break;
    }
  }

  void change_digit(std::string& text, size_t from) {
    const size_t digit = text.find_first_of("0123456789", from);
    if (digit != std::string::npos) text[digit] = static_cast<char>('0' + below(10));
  }

  // One quoted string in the place of another.
  void copy_string(std::string& text, size_t from) {
    const auto string_at = [&](size_t place) {
      const size_t begin = std::min(text.find('"', place), text.size());
      return std::pair(begin, std::min(text.find('"', begin + 1), text.size()));
    };
    const auto [begin, end] = string_at(from);
    const auto [other_begin, other_end] = string_at(below(text.size()));
    if (end == text.size() || other_end == text.size()) return;
    const std::string other = text.substr(other_begin, other_end - other_begin);
    text.replace(begin, end - begin, other);
  }

  std::mt19937 random_;
};

// Returns how many files still made a tokenizer.
size_t run(const char* name, const std::string& good, size_t rounds) {
  const TestFolder folder;
  folder.write("tokenizer_config.json", R"({"tokenizer_class":"XLMRobertaTokenizer"})");
  Mutator mutator(kFuzzSeed);
  size_t loaded = 0;
  for (size_t round = 0; round < rounds; ++round) {
    folder.write(name, mutator.mutate(good));
    const Result<Tokenizer> tokenizer = Tokenizer::load(folder.path());
    if (!tokenizer) {
      EXPECT_FALSE(tokenizer.error().message.empty());
      continue;
    }
    ++loaded;
    const Result<Encoding> encoding =
        tokenizer->encode("ab <mask>e\u0301\u200d 12-34 'S\r\n\xff \u2581x<|end|> abcabcabc", {.max_length = 4096});
    if (encoding) static_cast<void>(tokenizer->decode(encoding->ids, true));
  }
  return loaded;
}

TEST(TokenizerFuzz, DamagedUnigramFilesNeverCrash) {
  SCOPED_TRACE(kFuzzSeed);
  const size_t loaded = run("tokenizer.json", std::string(kUnigramJson), 8000);
  EXPECT_GT(loaded, 500U);
  EXPECT_LT(loaded, 7500U);
}

TEST(TokenizerFuzz, DamagedBpeFilesNeverCrash) {
  SCOPED_TRACE(kFuzzSeed);
  const size_t loaded = run("tokenizer.json", std::string(kBpeJson), 8000);
  EXPECT_GT(loaded, 500U);
  EXPECT_LT(loaded, 7500U);
}

TEST(TokenizerFuzz, DamagedSentencepieceFilesNeverCrash) {
  SCOPED_TRACE(kFuzzSeed);
  const size_t unigram =
      run("sentencepiece.bpe.model", read_text("tests/data/tokenizers/xlmr-files/sentencepiece.bpe.model"), 2500);
  const size_t bpe = run("tokenizer.model", read_text("tests/data/tokenizers/llama-files/tokenizer.model"), 1500);
  EXPECT_GT(unigram + bpe, 100U);
  EXPECT_LT(unigram + bpe, 3900U);
}

}  // namespace
}  // namespace inlay
