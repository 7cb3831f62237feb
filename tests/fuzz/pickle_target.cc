#include "weights/pickle.h"

#include <array>

#include "base/check.h"
#include "fuzz_target.h"
#include "weight_bytes.h"

namespace inlay {

bool fuzz_pickle(std::string_view bytes) {
  static constexpr std::array<std::string_view, 3> kNames = {"collections OrderedDict", "torch Size",
                                                             "torch._utils _rebuild_tensor_v2"};
  const Result<Pickle> pickle = read_pickle(as_bytes(bytes), kNames, "p");
  if (!pickle) return false;
  INLAY_CHECK(pickle->size <= bytes.size() && pickle->root < pickle->nodes.size(), "a pickle lies in its bytes");
  for (const PickleNode& node : pickle->nodes) {
    for (const uint32_t item : node.items) INLAY_CHECK(item < pickle->nodes.size(), "an item is a node");
  }
  return true;
}

}  // namespace inlay
