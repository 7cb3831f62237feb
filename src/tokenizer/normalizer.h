// The text-to-text steps of tokenizer.json, for pipelines that have no faster way (see bert_encoder.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/aligned_text.h"
#include "tokenizer/normal_form.h"
#include "tokenizer/step_state.h"

namespace inlay {

// Immutable; `apply` may run in any number of threads at once, each with its own state. Text is well-formed UTF-8 before and
// after; with `state.error` set it is of no use.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(std::string& text, StepState& state) const = 0;
  // The same on a text that keeps track of its origin.
  virtual void align(AlignedText& text, StepState& state) const = 0;
  // Text may be cut between an ASCII letter or digit and a space that another one follows, and each part normalized alone.
  virtual bool is_local() const { return true; }
};

// A step that looks at one character at a time.
class CharNormalizer : public Normalizer {
 public:
  void align(AlignedText& text, StepState& state) const final;
};

using Normalizers = std::vector<std::unique_ptr<Normalizer>>;

struct BertOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;  // null in a file means "as lowercase"; this is what came of it
  bool lowercase = true;
  // Lower-cases before everything else: what do_lower_case of sentence_bert_config.json asks of a cased tokenizer.
  bool lowercase_first = false;
};

// `options.lowercase_first` is left to a LowercaseNormalizer before this one.
class BertNormalizer final : public Normalizer {
 public:
  explicit BertNormalizer(const BertOptions& options) : options_(options) {}
  void apply(std::string& text, StepState& state) const override;
  void align(AlignedText& text, StepState& state) const override;

 private:
  std::string clean(std::string_view text) const;

  BertOptions options_;
};

class LowercaseNormalizer final : public CharNormalizer {
 public:
  void apply(std::string& text, StepState& state) const override;
};

class NormalFormNormalizer final : public Normalizer {
 public:
  explicit NormalFormNormalizer(NormalForm form) : form_(form) {}
  void apply(std::string& text, StepState&) const override { text = to_normal_form(text, form_); }
  void align(AlignedText& text, StepState&) const override { text.transform(normal_form_edits(text.text(), form_)); }

 private:
  NormalForm form_;
};

class StripAccentsNormalizer final : public CharNormalizer {
 public:
  void apply(std::string& text, StepState& state) const override;
};

class StripNormalizer final : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  void apply(std::string& text, StepState& state) const override;
  void align(AlignedText& text, StepState& state) const override;
  bool is_local() const override { return false; }

 private:
  std::string_view strip(std::string_view text) const;

  bool left_;
  bool right_;
};

// Replaces a fixed string.
class ReplaceNormalizer final : public Normalizer {
 public:
  // `pattern` is not empty.
  ReplaceNormalizer(std::string pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(std::string& text, StepState& state) const override;
  void align(AlignedText& text, StepState& state) const override;
  bool is_local() const override { return false; }

 private:
  std::string pattern_;
  std::string content_;
};

// Replaces what a regular expression matches.
class RegexReplaceNormalizer final : public Normalizer {
 public:
  RegexReplaceNormalizer(Regex regex, std::string content) : regex_(std::move(regex)), content_(std::move(content)) {}
  void apply(std::string& text, StepState& state) const override;
  void align(AlignedText& text, StepState& state) const override;
  bool is_local() const override { return false; }

 private:
  Regex regex_;
  std::string content_;
};

// Nmt: drops control characters, and makes spaces of white ones, of joiners and of U+2581.
class NmtNormalizer final : public CharNormalizer {
 public:
  void apply(std::string& text, StepState& state) const override;
};

// ByteLevel: writes every byte as its character of GPT-2's alphabet.
class ByteLevelNormalizer final : public CharNormalizer {
 public:
  void apply(std::string& text, StepState& state) const override;
};

class PrependNormalizer final : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(std::string& text, StepState& state) const override {
    if (!text.empty() && state.allows(text.size() + prefix_.size())) text.insert(0, prefix_);
  }
  void align(AlignedText& text, StepState&) const override { text.prepend(prefix_); }
  bool is_local() const override { return false; }

 private:
  std::string prefix_;
};

}  // namespace inlay
