#include "tokenizer/metaspace.h"

#include <algorithm>
#include <cstring>

namespace inlay {

bool Metaspace::prepends(std::string_view text, const StepState& state) const {
  if (text.starts_with(' ') || text.starts_with(options_.replacement)) return false;
  if (options_.prepend == PrependScheme::kFirst) return text.data() == state.start;
  return options_.prepend == PrependScheme::kAlways;
}

void Metaspace::cut(std::string_view text, std::vector<std::string_view>& pieces) const {
  const std::string& mark = options_.replacement;
  while (!text.empty()) {
    const size_t end = std::min(text.find(mark, text.starts_with(mark) ? mark.size() : 0), text.size());
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void Metaspace::split(std::string_view text, StepState& state, std::vector<std::string_view>& pieces) const {
  const std::string& mark = options_.replacement;
  const size_t spaces = static_cast<size_t>(std::count(text.begin(), text.end(), ' ')) + (prepends(text, state) ? 1 : 0);
  char* const begin = state.arena.allocate(text.size() + spaces * mark.size());
  char* out = begin;
  const auto put = [&](std::string_view part) {
    std::memcpy(out, part.data(), part.size());
    out += part.size();
  };
  if (prepends(text, state)) put(mark);
  for (size_t at = 0; at < text.size();) {
    const size_t space = std::min(text.find(' ', at), text.size());
    put(text.substr(at, space - at));
    if (space < text.size()) put(mark);
    at = space + 1;
  }
  const std::string_view written(begin, static_cast<size_t>(out - begin));
  state.arena.shrink(out);
  if (options_.split) {
    cut(written, pieces);
  } else if (!written.empty()) {
    pieces.push_back(written);
  }
}

// A mark in front stands for the first character.
std::vector<ByteRange> Metaspace::align(std::string_view text, std::span<const ByteRange> ranges,
                                        const StepState& state) const {
  const std::string& mark = options_.replacement;
  std::vector<ByteRange> result;
  if (prepends(text, state)) result.assign(mark.size(), ranges.front());
  for (size_t at = 0; at < text.size(); ++at) result.insert(result.end(), text[at] == ' ' ? mark.size() : 1, ranges[at]);
  return result;
}

}  // namespace inlay
