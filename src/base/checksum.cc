#include "base/checksum.h"

#include <bit>
#include <cstring>

namespace inlay {
namespace {

// Odd, so that multiplying by it loses nothing: two different words leave a lane in two different states.
constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;

uint64_t mix(uint64_t state, uint64_t word) { return std::rotl((state ^ word) * kMultiplier, 29); }

}  // namespace

Checksum::Checksum() {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) lanes_[lane] = mix(kMultiplier, lane);
}

// Lanes that don't wait for one another keep the multiplier busy: the speed is that of memory.
void Checksum::add_block(const std::byte* block) {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    uint64_t word = 0;
    std::memcpy(&word, block + lane * sizeof(word), sizeof(word));
    lanes_[lane] = mix(lanes_[lane], word);
  }
}

void Checksum::add(std::span<const std::byte> bytes) {
  for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) add_block(bytes.data());
  if (bytes.empty()) return;
  std::array<std::byte, kBlock> last = {};
  std::memcpy(last.data(), bytes.data(), bytes.size());
  add_block(last.data());
}

uint64_t Checksum::value() const {
  uint64_t sum = 0;
  for (const uint64_t lane : lanes_) sum = mix(sum, lane);
  return sum ^ (sum >> 32U);
}

}  // namespace inlay
