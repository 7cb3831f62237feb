#include "tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "tokenizer/utf8.h"

namespace inlay {
namespace {

// What one match may take. The patterns of tokenizers take a few steps a character.
constexpr uint32_t kMaxSteps = 10'000'000;
constexpr size_t kFirstStack = 32 << 10;
constexpr size_t kMaxStack = 1 << 20;
constexpr uint32_t kMaxHeapKilobytes = 16 << 10;

std::string pcre_message(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return std::string(reinterpret_cast<const char*>(text));
}

}  // namespace

struct RegexScratch::Memory {
  Memory()
      : match(pcre2_match_data_create(1, nullptr)),
        context(pcre2_match_context_create(nullptr)),
        stack(pcre2_jit_stack_create(kFirstStack, kMaxStack, nullptr)) {
    if (!is_made()) return;
    pcre2_set_match_limit(context, kMaxSteps);
    pcre2_set_heap_limit(context, kMaxHeapKilobytes);
    pcre2_jit_stack_assign(context, nullptr, stack);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
    pcre2_match_data_free(match);
  }

  bool is_made() const { return match != nullptr && context != nullptr && stack != nullptr; }

  pcre2_match_data* match;
  pcre2_match_context* context;
  pcre2_jit_stack* stack;
};

RegexScratch::RegexScratch() = default;
RegexScratch::RegexScratch(RegexScratch&&) noexcept = default;
RegexScratch& RegexScratch::operator=(RegexScratch&&) noexcept = default;
RegexScratch::~RegexScratch() = default;

struct Regex::Code {
  explicit Code(pcre2_code* made) : code(made) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }

  pcre2_code* code;
};

Regex::Regex(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::build(std::string_view pattern, uint32_t options) {
  int error = 0;
  PCRE2_SIZE place = 0;
  pcre2_code* const code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                         options | PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &error, &place, nullptr);
  if (code == nullptr) return fail(ErrorCode::kCorrupt, "bad pattern at byte {}: {}", place, pcre_message(error));
  std::unique_ptr<Code> owner = std::make_unique<Code>(code);
  // Where PCRE2 cannot compile to machine code it interprets, with the same results.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return Regex(std::move(owner));
}

Result<Regex> Regex::compile(std::string_view pattern) {
  const std::string translated = TRY(to_pcre_pattern(pattern));
  // Oniguruma's ^ and $ are those of lines.
  return build(translated, PCRE2_UCP | PCRE2_MULTILINE);
}

Result<Regex> Regex::of_literal(std::string_view text) {
  if (text.empty()) return fail(ErrorCode::kUnsupported, "pattern is empty");
  return build(text, PCRE2_LITERAL);
}

Result<std::optional<Regex::Match>> Regex::next(std::string_view text, Cursor& cursor, RegexScratch& scratch) const {
  if (!scratch.memory_) scratch.memory_ = std::make_unique<RegexScratch::Memory>();
  RegexScratch::Memory& memory = *scratch.memory_;
  if (!memory.is_made()) return fail(ErrorCode::kUnavailable, "no memory for a regular expression");
  while (cursor.at <= text.size()) {
    const int found = pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), cursor.at,
                                  PCRE2_NO_UTF_CHECK, memory.match, memory.context);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0) return fail(ErrorCode::kTooLarge, "the tokenizer's pattern cannot be matched: {}", pcre_message(found));
    const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(memory.match);
    const Match match{bounds[0], bounds[1]};
    if (match.begin != match.end || cursor.last_end != match.end) {
      cursor.at = match.end;
      cursor.last_end = match.end;
      return std::optional<Match>(match);
    }
    if (cursor.at == text.size()) break;
    cursor.at += decode_utf8(text.data() + cursor.at, text.data() + text.size()).size;
  }
  cursor.at = text.size() + 1;
  return std::optional<Match>();
}

}  // namespace inlay
