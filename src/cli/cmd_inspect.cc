// inlay inspect: what a model folder holds.
#include <string>

#include "base/output_file.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "jobs/inspect_job.h"

namespace inlay {
namespace {

class InspectCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    add_value(app, "model,--model", model_, "Folder of the model, as Hugging Face lays it out");
    add_switch(app, "--json", json_, "One line of JSON instead of a table");
    app.footer("Example:\n  inlay inspect all-MiniLM-L6-v2");
  }

  Result<> run(const Interrupt&) override {
    if (model_.empty()) return fail(ErrorCode::kInvalidArgument, "the folder of a model is missing");
    const ModelReport report = TRY(inspect_model(model_));
    OutputFile out = TRY(OutputFile::create("-"));
    TRY_VOID(out.write(json_ ? report_json(report) : report_table(report)));
    TRY_VOID(out.commit());
    if (report.problem) return tl::unexpected<Error>(*report.problem);
    return {};
  }

 private:
  std::string model_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect_command() { return std::make_unique<InspectCommand>(); }

}  // namespace inlay
