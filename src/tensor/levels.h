// Weights of four bits that stand for weights of eight: a code names one of sixteen levels, the factor of its group makes the
// level larger or smaller, and what comes out is the int8 weight of a column with one scale. So products of such weights are
// products of int8.
#pragma once

#include <stdint.h>

namespace inlay {

// Denser about 0, as weights are. 0 is among them, so that weights of zero and padding weigh nothing. The two sides end at
// different magnitudes; the sign of a group's factor says which side it needs more.
constexpr int8_t kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 0, 12, 25, 38, 53, 69, 89, 113};
constexpr int kZeroLevel = 8;  // the code of 0
constexpr int kLowestFactor = -8;
constexpr int kHighestFactor = 7;
// The largest weight there is: that of the lowest level under the lowest factor.
constexpr int kHighestLevelWeight = 127;

// Rounded to the nearest, halves up. Within -111..127; `code` is in 0..15, `factor` in -8..7.
constexpr int level_weight(int code, int factor) { return (kLevels[code] * factor + 4) >> 3; }

}  // namespace inlay
