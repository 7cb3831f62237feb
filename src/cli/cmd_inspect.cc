// inlay inspect: what a model folder holds.
#include <string>

#include "base/output_file.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/model_flags.h"
#include "jobs/inspect_job.h"

namespace inlay {
namespace {

class InspectCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    add_value(app, "model,--model", model_,
              "Folder of the model as Hugging Face lays it out, its name on the hub (org/name), or a .gguf file");
    flags_.add_compute_flags(app);
    add_switch(app, "--json", json_, "One line of JSON instead of a table");
    app.footer("Example:\n  inlay inspect all-MiniLM-L6-v2");
  }

  Result<> run(const Interrupt& interrupt) override {
    if (model_.empty()) return fail(ErrorCode::kInvalidArgument, "the folder of a model is missing");
    flags_.set_model(model_);
    const EngineOptions options = TRY(flags_.options(&interrupt));
    const ModelReport report = TRY(inspect_model(options));
    OutputFile out = TRY(OutputFile::create("-"));
    TRY_VOID(out.write(json_ ? report_json(report) : report_table(report)));
    TRY_VOID(out.commit());
    if (report.problem) return tl::unexpected<Error>(*report.problem);
    return {};
  }

 private:
  ModelFlags flags_;
  std::string model_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect_command() { return std::make_unique<InspectCommand>(); }

}  // namespace inlay
