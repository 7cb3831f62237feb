// An HTTP/1.1 server: keep-alive, pipelining, chunked bodies, Expect: 100-continue, TLS, limits on everything a stranger can
// make large or slow, and a drain that loses no request it has begun to read.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"
#include "server/http/http.h"

namespace inlay {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: one that is free
  int io_threads = 1;
  std::filesystem::path tls_cert;  // PEM, the chain in order; with tls_key, or neither
  std::filesystem::path tls_key;

  uint32_t max_header_bytes = 16 * 1024;
  uint64_t max_body_bytes = 32 * 1024 * 1024;
  int max_connections = 1024;
  int max_pipeline = 8;  // requests of one connection that are in progress at a time

  std::chrono::milliseconds header_timeout{10'000};  // from a request's first byte to the end of its headers; TLS handshake
  std::chrono::milliseconds body_timeout{60'000};    // from there to the end of the body
  std::chrono::milliseconds write_timeout{60'000};   // for a whole response
  std::chrono::milliseconds idle_timeout{120'000};   // between requests
  std::chrono::milliseconds drain_timeout{30'000};   // from a signal to the end, at most
  bool takes_signals = true;                         // SIGTERM and SIGINT are the server's own
};

class HttpServer {
 public:
  // Binds and listens; connections wait until run(). `refusal` renders what the HTTP layer turns away itself.
  static Result<std::unique_ptr<HttpServer>> listen(const HttpOptions& options, HttpHandler handler, HttpRefusal refusal);
  // Replies that come after this are a fault: whatever may still reply must have ended.
  ~HttpServer();

  int port() const;
  // Serves until drain(), SIGTERM or SIGINT (where it takes them); then stops accepting, answers what has begun, and returns the number of
  // connections that the drain timeout cut off.
  int run();
  // Any thread.
  void drain();
  bool draining() const;
  int connections() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace inlay
