// For tests: a server in a thread, and a client that sends exactly the bytes it is told to.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/check.h"
#include "server/http/http_server.h"

namespace inlay {

class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int done = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    INLAY_CHECK(done == 0, "the test server listens");
  }
  RawClient(const RawClient&) = delete;
  ~RawClient() { close(); }

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void half_close() { ::shutdown(socket_, SHUT_WR); }

  // False once the server has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // What arrives until `mark` has been seen `count` times, the server closes, or the time is over.
  std::string read_until(std::string_view mark, int count = 1, std::chrono::milliseconds time = std::chrono::seconds(5)) {
    const std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + time;
    std::string text;
    while (occurrences(text, mark) < count) {
      const std::chrono::milliseconds left =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      pollfd wait{socket_, POLLIN, 0};
      if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) break;
      char bytes[4096];
      const ssize_t read = ::recv(socket_, bytes, sizeof(bytes), 0);
      if (read <= 0) {
        ended_ = true;
        break;
      }
      text.append(bytes, static_cast<size_t>(read));
    }
    return text;
  }
  // Everything up to the server's end of the connection; `ended()` tells whether it came in time.
  std::string read_all(std::chrono::milliseconds time = std::chrono::seconds(5)) {
    ended_ = false;
    return read_until("\xFF\xFE never sent", 1, time);
  }
  bool ended() const { return ended_; }

 private:
  static int occurrences(std::string_view text, std::string_view mark) {
    int count = 0;
    for (size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + mark.size())) ++count;
    return count;
  }

  int socket_;
  bool ended_ = false;
};

// Options that make slow things fast.
inline HttpOptions test_options() {
  HttpOptions options;
  options.port = 0;
  options.max_header_bytes = 2048;
  options.max_body_bytes = 10'000;
  options.header_timeout = std::chrono::milliseconds(300);
  options.body_timeout = std::chrono::milliseconds(300);
  options.idle_timeout = std::chrono::milliseconds(2'000);
  options.drain_timeout = std::chrono::milliseconds(3'000);
  return options;
}

class RunningServer {
 public:
  RunningServer(const HttpOptions& options, HttpHandler handler) {
    Result<std::unique_ptr<HttpServer>> listening =
        HttpServer::listen(options, std::move(handler), [](int status, std::string_view message, std::string_view path) {
          HttpResponse response;
          response.status = status;
          response.body = std::string(message) + " at '" + std::string(path) + "'";
          return response;
        });
    INLAY_CHECK(listening.has_value(), "a free port can be had");
    server_ = *std::move(listening);
    port_ = server_->port();
    thread_ = std::jthread([this] { cut_ = server_->run(); });
  }
  ~RunningServer() { stop(); }

  int port() const { return port_; }
  HttpServer& server() { return *server_; }
  // Drains; the number of connections cut off.
  int stop() {
    server_->drain();
    if (thread_.joinable()) thread_.join();
    return cut_;
  }

 private:
  std::unique_ptr<HttpServer> server_;
  int port_ = 0;
  int cut_ = 0;
  std::jthread thread_;
};

}  // namespace inlay
