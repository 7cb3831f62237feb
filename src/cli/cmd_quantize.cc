// inlay quantize: a smaller copy of a model folder.
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/download_bar.h"
#include "cli/flags.h"
#include "cli/input_flags.h"
#include "hub/locate_model.h"
#include "jobs/quantize_job.h"
#include "kernels/kernels.h"

namespace inlay {
namespace {

constexpr const char* kQuantizeFooter =
    "A layer's error is the length of the change of its outputs on the texts, as a share of the length of the outputs; "
    "without\n"
    "texts it is that of the weights. Layers whose error stands out become bfloat16 and are listed.\n"
    "Then: inlay validate MODEL OUT, with texts of your own.\n"
    "Examples:\n"
    "  inlay quantize all-MiniLM-L6-v2 minilm-int4 --dtype int4 --method gptq --texts docs.jsonl\n"
    "  inlay quantize all-MiniLM-L6-v2 minilm-int8 --dtype int8";

Result<WeightType> weight_type_from_name(std::string_view flag, std::string_view name) {
  for (const WeightType type : {WeightType::kFloat16, WeightType::kBFloat16, WeightType::kInt8, WeightType::kInt4}) {
    if (weight_type_name(type) == name) return type;
  }
  return fail(ErrorCode::kInvalidArgument, "{} {}: wanted float16, bfloat16, int8 or int4", flag, name);
}

class QuantizeCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    add_value(app, "model,--model", model_, "Folder of the model, its name on the hub (org/name), or a .gguf file");
    add_value(app, "out,--output", output_, "Folder to make");
    add_value(app, "--dtype", dtype_, "What linear layers become: float16, bfloat16, int8 or int4")->capture_default_str();
    add_value(app, "--group-size", group_, "int4: inputs that share a factor: 32, 64 or 128")->capture_default_str();
    add_value(app, "--method", method_, "rtn (to the nearest), or gptq for int4 with texts")->capture_default_str();
    add_switch(app, "--act-order", act_order_, "gptq: inputs that are largest in the texts first");
    add_value(app, "--embedding-dtype", embedding_dtype_,
              "What embedding tables become: float16, bfloat16, int8, int4, or keep; unless given as layers, int8 with int4");
    add_value(app, "--keep", keep_, "Layers that become bfloat16: parts of their names, separated by commas")->delimiter(',');
    error_given_ = add_value(app, "--max-layer-error", max_layer_error_,
                             "Layers of a larger error become bfloat16; 4 times the median unless given")
                       ->check(CLI::NonNegativeNumber);
    input_.path.clear();
    input_.add(app, "--texts");
    add_value(app, "--calibration-texts", texts_, "Texts to take at most")->check(CLI::PositiveNumber)->capture_default_str();
    add_value(app, "--calibration-length", max_length_, "Tokens of a text to take at most")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    add_value(app, "--threads", threads_, "Cores to use; what the system grants unless given")->check(CLI::Range(1, 1024));
    add_switch(app, "--json", json_, "One line of JSON instead of a table");
    app.footer(kQuantizeFooter);
  }

  Result<> run(const Interrupt& interrupt) override {
    QuantizeOptions options = TRY(this->options());
    options.stopped = [&interrupt] { return interrupt.requested(); };
    DownloadBar bar;  // Other flags were checked before, since this may take long.
    options.model = TRY(locate_model(model_, hub_options_from_environment(), bar.pull_options(&interrupt)));
    std::optional<TextReader> reader;
    if (!input_.path.empty()) reader = TRY(input_.open(interrupt));
    const QuantizeReport report = TRY(run_quantize_job(options, reader ? &*reader : nullptr));
    OutputFile out = TRY(OutputFile::create("-"));
    TRY_VOID(out.write(json_ ? quantize_json(report, options) : quantize_table(report, options)));
    return out.commit();
  }

 private:
  Result<QuantizeOptions> options() const {
    if (model_.empty() || output_.empty())
      return fail(ErrorCode::kInvalidArgument, "two folders are wanted: the model, and the one to make");
    if (method_ != "rtn" && method_ != "gptq")
      return fail(ErrorCode::kInvalidArgument, "--method {}: wanted rtn or gptq", method_);
    if (group_ != 32 && group_ != 64 && group_ != 128)
      return fail(ErrorCode::kInvalidArgument, "--group-size {}: wanted 32, 64 or 128", group_);
    QuantizeOptions options;
    options.output = output_;
    options.rounding = {TRY(weight_type_from_name("--dtype", dtype_)), group_, method_ == "gptq", act_order_};
    options.keep_tables = embedding_dtype_ == "keep";
    if (!embedding_dtype_.empty() && !options.keep_tables)
      options.tables = TRY(weight_type_from_name("--embedding-dtype", embedding_dtype_));
    options.keep = keep_;
    if (error_given_->count() > 0) options.max_layer_error = max_layer_error_;
    options.texts = texts_;
    options.max_length = max_length_;
    options.threads = threads_ == 0 ? granted_threads() : threads_;
    return options;
  }

  InputFlags input_;
  std::string model_;
  std::string output_;
  std::string dtype_ = "int8";
  std::string method_ = "rtn";
  std::string embedding_dtype_;
  std::vector<std::string> keep_;
  int group_ = 32;
  int texts_ = 128;
  int max_length_ = 256;
  int threads_ = 0;
  double max_layer_error_ = 0;
  bool act_order_ = false;
  bool json_ = false;
  CLI::Option* error_given_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_quantize_command() { return std::make_unique<QuantizeCommand>(); }

}  // namespace inlay
