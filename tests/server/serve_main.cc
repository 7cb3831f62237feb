// A server with a model and the few settings that tests need: serve_main MODEL NAME [KEY=VALUE]... It prints its port.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "base/log.h"
#include "direct_service.h"
#include "server/server.h"

namespace inlay {
namespace {

class Settings {
 public:
  Settings(int count, char** words) {
    for (int i = 0; i < count; ++i) {
      const std::string word = words[i];
      const size_t equals = word.find('=');
      if (equals != std::string::npos) values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  std::string text(const std::string& name) const { return values_.contains(name) ? values_.at(name) : ""; }
  int number(const std::string& name, int fallback) const {
    return values_.contains(name) ? std::stoi(values_.at(name)) : fallback;
  }

 private:
  std::map<std::string, std::string> values_;
};

Result<int> serve(const std::string& model, const std::string& name, const Settings& settings) {
  EngineOptions engine;
  engine.model = model;
  engine.threads = settings.number("threads", 1);
  if (settings.number("truncate", 1) == 0) engine.truncate_side = TruncationSide::kNone;
  SchedulerOptions limits;
  limits.max_concurrent_requests = settings.number("max_concurrent_requests", 512);
  limits.max_queue_tokens = settings.number("max_queue_tokens", 1 << 20);
  ServerOptions options;
  options.http.port = settings.number("port", 0);
  options.http.max_body_bytes = static_cast<uint64_t>(settings.number("max_body_bytes", 32 << 20));
  options.http.header_timeout = std::chrono::milliseconds(settings.number("header_timeout_ms", 10'000));
  options.http.tls_cert = settings.text("tls_cert");
  options.http.tls_key = settings.text("tls_key");
  options.router.te_metrics = true;
  options.router.log_requests = settings.number("log", 0) != 0;
  if (!settings.text("key").empty()) TRY_VOID(options.router.keys.add(settings.text("key")));
  if (!settings.text("cors").empty()) options.router.cors_origins.push_back(settings.text("cors"));
  const ServingOptions serving = TRY(options_for_serving(engine));
  Engine loaded = TRY(Engine::load(serving.engine));
  ServedModels models;
  models.push_back(std::make_unique<DirectService>(std::move(loaded), name, serving, limits));
  const std::unique_ptr<Server> server = TRY(Server::start(std::move(options), std::move(models)));
  std::printf("%d\n", server->port());
  std::fflush(stdout);
  return server->run();
}

}  // namespace
}  // namespace inlay

int main(int count, char** words) {
  inlay::start_log();
  if (count < 3) return 2;
  const inlay::Result<int> cut = inlay::serve(words[1], words[2], inlay::Settings(count - 3, words + 3));
  if (!cut) std::fprintf(stderr, "%s\n", cut.error().message.c_str());
  return cut ? 0 : 1;
}
