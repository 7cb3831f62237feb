#include "server/http/http_server.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <map>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "server/http/http_connection.h"

namespace inlay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// How long to wait before accepting again when the process is out of descriptors.
constexpr std::chrono::milliseconds kAcceptPause{100};
// How long cancelled requests may take to reply.
constexpr std::chrono::milliseconds kCutOff{2'000};

Result<std::unique_ptr<asio::ssl::context>> load_tls(const HttpOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty()) {
    return fail(ErrorCode::kInvalidArgument, "TLS needs both a certificate and a key");
  }
  if (options.tls_cert.empty()) return std::unique_ptr<asio::ssl::context>();
  std::unique_ptr<asio::ssl::context> tls = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code error;
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 | asio::ssl::context::no_sslv3 |
                       asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1,
                   error);
  tls->use_certificate_chain_file(options.tls_cert.string(), error);
  if (error) return fail(ErrorCode::kInvalidArgument, "{}: no PEM certificate: {}", options.tls_cert.string(), error.message());
  tls->use_private_key_file(options.tls_key.string(), asio::ssl::context::pem, error);
  if (error)
    return fail(ErrorCode::kInvalidArgument, "{}: no key for the certificate: {}", options.tls_key.string(), error.message());
  return tls;
}

Result<> bind(tcp::acceptor& acceptor, asio::io_context& io, const HttpOptions& options) {
  error_code error;
  tcp::resolver resolver(io);
  const tcp::resolver::results_type found = resolver.resolve(options.host, std::to_string(options.port),
                                                             tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) return fail(ErrorCode::kInvalidArgument, "host '{}': {}", options.host, error.message());
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return fail(ErrorCode::kUnavailable, "cannot listen on {} port {}: {}", options.host, options.port, error.message());
  return {};
}

}  // namespace

struct HttpServer::Impl {
  Impl(const HttpOptions& given, HttpHandler handler_given, HttpRefusal refusal_given)
      : options(given),
        handler(std::move(handler_given)),
        refusal(std::move(refusal_given)),
        io(std::max(1, given.io_threads)) {}

  HttpOptions options;
  HttpHandler handler;
  HttpRefusal refusal;
  HttpConnectionContext context{options, handler, refusal};
  std::unique_ptr<asio::ssl::context> tls;

  // Declared before the I/O context, whose end destroys connections that still report here.
  std::mutex mutex;
  std::map<uint64_t, std::weak_ptr<HttpConnection>> connections;
  uint64_t next_id = 0;
  std::atomic<bool> draining = false;
  std::atomic<bool> running = false;
  std::atomic<int> open = 0;
  std::atomic<int> cut = 0;

  asio::io_context io;
  // What is not a connection's own runs here.
  asio::strand<asio::io_context::executor_type> strand = asio::make_strand(io);
  tcp::acceptor acceptor{strand};
  asio::signal_set signals{strand};
  asio::steady_timer drain_timer{strand};
  asio::steady_timer accept_timer{strand};

  void accept() {
    acceptor.async_accept(asio::make_strand(io), [this](error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) take(std::move(socket));
      if (draining) return;
      if (error) return pause_accepting(error);
      accept();
    });
  }

  void pause_accepting(const error_code& error) {
    spdlog::warn("cannot accept a connection: {}", error.message());
    accept_timer.expires_after(kAcceptPause);
    accept_timer.async_wait([this](error_code cancelled) {
      if (!cancelled && !draining) accept();
    });
  }

  void take(tcp::socket socket) {
    if (open >= options.max_connections) return turn_away(socket);
    ++open;
    const uint64_t id = next_id++;
    const std::shared_ptr<HttpConnection> connection =
        make_http_connection(std::move(socket), tls.get(), context, [this, id] { forget(id); });
    {
      const std::lock_guard<std::mutex> lock(mutex);
      connections.emplace(id, connection);
    }
    connection->start();
    if (draining) connection->drain();
  }

  void forget(uint64_t id) {
    const std::lock_guard<std::mutex> lock(mutex);
    connections.erase(id);
    if (--open == 0 && draining && running) asio::post(strand, [this] { end(); });
  }

  // One try to say why, without waiting for the client.
  void turn_away(tcp::socket& socket) const {
    if (tls) return;
    HttpResponse response = refusal(503, "too many connections", {});
    response.headers.emplace_back("Retry-After", "1");
    const std::string text = http_head(response, false) + response.body;
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(text), ignored);
    socket.shutdown(tcp::socket::shutdown_both, ignored);
  }

  // Connections that the kernel completed but nobody has accepted yet have been promised an answer as well.
  void take_backlog() {
    error_code error;
    acceptor.cancel(error);
    acceptor.non_blocking(true, error);
    while (!error) {
      tcp::socket socket(asio::make_strand(io));
      acceptor.accept(socket, error);
      if (!error) take(std::move(socket));
    }
  }

  std::vector<std::shared_ptr<HttpConnection>> alive() {
    const std::lock_guard<std::mutex> lock(mutex);
    std::vector<std::shared_ptr<HttpConnection>> result;
    for (const auto& [id, connection] : connections) {
      if (std::shared_ptr<HttpConnection> shared = connection.lock()) result.push_back(std::move(shared));
    }
    return result;
  }

  void begin_drain() {
    if (draining.exchange(true)) return;
    error_code ignored;
    take_backlog();
    acceptor.close(ignored);
    accept_timer.cancel(ignored);
    if (open == 0) return end();
    drain_timer.expires_after(options.drain_timeout);
    drain_timer.async_wait([this](error_code cancelled) {
      if (!cancelled) cut_off();
    });
    for (const std::shared_ptr<HttpConnection>& connection : alive()) connection->drain();
  }

  // Lets run() return.
  void end() {
    error_code ignored;
    drain_timer.cancel(ignored);
    signals.cancel(ignored);
  }

  // The first signal asks for a drain, the second does not wait for it.
  void wait_for_signal() {
    signals.async_wait([this](error_code error, int number) {
      if (error) return;
      spdlog::info("signal {}: {}", number, draining ? "cutting off what is left" : "finishing what has begun");
      if (draining) return cut_off();
      wait_for_signal();
      begin_drain();
    });
  }

  void cut_off() {
    cut = open.load();
    for (const std::shared_ptr<HttpConnection>& connection : alive()) connection->abort();
    // Their requests have been cancelled; whoever still does not reply is not waited for.
    drain_timer.expires_after(kCutOff);
    drain_timer.async_wait([this](error_code cancelled) {
      if (!cancelled) io.stop();
    });
  }
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const HttpOptions& options, HttpHandler handler, HttpRefusal refusal) {
  std::unique_ptr<Impl> impl = std::make_unique<Impl>(options, std::move(handler), std::move(refusal));
  impl->tls = TRY(load_tls(options));
  TRY_VOID(bind(impl->acceptor, impl->io, options));
  error_code error;
  if (options.takes_signals) {
    impl->signals.add(SIGTERM, error);
    impl->signals.add(SIGINT, error);
  }
  if (error) return fail(ErrorCode::kInternal, "cannot wait for signals: {}", error.message());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

int HttpServer::port() const {
  error_code ignored;
  return impl_->acceptor.local_endpoint(ignored).port();
}

bool HttpServer::draining() const { return impl_->draining; }
int HttpServer::connections() const { return impl_->open; }
void HttpServer::drain() {
  asio::post(impl_->strand, [impl = impl_.get()] { impl->begin_drain(); });
}

int HttpServer::run() {
  Impl& impl = *impl_;
  asio::post(impl.strand, [&impl] {
    if (impl.draining) return;  // drain() was faster.
    impl.wait_for_signal();
    impl.accept();
  });
  impl.running = true;
  std::vector<std::jthread> threads;
  for (int i = 1; i < impl.options.io_threads; ++i) {
    threads.emplace_back([&impl] { impl.io.run(); });
  }
  impl.io.run();
  threads.clear();
  impl.running = false;
  return impl.cut;
}

}  // namespace inlay
