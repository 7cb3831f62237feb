#include "cli/served_models.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "cli/flags.h"
#include "engine/validation_report.h"

namespace inlay {
namespace {

// The name that clients use: the folder's.
std::string name_of(const std::filesystem::path& model) {
  const std::filesystem::path path = model.lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

// "NAME=FOLDER" or "FOLDER". A folder's name may have an equals sign in it.
LoadRequest request_of(const std::string& model) {
  const size_t equals = model.find('=');
  std::error_code ignored;
  if (equals == std::string::npos || equals == 0 || std::filesystem::exists(model, ignored)) return {name_of(model), model, 1};
  return {model.substr(0, equals), model.substr(equals + 1), 1};
}

Result<std::pair<std::string, double>> weight_of(const std::string& text) {
  const size_t equals = text.rfind('=');
  double weight = 0;
  if (equals != std::string::npos) {
    const char* const begin = text.data() + equals + 1;
    const char* const end = text.data() + text.size();
    const std::from_chars_result parsed = std::from_chars(begin, end, weight);
    if (parsed.ec != std::errc() || parsed.ptr != end) weight = 0;
  }
  if (!(weight > 0 && weight <= 1000)) {
    return fail(ErrorCode::kInvalidArgument, "--model-weight {}: wanted NAME=NUMBER, more than 0 and at most 1000", text);
  }
  return std::pair<std::string, double>(text.substr(0, equals), weight);
}

Result<std::unique_ptr<EmbedService>> load_one(ModelFlags flags, const LoadRequest& request, const SchedulerOptions& limits,
                                               CoreShare& cores, const Interrupt* interrupt = nullptr) {
  flags.set_model(request.folder);
  const EngineOptions engine = interrupt == nullptr ? TRY(flags.options()) : TRY(flags.chosen_options(*interrupt));
  std::unique_ptr<EmbedService> service = TRY(load_service(engine, request.name, limits, CorePart{cores, request.weight}));
  const Precision precision = precision_from_name(service->facts().dtype).value_or(engine.dtype);
  if (const std::optional<std::string> warning = validation_warning(engine.model, precision)) spdlog::warn("{}", *warning);
  return service;
}

}  // namespace

void ServedModelFlags::add_to(CLI::App& app, ModelFlags& flags) {
  flags.add_all(app);
  app.remove_option(app.get_option("--model"));
  add_value(app, "--model", models_,
            "Folder of a model or its name on the hub, or NAME=MODEL; may be given more than once. The first answers requests "
            "that name none")
      ->allow_extra_args(false);
  add_value(app, "--served-model-name", name_, "What clients call the first model; the folder's name unless given");
  add_value(app, "--model-weight", weights_, "NAME=NUMBER: the model's share of the cores against the others' 1; repeatable")
      ->allow_extra_args(false);
}

Result<std::vector<LoadRequest>> ServedModelFlags::requests() const {
  if (models_.empty()) return fail(ErrorCode::kInvalidArgument, "--model is missing: the folder of a model");
  std::vector<LoadRequest> requests;
  for (const std::string& model : models_) requests.push_back(request_of(model));
  if (!name_.empty()) requests.front().name = name_;
  for (const std::string& text : weights_) {
    const std::pair<std::string, double> weight = TRY(weight_of(text));
    const auto is_meant = [&](const LoadRequest& request) { return request.name == weight.first; };
    const std::vector<LoadRequest>::iterator found = std::find_if(requests.begin(), requests.end(), is_meant);
    if (found == requests.end()) {
      return fail(ErrorCode::kInvalidArgument, "--model-weight {}: no model is called '{}'", text, weight.first);
    }
    found->weight = weight.second;
  }
  return requests;
}

Result<ServedModels> ServedModelFlags::load(const ModelFlags& flags, const SchedulerOptions& limits, CoreShare& cores,
                                            const Interrupt& interrupt) const {
  ServedModels models;
  for (const LoadRequest& request : TRY(requests())) {
    models.push_back(TRY(load_one(flags, request, limits, cores, &interrupt).map_error(within(request.name))));
  }
  return models;
}

ModelLoader ServedModelFlags::loader(const ModelFlags& flags, const SchedulerOptions& limits, CoreShare& cores) const {
  std::map<std::string, LoadRequest> known;
  const Result<std::vector<LoadRequest>> given = requests();
  for (const LoadRequest& request : given ? *given : std::vector<LoadRequest>()) known[request.name] = request;
  return [flags, limits, &cores, known = std::move(known)](const LoadRequest& wanted) -> Result<std::unique_ptr<EmbedService>> {
    if (!wanted.folder.empty()) return load_one(flags, wanted, limits, cores);
    const std::map<std::string, LoadRequest>::const_iterator found = known.find(wanted.name);
    if (found != known.end()) return load_one(flags, found->second, limits, cores);
    return fail(ErrorCode::kInvalidArgument, "`model` is missing: the folder of '{}'", wanted.name);
  };
}

}  // namespace inlay
