// inlay pull: downloads a model, or says where it lies.
#include <string>

#include "base/output_file.h"
#include "cli/command.h"
#include "cli/download_bar.h"
#include "cli/flags.h"

namespace inlay {
namespace {

class PullCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    add_value(app, "model,--model", model_, "Name on the hub: org/name, or org/name@revision for a branch, tag or commit");
    app.footer(
        "Prints the folder that --model of the other commands takes too. The cache is that of huggingface_hub.\n"
        "Environment: HF_ENDPOINT (a mirror), HF_TOKEN, HF_HOME or HF_HUB_CACHE (where models are kept), HF_HUB_OFFLINE=1.\n"
        "Example:\n  inlay pull sentence-transformers/all-MiniLM-L6-v2");
  }

  Result<> run(const Interrupt& interrupt) override {
    const std::optional<ModelId> id = parse_model_id(model_);
    if (!id)
      return fail(ErrorCode::kInvalidArgument, "'{}' is no name of a model on the hub: wanted org/name[@revision]", model_);
    DownloadBar bar;
    const std::filesystem::path folder = TRY(pull_model(*id, hub_options_from_environment(), bar.pull_options(&interrupt)));
    OutputFile out = TRY(OutputFile::create("-"));
    TRY_VOID(out.write(folder.string() + "\n"));
    return out.commit();
  }

 private:
  std::string model_;
};

}  // namespace

std::unique_ptr<Command> make_pull_command() { return std::make_unique<PullCommand>(); }

}  // namespace inlay
