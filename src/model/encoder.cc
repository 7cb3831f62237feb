#include "model/encoder.h"

#include <array>

#include "model/bert.h"

namespace inlay {
namespace {

using Loader = Result<std::unique_ptr<Encoder>> (*)(const EncoderConfig&, const WeightStore&, const LoadPlan&, Team&);

struct Architecture {
  std::string_view model_type;
  Loader load;
};

// An architecture is a file and a line here.
constexpr std::array<Architecture, 7> kArchitectures = {{
    {"bert", load_bert},
    {"roberta", load_bert},
    {"xlm-roberta", load_bert},
    {"camembert", load_bert},
    {"distilbert", load_bert},
    {"electra", load_bert},
    {"albert", load_bert},
}};

}  // namespace

Result<std::unique_ptr<Encoder>> load_encoder(const EncoderConfig& config, const WeightStore& weights, const LoadPlan& plan,
                                              Team& team) {
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.model_type != config.model_type) continue;
    std::unique_ptr<Encoder> encoder = TRY(architecture.load(config, weights, plan, team));
    weights.release_all();  // Small tensors share pages with large ones, and reading one page brings its neighbours along.
    return encoder;
  }
  return fail(ErrorCode::kUnsupported, "config.json: model_type: found '{}', which no architecture here serves",
              config.model_type);
}

}  // namespace inlay
