// Writes Oniguruma's patterns in PCRE2's spelling. What both read alike is copied; classes are spelt out, since the two differ
// in what they hold; the rest is turned down rather than guessed.
#include <algorithm>
#include <charconv>
#include <iterator>

#include "tokenizer/regex.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

struct CodeRange {
  uint32_t low;
  uint32_t high;
};

// A class of Oniguruma: what PCRE2 has for it, and the characters to add, a slice of kExtraRanges.
struct PropertyClass {
  std::string_view name;
  std::string_view inner;  // to stand in brackets
  size_t begin;
  size_t end;
};

#include "tokenizer/regex_tables.inc"

// A class may grow to a thousand bytes, so that this bounds what is made.
constexpr size_t kMaxSource = 4096;

constexpr std::string_view kWhite =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNotWhite =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e})"
    R"(\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";

std::optional<std::string> find_class(std::string_view name) {
  const PropertyClass* const found = std::find_if(std::begin(kPropertyClasses), std::end(kPropertyClasses),
                                                  [&](const PropertyClass& item) { return item.name == name; });
  if (found == std::end(kPropertyClasses)) return std::nullopt;
  std::string inner(found->inner);
  for (size_t i = found->begin; i < found->end; ++i) {
    inner += fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", kExtraRanges[i].low, kExtraRanges[i].high);
  }
  return inner;
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> run() {
    if (!is_valid_utf8(pattern_)) return fail(ErrorCode::kCorrupt, "pattern is not valid UTF-8");
    while (at_ < pattern_.size()) {
      TRY_VOID(peek() == '\\' ? escape() : in_class_ ? class_character() : character());
    }
    return std::move(out_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0'; }
  bool starts(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  tl::unexpected<Error> refuse(std::string_view what) const {
    return fail(ErrorCode::kUnsupported, "pattern at byte {}: Inlay does not read {}", at_, what);
  }
  void copy(size_t count) {
    out_.append(pattern_.substr(at_, count));
    at_ += count;
  }

  Result<> character() {
    if (peek() == '(') return group();
    if (peek() == '{') return interval();
    if (peek() == '[') {
      in_class_ = true;
      copy(peek(1) == '^' ? 2 : 1);
      if (peek() == ']') copy(1);
      return {};
    }
    copy(1);
    return {};
  }

  Result<> class_character() {
    if (peek() == '[') return refuse("a class inside a class");
    if (starts("&&")) return refuse("an intersection of classes");
    in_class_ = peek() != ']';
    copy(1);
    return {};
  }

  Result<> group() {
    if (peek(1) == '*') return refuse("verbs");
    if (peek(1) == '?') {
      constexpr std::string_view kKnown[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?-i:", "(?i)", "(?-i)"};
      const bool is_known =
          std::any_of(std::begin(kKnown), std::end(kKnown), [&](std::string_view text) { return starts(text); });
      if (!is_known) return refuse("this kind of group");
    }
    copy(1);
    return {};
  }

  // {n}, {n,}, {n,m} or {,m}; any other brace stands for itself.
  Result<> interval() {
    size_t end = at_ + 1;
    const auto skip_digits = [&] {
      while (end < pattern_.size() && pattern_[end] >= '0' && pattern_[end] <= '9') ++end;
      return end;
    };
    const size_t low_end = skip_digits();
    const bool has_low = low_end > at_ + 1;
    const bool has_comma = end < pattern_.size() && pattern_[end] == ',';
    if (has_comma) ++end;
    const bool has_high = has_comma && skip_digits() > low_end + 1;
    const bool is_interval = (has_low || has_high) && end < pattern_.size() && pattern_[end] == '}';
    if (!is_interval) {
      out_ += "\\{";
      ++at_;
      return {};
    }
    if (end + 1 < pattern_.size() && (pattern_[end + 1] == '+' || (pattern_[end + 1] == '?' && !has_comma))) {
      return refuse("an interval that is itself repeated");
    }
    if (!has_low) out_ += "{0";
    if (!has_low) ++at_;
    copy(end + 1 - at_);
    return {};
  }

  Result<> escape() {
    const char kind = peek(1);
    const bool is_letter = (kind >= 'a' && kind <= 'z') || (kind >= 'A' && kind <= 'Z');
    if (at_ + 1 == pattern_.size()) return refuse("a backslash at the end");
    if (!is_letter) return plain_escape(kind);
    switch (kind) {
      case 'p':
      case 'P': return property(kind == 'P');
      case 's': return add_class(2, std::string(kWhite), false);
      case 'S': return in_class_ ? add_class(2, std::string(kNotWhite), false) : add_class(2, std::string(kWhite), true);
      case 'd':
      case 'D': return add_class(2, *find_class("Nd"), kind == 'D');
      case 'w':
      case 'W': return add_class(2, *find_class("w"), kind == 'W');
      case 'h':
      case 'H': return add_class(2, "0-9a-fA-F", kind == 'H');
      case 'x':
      case 'u': return code_point();
      case 'v': return replace(2, "\\x{b}");
      case 'b':
      case 'B': return boundary(kind == 'B');
      default: break;
    }
    if (std::string_view("ntrfae").find(kind) == std::string_view::npos &&
        (in_class_ || std::string_view("AzZ").find(kind) == std::string_view::npos)) {
      return refuse(fmt::format("\\{}", kind));
    }
    copy(2);
    return {};
  }

  Result<> plain_escape(char kind) {
    if (kind == '0' || (in_class_ && kind >= '1' && kind <= '9')) return refuse("octal escapes");
    out_ += '\\';
    ++at_;
    // A character beyond ASCII stands for itself.
    if ((kind & 0x80) != 0) out_.pop_back();
    copy(decode_utf8(pattern_.data() + at_, pattern_.data() + pattern_.size()).size);
    return {};
  }

  Result<> replace(size_t size, std::string_view text) {
    out_ += text;
    at_ += size;
    return {};
  }

  Result<> add_class(size_t size, std::string inner, bool is_negated) {
    if (in_class_ && is_negated) return refuse("a negated class inside a class");
    at_ += size;
    out_ += in_class_ ? inner : fmt::format("[{}{}]", is_negated ? "^" : "", inner);
    // What follows a class is no range.
    if (in_class_ && peek() == '-') return replace(1, "\\-");
    return {};
  }

  Result<> property(bool is_negated) {
    const size_t end = pattern_.find('}', at_);
    if (peek(2) != '{' || end == std::string_view::npos) return refuse("\\p without a name in braces");
    std::string_view name = pattern_.substr(at_ + 3, end - at_ - 3);
    if (name.starts_with('^')) {
      is_negated = !is_negated;
      name.remove_prefix(1);
    }
    const std::optional<std::string> inner = name == "w" ? std::nullopt : find_class(name);
    if (!inner) return refuse(fmt::format("the property '{}'", name));
    return add_class(end + 1 - at_, *inner, is_negated);
  }

  // \x41, \x{1F600} and \u00E9.
  Result<> code_point() {
    std::string_view digits = pattern_.substr(at_ + 2);
    size_t size = 0;
    if (peek(1) == 'x' && peek(2) == '{') {
      const size_t end = std::min(digits.find('}'), digits.size());
      size = 3 + end;
      digits = digits.substr(1, end - 1);
    } else {
      digits = digits.substr(0, peek(1) == 'x' ? 2 : 4);
      size = 2 + digits.size();
    }
    uint32_t code = 0;
    const std::from_chars_result parsed = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    const bool is_byte = peek(1) == 'x' && peek(2) != '{';
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || code > 0x10FFFF ||
        (is_byte && code > 0x7F)) {
      return refuse("this code point");
    }
    return replace(size, fmt::format("\\x{{{:x}}}", code));
  }

  Result<> boundary(bool is_negated) {
    if (in_class_) return is_negated ? refuse("\\B inside a class") : replace(2, "\\x{8}");
    const std::string word = fmt::format("[{}]", *find_class("w"));
    const std::string_view format = is_negated ? "(?:(?<={0})(?={0})|(?<!{0})(?!{0}))" : "(?:(?<={0})(?!{0})|(?<!{0})(?={0}))";
    return replace(2, fmt::format(fmt::runtime(format), word));
  }

  std::string_view pattern_;
  size_t at_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

Result<std::string> to_pcre_pattern(std::string_view pattern) {
  if (pattern.size() > kMaxSource) {
    return fail(ErrorCode::kTooLarge, "pattern has {} bytes, at most {} are read", pattern.size(), kMaxSource);
  }
  return Translator(pattern).run();
}

}  // namespace inlay
