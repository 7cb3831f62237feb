#include "engine/batch_runner.h"
#include "engine/scheduler.h"
#include "server/engine_service.h"

namespace inlay {
namespace {

class ScheduledService final : public EngineService {
 public:
  ScheduledService(std::shared_ptr<const Engine> loaded, std::string name, const ServingOptions& options,
                   const SchedulerOptions& limits, const CorePart& part)
      : EngineService(std::move(loaded), std::move(name), options, limits),
        scheduler_(part.cores.share(make_engine_runner(engine()), part.weight), limits) {}

  std::optional<Overload> submit(WorkRequest request, std::function<void(WorkResult)> done) override {
    return scheduler_.submit(std::move(request), std::move(done));
  }
  SchedulerMetrics scheduler() const override { return scheduler_.metrics(); }
  bool drain(std::chrono::milliseconds limit) override { return scheduler_.drain(limit); }

 private:
  Scheduler scheduler_;
};

}  // namespace

std::unique_ptr<EmbedService> make_service(std::shared_ptr<const Engine> engine, const std::string& name,
                                           const ServingOptions& options, const SchedulerOptions& limits,
                                           const CorePart& part) {
  return std::make_unique<ScheduledService>(std::move(engine), name, options, limits, part);
}

Result<std::unique_ptr<EmbedService>> load_service(const EngineOptions& options, const std::string& name,
                                                   const SchedulerOptions& limits, const CorePart& part) {
  const ServingOptions serving = TRY(options_for_serving(options));
  Engine engine = TRY(Engine::load(serving.engine));
  return make_service(std::make_shared<const Engine>(std::move(engine)), name, serving, limits, part);
}

}  // namespace inlay
