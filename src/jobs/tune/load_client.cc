#include "jobs/tune/load_client.h"

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

namespace inlay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kMostConnections = 1024;
constexpr size_t kShownBody = 200;
constexpr uint64_t kMostAnswerBytes = uint64_t{64} << 20;

}  // namespace

Result<> LoadClient::open(int connections) {
  while (connections_.size() < static_cast<size_t>(connections)) free_.push_back(TRY(connect()));
  return {};
}

Result<LoadClient::Connection*> LoadClient::connect() {
  std::unique_ptr<Connection> connection = std::make_unique<Connection>(io_);
  error_code error;
  connection->socket.connect({asio::ip::address_v4::loopback(), static_cast<uint16_t>(port_)}, error);
  if (!error) connection->socket.set_option(tcp::no_delay(true), error);
  if (error) return fail(ErrorCode::kUnavailable, "cannot connect to 127.0.0.1:{}: {}", port_, error.message());
  return connections_.emplace_back(std::move(connection)).get();
}

void LoadClient::send(size_t index, Clock::time_point due) {
  ++under_way_;
  const Waiting request = {index % requests_.size(), due};
  if (!free_.empty()) {
    Connection& connection = *free_.back();
    free_.pop_back();
    return start(connection, request);
  }
  if (connections_.size() >= kMostConnections) return waiting_.push_back(request);
  Result<Connection*> made = connect();
  if (!made) return fail_with(std::move(made).error());
  start(**made, request);
}

void LoadClient::start(Connection& connection, const Waiting& request) {
  connection.answer = {request.index, request.due, {}, false};
  asio::async_write(connection.socket, asio::buffer(requests_[request.index]), [this, &connection](error_code error, size_t) {
    if (error) return fail_with({ErrorCode::kUnavailable, "cannot send a request: " + error.message()});
    read(connection);
  });
}

void LoadClient::read(Connection& connection) {
  connection.parser.emplace();
  connection.parser->body_limit(kMostAnswerBytes);
  boost::beast::http::async_read(connection.socket, connection.buffer, *connection.parser,
                                 [this, &connection](error_code error, size_t) {
                                   if (!error) return finish(connection);
                                   fail_with({ErrorCode::kUnavailable, "cannot read an answer: " + error.message()});
                                 });
}

void LoadClient::finish(Connection& connection) {
  Answer answer = connection.answer;
  answer.end = Clock::now();
  const unsigned status = connection.parser->get().result_int();
  answer.is_refused = status == 429 || status == 503;
  if (status != 200 && !answer.is_refused) {
    const std::string shown = connection.parser->get().body().substr(0, kShownBody);
    return fail_with({ErrorCode::kUnsupported, fmt::format("the server answered a request with {}: {}", status, shown)});
  }
  --under_way_;
  if (waiting_.empty()) {
    free_.push_back(&connection);
  } else {
    start(connection, waiting_.front());
    waiting_.pop_front();
  }
  answered_(answer);
}

void LoadClient::fail_with(Error error) {
  if (!fault_) fault_ = std::move(error);
  io_.stop();
}

Result<> LoadClient::fault() const {
  if (fault_) return tl::unexpected<Error>(*fault_);
  return {};
}

}  // namespace inlay
