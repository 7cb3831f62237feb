#include "tokenizer/bert_encoder.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace inlay {

// One pass over one chunk. The word in progress is kept in a buffer that never holds more than a word may have.
class BertScanner {
 public:
  BertScanner(const BertEncoder& encoder, ModelScratch& scratch, IdSink& sink)
      : encoder_(encoder), scratch_(scratch), sink_(sink), word_(kFirstRoom, '\0') {
    const size_t max_chars = encoder.model_.max_chars();
    // A word of more bytes than this has too many characters, whichever they are.
    word_limit_ = max_chars > kUnlimited / 4 ? kUnlimited : max_chars * 4;
  }

  void scan(std::string_view chunk) {
    const char* at = chunk.data();
    const char* const end = at + chunk.size();
    while (at < end && !sink_.is_full()) {
      at = scan_ascii(at, end);
      if (at == end || static_cast<uint8_t>(*at) < 0x80) continue;
      const Decoded character = decode_utf8(at, end);
      at += character.size;
      take(character.code);
    }
    end_word();
  }

 private:
  static constexpr size_t kFirstRoom = 512;
  static constexpr size_t kSlack = 16;  // bytes that may be written behind size_ without asking for room
  static constexpr size_t kUnlimited = SIZE_MAX / 8;

  // Copies plain characters until one that does something else, and does that.
  const char* scan_ascii(const char* at, const char* end) {
    make_room();
    const char* const stop = at + std::min<size_t>(static_cast<size_t>(end - at), word_.size() - kSlack - size_);
    char* out = word_.data() + size_;
    BertEncoder::AsciiFold fold{FoldAction::kCopy, 0};
    for (; at < stop; ++at) {
      fold = encoder_.ascii_[static_cast<uint8_t>(*at)];
      if (fold.action != FoldAction::kCopy) break;
      *out++ = fold.byte;
    }
    size_ = static_cast<size_t>(out - word_.data());
    if (at == stop || fold.action == FoldAction::kMany) return at;
    if (fold.action != FoldAction::kDrop) end_word();
    if (fold.action == FoldAction::kSingle) encoder_.model_.tokenize({&fold.byte, 1}, scratch_, sink_);
    return at + 1;
  }

  void take(uint32_t code) {
    const Fold fold = encoder_.fold_.at(code);
    switch (fold.action) {
      case FoldAction::kCopy:
        make_room();
        std::memcpy(word_.data() + size_, fold.bytes, sizeof fold.bytes);
        size_ += fold.size;
        break;
      case FoldAction::kBreak: end_word(); break;
      case FoldAction::kSingle:
        end_word();
        encoder_.model_.tokenize({fold.bytes, fold.size}, scratch_, sink_);
        break;
      case FoldAction::kDrop: break;
      case FoldAction::kBarrier: barrier_ = size_; break;
      case FoldAction::kMany:
        for (const BertFold::Step& step : encoder_.fold_.steps(code)) take_step(step);
        break;
    }
  }

  void take_step(const BertFold::Step& step) {
    char bytes[4];
    const size_t size = encode_utf8(step.code, bytes);
    switch (step.action) {
      case FoldAction::kCopy: insert(step.rank, {bytes, size}); break;
      case FoldAction::kSingle:
        end_word();
        encoder_.model_.tokenize({bytes, size}, scratch_, sink_);
        break;
      case FoldAction::kBreak: end_word(); break;
      case FoldAction::kBarrier: barrier_ = size_; break;
      case FoldAction::kDrop:
      case FoldAction::kMany: break;
    }
  }

  // Canonical ordering: a mark goes before the marks of higher rank that end the word.
  void insert(uint8_t rank, std::string_view bytes) {
    make_room();
    size_t place = size_;
    while (rank > 0 && place > barrier_) {
      const Decoded previous = decode_utf8_before(word_.data(), word_.data() + place);
      if (char_class(previous.code).rank <= rank) break;
      place -= previous.size;
    }
    std::memmove(word_.data() + place + bytes.size(), word_.data() + place, size_ - place);
    std::memcpy(word_.data() + place, bytes.data(), bytes.size());
    size_ += bytes.size();
  }

  // Leaves room for kSlack bytes and more. A word beyond the limit is an unknown token whatever it holds, so it is not kept.
  void make_room() {
    if (size_ > word_limit_) {
      is_too_long_ = true;
      size_ = barrier_ = 0;
    }
    if (size_ + 2 * kSlack > word_.size()) word_.resize(word_.size() * 2);
  }

  void end_word() {
    if (is_too_long_) {
      sink_.push(encoder_.model_.unknown_id());
    } else if (size_ > 0) {
      encoder_.model_.tokenize({word_.data(), size_}, scratch_, sink_);
    }
    size_ = barrier_ = 0;
    is_too_long_ = false;
  }

  const BertEncoder& encoder_;
  ModelScratch& scratch_;
  IdSink& sink_;
  std::string word_;
  size_t size_ = 0;     // bytes of the word so far
  size_t barrier_ = 0;  // marks do not pass this place
  size_t word_limit_ = 0;
  bool is_too_long_ = false;
};

BertEncoder::BertEncoder(const BertOptions& options, const WordPiece& model)
    : fold_(options), model_(model), cuts_ideographs_(options.handle_chinese_chars) {
  ascii_.fill({FoldAction::kMany, 0});
  for (uint32_t code = 0; code < 0x80; ++code) {
    const Fold fold = fold_.at(code);
    ascii_[code] = {fold.action, fold.bytes[0]};
  }
}

// A space always ends a word, and so does an ideograph where they are spaced; nothing on one side of the cut can change the
// other.
size_t BertEncoder::find_cut(std::string_view text, size_t from) const {
  for (size_t at = from + 1; at < text.size(); ++at) {
    const uint8_t byte = static_cast<uint8_t>(text[at]);
    if (byte == ' ' || byte == '\n') return at;
    // Leads of U+5000-8FFF, ideographs all of them.
    const bool is_ideograph = byte >= 0xE5 && byte <= 0xE8;
    if (is_ideograph && cuts_ideographs_ && decode_utf8(text.data() + at, text.data() + text.size()).valid) return at;
  }
  return text.size();
}

void BertEncoder::encode(std::string_view chunk, EncodeState& state, IdSink& sink) const {
  BertScanner(*this, state.scratch, sink).scan(chunk);
}

}  // namespace inlay
