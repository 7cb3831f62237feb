#include "engine/scheduler.h"

#include "engine/scheduler_core.h"

namespace inlay {

Scheduler::Scheduler(std::unique_ptr<BatchRunner> runner, const SchedulerOptions& options)
    : core_(std::make_unique<SchedulerCore>(std::move(runner), options)) {}
Scheduler::Scheduler(const Engine& engine, const SchedulerOptions& options) : Scheduler(make_engine_runner(engine), options) {}
Scheduler::~Scheduler() = default;

std::optional<Overload> Scheduler::submit(WorkRequest request, std::function<void(WorkResult)> done) {
  return core_->submit(std::move(request), std::move(done));
}

bool Scheduler::drain(std::chrono::milliseconds limit) { return core_->drain(limit); }
SchedulerMetrics Scheduler::metrics() const { return core_->metrics(); }

}  // namespace inlay
