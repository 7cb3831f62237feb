#include "tokenizer/decode_steps.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace inlay {
namespace {

// `from` is not empty.
void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

void clean_up(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

std::string join(const std::vector<std::string>& tokens) {
  return std::accumulate(tokens.begin(), tokens.end(), std::string(),
                         [](std::string all, const std::string& token) { return std::move(all) + token; });
}

int hex_digit(char byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

// The byte of a token like <0x0A>, -1 for any other token.
int byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  const int high = hex_digit(token[3]);
  const int low = hex_digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace

void DecodeWordPiece::apply(std::vector<std::string>& tokens, StepState&) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string& token = tokens[i];
    if (i > 0 && token.starts_with(prefix_)) {
      token.erase(0, prefix_.size());
    } else if (i > 0) {
      token = std::string(1, ' ').append(token);
    }
    if (cleanup_) clean_up(token);
  }
}

void DecodeByteLevel::apply(std::vector<std::string>& tokens, StepState&) const {
  std::string bytes;
  for (const std::string& token : tokens) bytes += from_byte_chars(token).value_or(token);
  tokens.assign(1, replace_invalid_utf8(bytes));
}

void DecodeMetaspace::apply(std::vector<std::string>& tokens, StepState&) const {
  for (size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], mark_, i == 0 && drops_first_ ? "" : " ");
}

void DecodeSuffix::apply(std::vector<std::string>& tokens, StepState&) const {
  for (size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
}

void DecodeByteFallback::apply(std::vector<std::string>& tokens, StepState&) const {
  std::vector<std::string> result;
  std::string bytes;
  const auto end_bytes = [&] {
    if (!bytes.empty() && is_valid_utf8(bytes)) {
      result.push_back(bytes);
    } else {
      result.insert(result.end(), bytes.size(), "\uFFFD");
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    const int byte = byte_of(token);
    if (byte >= 0) {
      bytes += static_cast<char>(byte);
      continue;
    }
    end_bytes();
    result.push_back(std::move(token));
  }
  end_bytes();
  tokens = std::move(result);
}

void DecodeFuse::apply(std::vector<std::string>& tokens, StepState&) const { tokens.assign(1, join(tokens)); }

void DecodeStrip::apply(std::vector<std::string>& tokens, StepState&) const {
  for (std::string& token : tokens) {
    std::string_view rest = token;
    for (size_t count = 0; count < counts_.start && rest.starts_with(character_); ++count)
      rest.remove_prefix(character_.size());
    for (size_t count = 0; count < counts_.stop && rest.ends_with(character_); ++count) rest.remove_suffix(character_.size());
    token = std::string(rest);
  }
}

void DecodeReplace::apply(std::vector<std::string>& tokens, StepState& state) const {
  for (std::string& token : tokens) {
    std::string result;
    size_t done = 0;
    Regex::Cursor cursor;
    while (true) {
      const Result<std::optional<Regex::Match>> found = regex_.next(token, cursor, state.regex);
      if (!found) state.error = found.error();
      if (!found || !state.allows(result.size() + content_.size())) return;
      const std::optional<Regex::Match>& match = *found;
      if (!match) break;
      result.append(token, done, match->begin - done).append(content_);
      done = match->end;
    }
    token = result.append(token, done);
  }
}

}  // namespace inlay
