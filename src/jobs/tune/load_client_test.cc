#include "jobs/tune/load_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <thread>

namespace inlay {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::chrono::seconds kLongest{5};

std::string http_answer(int status, std::string_view body) {
  return fmt::format("HTTP/1.1 {} x\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body);
}

// Takes one connection, gives each request that ends with an empty line the next answer, and then closes.
class CannedServer {
 public:
  explicit CannedServer(std::vector<std::string> answers)
      : answers_(std::move(answers)), acceptor_(io_, {asio::ip::address_v4::loopback(), 0}), thread_([this] { serve(); }) {}

  int port() const { return acceptor_.local_endpoint().port(); }
  // After the last answer.
  std::vector<std::string> requests() {
    thread_.join();
    return requests_;
  }

 private:
  void serve() {
    tcp::socket socket(io_);
    error_code error;
    acceptor_.accept(socket, error);
    std::string bytes;
    for (const std::string& answer : answers_) {
      const size_t size = asio::read_until(socket, asio::dynamic_buffer(bytes), "\r\n\r\n", error);
      if (error) return;
      requests_.push_back(bytes.substr(0, size));
      bytes.erase(0, size);
      asio::write(socket, asio::buffer(answer), error);
    }
  }

  std::vector<std::string> answers_;
  std::vector<std::string> requests_;
  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::jthread thread_;
};

const std::vector<std::string> kRequests = {"GET /0 HTTP/1.1\r\n\r\n", "GET /1 HTTP/1.1\r\n\r\n"};

// Sends one request after the other until there are `count` answers or a fault.
struct Exchange {
  explicit Exchange(CannedServer& server, size_t count) {
    LoadClient client(io, server.port(), kRequests, [&](const LoadClient::Answer& answer) {
      answers.push_back(answer);
      if (answers.size() < count) client.send(answers.size(), Clock::now());
    });
    EXPECT_TRUE(client.open(1).has_value());
    client.send(0, Clock::now());
    io.run_for(kLongest);
    fault = client.fault();
    under_way = client.under_way();
  }

  asio::io_context io;
  std::vector<LoadClient::Answer> answers;
  Result<> fault;
  size_t under_way = 0;
};

TEST(LoadClient, SendsItsRequestsByTurnsOnOneConnection) {
  CannedServer server({http_answer(200, "a"), http_answer(200, ""), http_answer(200, std::string(100'000, 'c'))});
  const Exchange exchange(server, 3);
  ASSERT_TRUE(exchange.fault.has_value()) << exchange.fault.error().message;
  EXPECT_THAT(server.requests(), ElementsAre(kRequests[0], kRequests[1], kRequests[0]));
  ASSERT_EQ(exchange.answers.size(), 3U);
  for (const LoadClient::Answer& answer : exchange.answers) {
    EXPECT_FALSE(answer.is_refused);
    EXPECT_LT(answer.due, answer.end);
  }
  EXPECT_EQ(exchange.answers[1].request, 1U);
  EXPECT_EQ(exchange.under_way, 0U);
}

TEST(LoadClient, TellsARefusalFromAnAnswer) {
  CannedServer server({http_answer(429, "later"), http_answer(200, "a"), http_answer(503, "later")});
  const Exchange exchange(server, 3);
  ASSERT_TRUE(exchange.fault.has_value()) << exchange.fault.error().message;
  std::vector<bool> refused;
  for (const LoadClient::Answer& answer : exchange.answers) refused.push_back(answer.is_refused);
  EXPECT_THAT(refused, ElementsAre(true, false, true));
}

TEST(LoadClient, SaysWhatTheServerDidNotLike) {
  CannedServer server({http_answer(400, "no such field")});
  const Exchange exchange(server, 1);
  ASSERT_FALSE(exchange.fault.has_value());
  EXPECT_THAT(exchange.fault.error().message, AllOf(HasSubstr("400"), HasSubstr("no such field")));
  EXPECT_TRUE(exchange.answers.empty());
}

TEST(LoadClient, SaysThatAConnectionBroke) {
  CannedServer server({"HTTP/1.1 200 x\r\nContent-Length: 10\r\n\r\nhalf"});
  const Exchange exchange(server, 1);
  ASSERT_FALSE(exchange.fault.has_value());
  EXPECT_EQ(exchange.fault.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(exchange.fault.error().message, HasSubstr("cannot read an answer"));
}

TEST(LoadClient, SaysWhereNobodyListens) {
  asio::io_context io;
  int port = 0;
  {
    const tcp::acceptor closed(io, {asio::ip::address_v4::loopback(), 0});
    port = closed.local_endpoint().port();
  }
  LoadClient client(io, port, kRequests, [](const LoadClient::Answer&) {});
  const Result<> opened = client.open(1);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(opened.error().message, HasSubstr(fmt::format("127.0.0.1:{}", port)));
}

}  // namespace
}  // namespace inlay
