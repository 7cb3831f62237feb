#include "jobs/validate/script.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace inlay {
namespace {

constexpr std::array<std::string_view, 22> kNames = {"other",    "Latin",    "Han",      "Kana",       "Hangul",    "Cyrillic",
                                                     "Greek",    "Arabic",   "Hebrew",   "Devanagari", "Thai",      "Bengali",
                                                     "Tamil",    "Telugu",   "Gujarati", "Kannada",    "Malayalam", "Georgian",
                                                     "Armenian", "Ethiopic", "Khmer",    "Myanmar"};

struct ScriptRange {
  uint32_t first;
  uint32_t last;
  uint8_t name;  // in kNames
};

// The blocks that hold the letters of everyday text, in order.
constexpr ScriptRange kRanges[] = {
    {0x41, 0x5A, 1},      {0x61, 0x7A, 1},      {0xC0, 0x24F, 1},     {0x370, 0x3FF, 6},    {0x400, 0x52F, 5},
    {0x531, 0x58F, 18},   {0x591, 0x5F4, 8},    {0x600, 0x6FF, 7},    {0x750, 0x77F, 7},    {0x900, 0x97F, 9},
    {0x980, 0x9FF, 11},   {0xA80, 0xAFF, 14},   {0xB80, 0xBFF, 12},   {0xC00, 0xC7F, 13},   {0xC80, 0xCFF, 15},
    {0xD00, 0xD7F, 16},   {0xE00, 0xE7F, 10},   {0x1000, 0x109F, 21}, {0x10A0, 0x10FF, 17}, {0x1100, 0x11FF, 4},
    {0x1200, 0x139F, 19}, {0x1780, 0x17FF, 20}, {0x1C90, 0x1CBF, 17}, {0x1E00, 0x1EFF, 1},  {0x1F00, 0x1FFF, 6},
    {0x3040, 0x30FF, 3},  {0x3130, 0x318F, 4},  {0x31F0, 0x31FF, 3},  {0x3400, 0x4DBF, 2},  {0x4E00, 0x9FFF, 2},
    {0xAC00, 0xD7FF, 4},  {0xF900, 0xFAFF, 2},  {0xFB1D, 0xFB4F, 8},  {0xFB50, 0xFDFF, 7},  {0xFE70, 0xFEFF, 7},
    {0xFF66, 0xFF9F, 3},  {0x20000, 0x323AF, 2}};
constexpr size_t kHan = 2;
constexpr size_t kKana = 3;
// More letters than a guess needs.
constexpr size_t kLettersRead = 2000;

size_t script_of_letter(uint32_t letter) {
  const ScriptRange* after = std::upper_bound(std::begin(kRanges), std::end(kRanges), letter,
                                              [](uint32_t value, const ScriptRange& range) { return value < range.first; });
  if (after == std::begin(kRanges)) return 0;
  const ScriptRange& range = *(after - 1);
  return letter <= range.last ? range.name : 0;
}

// Takes one character off the front; 0 for a byte that begins none.
uint32_t take_letter(std::string_view& text) {
  const uint8_t lead = static_cast<uint8_t>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 0;
  if (length == 0 || length > text.size()) {
    text.remove_prefix(1);
    return 0;
  }
  uint32_t letter = length == 1 ? lead : lead & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) letter = letter << 6 | (static_cast<uint8_t>(text[i]) & 0x3FU);
  text.remove_prefix(length);
  return letter;
}

}  // namespace

std::string_view script_of(std::string_view text) {
  std::array<size_t, kNames.size()> counts = {};
  size_t letters = 0;
  while (!text.empty() && letters < kLettersRead) {
    const size_t script = script_of_letter(take_letter(text));
    if (script == 0) continue;
    ++counts[script];
    ++letters;
  }
  if (counts[kKana] * 10 >= letters && counts[kKana] > 0) return kNames[kKana];
  if (counts[kKana] > 0) counts[kHan] += counts[kKana];
  const size_t most = static_cast<size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  return kNames[counts[most] > 0 ? most : 0];
}

}  // namespace inlay
