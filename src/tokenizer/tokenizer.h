// Text to token ids, exactly as Hugging Face `tokenizers` does it for the same folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tokenizer/offsets.h"

namespace inlay {

enum class TruncationSide : uint8_t {
  kRight,  // keep the head of the text
  kLeft,   // keep the tail
  kNone,   // a text that is too long is kTooLarge
};

// Which text of a pair gives way where both do not fit.
enum class PairTruncation : uint8_t {
  kLongestFirst,  // the longer one, then both alike
  kOnlyFirst,     // only this one; kTooLarge if nothing would be left of it
  kOnlySecond,
};

struct EncodeOptions {
  // Most ids to return, special tokens included. At least 1, and at least the special tokens that the template adds; otherwise
  // kInvalidArgument.
  int max_length = 512;
  TruncationSide truncation = TruncationSide::kRight;
  PairTruncation pair_truncation = PairTruncation::kLongestFirst;  // single texts do not look at it
  bool add_special_tokens = true;
  // Treats special tokens spelt out in the text ("[SEP]") as plain text. Off is parity with the reference.
  bool escape_special_tokens = false;
};

struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;  // token types; empty when all are 0
  bool truncated = false;
};

// Immutable after loading; every const function may be called from any number of threads at once.
class Tokenizer {
 public:
  // Reads tokenizer.json, or where there is none a sentencepiece model, vocab.json and merges.txt, or vocab.txt, with the
  // overrides of tokenizer_config.json (do_lower_case, strip_accents, tokenize_chinese_chars) that transformers applies.
  // `truncation` and `padding` blocks of the file are ignored, as transformers does. `lower_case_first` lower-cases the text
  // before everything else: the do_lower_case of sentence_bert_config.json. `special` names tokens that count as special
  // besides those of the files; what the vocabulary does not have is passed over.
  static Result<Tokenizer> load(const std::filesystem::path& folder, bool lower_case_first = false,
                                std::span<const std::string> special = {});

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Invalid UTF-8 is read as U+FFFD per maximal ill-formed part (the WHATWG rule, as Python's errors="replace").
  // Work and memory stop growing once max_length is reached, except with kLeft, which needs the end of the text, and in
  // pipelines that nothing but the whole text decides (a null pre-tokenizer, Strip, Prepend and Replace normalizers).
  Result<Encoding> encode(std::string_view text, const EncodeOptions& options) const;
  // Of two texts that are both too long, with kLongestFirst and a limit that leaves an odd number of ids, it must know which is
  // longer, and reads both to the end of the shorter one.
  Result<Encoding> encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options) const;

  // For each id of `encoding`, which `encode` (or, with `second`, `encode_pair`) made of the text with these options, the part
  // of its text that it stands for, as `tokenizers` has it; nullopt for the tokens of the template, and for others where that
  // is not known. Encodes once more, many times slower than `encode`, and the whole text at that.
  std::vector<std::optional<Offsets>> offsets(const Encoding& encoding, std::string_view text,
                                              std::optional<std::string_view> second, const EncodeOptions& options) const;

  // The text that the ids stand for, by the `decoder` of the file; ids without a token are passed over, as are, with
  // `skip_special_tokens`, tokens marked special. kUnsupported if the file has a decoder that Inlay does not know.
  Result<std::string> decode(std::span<const int32_t> ids, bool skip_special_tokens) const;

  // Number of ids that may occur: one more than the largest.
  int vocab_size() const;
  // Special tokens that the template adds to one text, and to a pair.
  int special_tokens(bool pair = false) const;
  // Whether the id belongs to an added token marked special.
  bool is_special(int32_t id) const;
  std::optional<int32_t> token_to_id(std::string_view token) const;
  // The token as the vocabulary spells it ("##ing"); nullopt for an id without one.
  std::optional<std::string_view> id_to_token(int32_t id) const;
  // "WordPiece", "Unigram", "BPE" or "WordLevel".
  std::string_view kind() const;
  // model_max_length of tokenizer_config.json when it is a sensible number.
  std::optional<int> model_max_length() const;

 private:
  struct Pipeline;
  explicit Tokenizer(std::unique_ptr<Pipeline> pipeline);
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace inlay
