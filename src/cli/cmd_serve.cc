// inlay serve: the HTTP server.
#include <spdlog/spdlog.h>

#include <cstdio>
#include <utility>

#include "base/cpu.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/config_file.h"
#include "cli/flags.h"
#include "cli/model_flags.h"
#include "cli/served_models.h"
#include "server/grpc/grpc_door.h"

namespace inlay {
namespace {

constexpr const char* kServeFooter =
    "It answers OpenAI (/v1/embeddings), text-embeddings-inference (/embed and its others), Cohere (/v2/embed), Ollama\n"
    "(/api/embed) and KServe v2 (/v2/models/NAME/infer); docs/guide/serving.md has them field by field. SIGTERM lets it\n"
    "finish what has begun; a second one does not wait.\n"
    "Example:\n"
    "  inlay serve --model all-MiniLM-L6-v2 --port 8080\n"
    "  curl localhost:8080/v1/embeddings -d '{\"input\": \"hello\"}'";

class ServeCommand final : public Command {
 public:
  void add_flags(CLI::App& app) override {
    app_ = &app;
    add_value(app, "--config", config_,
              "File of flags, as inlay tune writes it; the command line and the environment go first");
    served_.add_to(app, model_);
    model_.add_choice_flags(app);
    add_switch(app, "--any-model-name", any_model_name_, "Take requests for any model name, not only for the served one");
    add_http_flags(app);
    add_limit_flags(app);
    add_access_flags(app);
    app.footer(kServeFooter);
  }

  Result<> run(const Interrupt& interrupt) override {
    if (!config_.empty()) TRY_VOID(apply_config(*app_, config_));
    ServerOptions options = TRY(server_options());
    CoreShare cores(threads());
    ServedModels models = TRY(served_.load(model_, limits_, cores, interrupt));
    options.load = served_.loader(model_, limits_, cores);
    std::vector<std::string> names;
    for (const std::unique_ptr<EmbedService>& model : models) {
      const ModelFacts& facts = model->facts();
      names.push_back(fmt::format("{} ({}, {} dimensions)", facts.name, facts.dtype, facts.dimensions));
    }
    const bool is_open = options.router.keys.empty();
    const std::unique_ptr<Server> server = TRY(Server::start(std::move(options), std::move(models)));
    std::string grpc;
    for (const int port : server->door_ports()) grpc = fmt::format(" and grpc://{}:{}", http_.host, port);
    std::fputs(
        fmt::format("inlay: serving {} on {}://{}:{}{}{}\n", fmt::join(names, ", "), http_.tls_cert.empty() ? "http" : "https",
                    http_.host, server->port(), grpc, is_open ? ", open to all" : "")
            .c_str(),
        stderr);
    const int cut = server->run();
    if (cut > 0) std::fputs(fmt::format("inlay: {} connections were cut off\n", cut).c_str(), stderr);
    return {};
  }

 private:
  void add_http_flags(CLI::App& app) {
    add_value(app, "--host", http_.host, "Address to listen on; 0.0.0.0 is every one")->capture_default_str();
    add_value(app, "--port", http_.port, "Port to listen on; 0 is one that is free")
        ->capture_default_str()
        ->check(CLI::Range(0, 65535));
    add_value(app, "--grpc-port", grpc_port_, "Port for KServe v2 over gRPC; none unless given, 0 is one that is free")
        ->check(CLI::Range(0, 65535));
    add_value(app, "--tls-cert", tls_cert_, "PEM file with the certificate chain; with --tls-key");
    add_value(app, "--tls-key", tls_key_, "PEM file with the certificate's key");
    add_value(app, "--max-body-bytes", http_.max_body_bytes, "Longest body that is read")->capture_default_str();
    add_value(app, "--max-header-bytes", http_.max_header_bytes, "Longest headers that are read")->capture_default_str();
    add_value(app, "--max-connections", http_.max_connections, "Most connections at a time")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    add_value(app, "--io-threads", http_.io_threads, "Threads that read and write")
        ->capture_default_str()
        ->check(CLI::Range(1, 64));
    add_value(app, "--workers", workers_, "Threads that tokenise and write answers; as many as compute unless given")
        ->check(CLI::Range(1, 256));
    add_value(app, "--drain-timeout", drain_seconds_, "Seconds that what has begun gets after SIGTERM")
        ->capture_default_str()
        ->check(CLI::Range(0, 86400));
    add_value(app, "--idle-timeout", idle_seconds_, "Seconds that a connection may wait between requests")
        ->capture_default_str()
        ->check(CLI::Range(1, 86400));
  }

  void add_limit_flags(CLI::App& app) {
    add_value(app, "--max-batch-requests", limits_.max_batch_requests, "Most texts computed at once by a core; 0 is no limit")
        ->capture_default_str();
    add_value(app, "--max-concurrent-requests", limits_.max_concurrent_requests,
              "Most requests that are taken and not answered")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    add_value(app, "--max-queue-tokens", limits_.max_queue_tokens, "Most tokens that wait; more is answered with 429")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    add_value(app, "--max-queue-delay-us", queue_delay_, "Microseconds that bulk work may wait for a batch to fill")
        ->capture_default_str();
    add_value(app, "--request-timeout", timeout_seconds_,
              "Seconds after which a request that gives no time is dropped; 0 is never")
        ->capture_default_str();
  }

  void add_access_flags(CLI::App& app) {
    add_value(app, "--api-key", keys_, "KEY or TENANT:KEY that clients must send; may be given more than once");
    add_value(app, "--api-key-file", key_file_, "File with such keys, one a line");
    add_value(app, "--admin-key", admin_keys_,
              "Key of those who may load and unload models over HTTP; nobody may unless given. May be repeated");
    add_value(app, "--cors-allow-origin", origins_,
              "Origin whose pages may call the server; * is any; may be given more than once");
    add_switch(app, "--te-metrics", te_metrics_, "Metrics under the names of text-embeddings-inference as well");
    add_switch(app, "--log-requests", log_requests_, "A line for each request (with --log-level info), without its texts");
    add_switch(app, "--log-json", log_json_, "The log as JSON lines; requests carry the trace of their traceparent header");
  }

  int threads() const { return model_.threads() > 0 ? model_.threads() : granted_threads(); }

  Result<ServerOptions> server_options() {
    http_.tls_cert = tls_cert_;
    http_.tls_key = tls_key_;
    http_.drain_timeout = std::chrono::seconds(drain_seconds_);
    http_.idle_timeout = std::chrono::seconds(idle_seconds_);
    limits_.max_queue_delay[static_cast<size_t>(Priority::kBulk)] = std::chrono::microseconds(queue_delay_);
    ServerOptions options;
    options.http = http_;
    if (grpc_port_ >= 0)
      options.doors.push_back(grpc_door({http_.host, grpc_port_, http_.tls_cert, http_.tls_key, http_.max_body_bytes}));
    options.workers = workers_ > 0 ? workers_ : threads();
    options.policy = {TRY(model_.normalize()), any_model_name_, std::chrono::seconds(timeout_seconds_)};
    for (const std::string& key : keys_) TRY_VOID(options.router.keys.add(key).map_error(within("--api-key")));
    if (!key_file_.empty()) TRY_VOID(options.router.keys.add_file(key_file_));
    for (const std::string& key : admin_keys_) TRY_VOID(options.router.admin_keys.add(key).map_error(within("--admin-key")));
    options.router.cors_origins = origins_;
    options.router.te_metrics = te_metrics_;
    if (log_requests_) options.router.log = log_json_ ? RequestLog::kJson : RequestLog::kText;
    if (log_json_) log_as_json();
    return options;
  }

  CLI::App* app_ = nullptr;
  ModelFlags model_;
  ServedModelFlags served_;
  HttpOptions http_;
  SchedulerOptions limits_;
  std::string config_;
  std::string tls_cert_;
  std::string tls_key_;
  std::string key_file_;
  std::vector<std::string> keys_;
  std::vector<std::string> admin_keys_;
  std::vector<std::string> origins_;
  int grpc_port_ = -1;
  int workers_ = 0;
  int drain_seconds_ = 30;
  int idle_seconds_ = 120;
  int timeout_seconds_ = 0;
  int64_t queue_delay_ = 5000;
  bool any_model_name_ = false;
  bool te_metrics_ = false;
  bool log_requests_ = false;
  bool log_json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

}  // namespace inlay
