// Sends requests to a server on this machine and times its answers, at as little cost to the cores that both share as can be.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/priority.h"

namespace inlay {

// For the thread that runs `io`. Connections are kept alive; each has one request under way at a time.
class LoadClient {
 public:
  struct Answer {
    size_t request = 0;     // its index
    Clock::time_point due;  // when the request was to be sent
    Clock::time_point end;
    bool is_refused = false;  // with 429 or 503
  };
  using Answered = std::function<void(const Answer&)>;

  // `requests` are sent as they are: headers and body.
  LoadClient(boost::asio::io_context& io, int port, std::vector<std::string> requests, Answered answered)
      : io_(io), port_(port), requests_(std::move(requests)), answered_(std::move(answered)) {}

  // Connects, so that no request has to wait for it.
  Result<> open(int connections);
  // Sends the request `index` % their number on a connection that is free, else on a new one; where there are many, as soon as
  // one is free.
  void send(size_t index, Clock::time_point due);
  size_t under_way() const { return under_way_; }
  // The first fault: a connection that broke, or an answer that is neither a success nor a refusal. It has stopped `io`.
  Result<> fault() const;

 private:
  struct Connection {
    explicit Connection(boost::asio::io_context& io) : socket(io) {}
    boost::asio::ip::tcp::socket socket;
    boost::beast::flat_buffer buffer;
    std::optional<boost::beast::http::response_parser<boost::beast::http::string_body>> parser;
    Answer answer;
  };
  struct Waiting {
    size_t index;
    Clock::time_point due;
  };

  Result<Connection*> connect();
  void start(Connection& connection, const Waiting& request);
  void read(Connection& connection);
  void finish(Connection& connection);
  void fail_with(Error error);

  boost::asio::io_context& io_;
  int port_;
  std::vector<std::string> requests_;
  Answered answered_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> free_;
  std::deque<Waiting> waiting_;
  size_t under_way_ = 0;
  std::optional<Error> fault_;
};

}  // namespace inlay
