// Regular expressions of tokenizer.json, which are written for Oniguruma, on PCRE2 with its compiler.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace inlay {

// Memory that one search at a time needs. Made on first use; at most 1 MiB.
class RegexScratch {
 public:
  RegexScratch();
  RegexScratch(RegexScratch&&) noexcept;
  RegexScratch& operator=(RegexScratch&&) noexcept;
  ~RegexScratch();

 private:
  friend class Regex;
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

// The pattern in PCRE2's spelling: classes as Oniguruma has them (its white space, its version of Unicode), `\h` a hexadecimal
// digit, and so on. kUnsupported for what the two read differently and no tokenizer is known to use.
Result<std::string> to_pcre_pattern(std::string_view pattern);

// Immutable; const functions may run in any number of threads at once, each with its own scratch.
class Regex {
 public:
  struct Match {
    size_t begin;
    size_t end;
  };
  // Where a search goes on. Begin with {}.
  struct Cursor {
    size_t at = 0;
    std::optional<size_t> last_end;
  };

  static Result<Regex> compile(std::string_view pattern);
  // A pattern that matches just `text`, which is not empty.
  static Result<Regex> of_literal(std::string_view text);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // The next match, nullopt after the last. `text` is well-formed UTF-8. Empty matches count unless one follows another match
  // immediately. kTooLarge if the pattern takes too many steps or too much memory on this text.
  Result<std::optional<Match>> next(std::string_view text, Cursor& cursor, RegexScratch& scratch) const;

 private:
  struct Code;
  explicit Regex(std::unique_ptr<Code> code);
  static Result<Regex> build(std::string_view pattern, uint32_t options);
  std::unique_ptr<Code> code_;
};

}  // namespace inlay
