#include "server/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <vector>

#include "server/http/http_testing.h"

namespace inlay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::chrono::milliseconds kShort{200};

// Answers with what it understood: "POST /path [body]".
HttpResponse echo(const HttpRequest& request) {
  HttpResponse response;
  response.content_type = "text/plain";
  const char* method = request.method == HttpMethod::kGet ? "GET" : request.method == HttpMethod::kHead ? "HEAD" : "POST";
  response.body = std::string(method) + " " + request.path + " [" + request.body + "]\n";
  return response;
}

void echo_now(const HttpRequest& request, const HttpReply& reply) { reply(echo(request)); }

// Keeps replies back until the test lets them go.
class Holder {
 public:
  HttpHandler handler() {
    return [this](HttpRequest request, HttpReply reply) {
      const std::lock_guard<std::mutex> lock(mutex_);
      held_.emplace_back(std::move(request), std::move(reply));
      changed_.notify_all();
    };
  }
  bool wait_for(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(5), [&] { return held_.size() >= count; });
  }
  void answer(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_[index].second(echo(held_[index].first));
    held_[index].second = nullptr;  // A reply keeps its connection.
  }
  bool cancelled(size_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return held_[index].first.cancelled->load();
  }
  bool becomes_cancelled(size_t index) {
    for (int i = 0; i < 500 && !cancelled(index); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return cancelled(index);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<HttpRequest, HttpReply>> held_;
};

TEST(HttpServer, KeepsTheConnectionAndDecodesThePath) {
  RunningServer server(test_options(), echo_now);
  RawClient client(server.port());
  for (int i = 0; i < 3; ++i) {
    client.send("GET /a%20b?c=d HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.read_until("]\n"), AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\nGET /a b []\n")));
  }
}

TEST(HttpServer, AnswersPipelinedRequestsInOrderThoughTheyFinishOutOfOrder) {
  Holder holder;
  RunningServer server(test_options(), holder.handler());
  RawClient client(server.port());
  client.send("GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET /3 HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(holder.wait_for(3));
  holder.answer(2);
  holder.answer(1);
  EXPECT_EQ(client.read_until("]\n", 1, kShort), "");
  holder.answer(0);
  const std::string all = client.read_until("]\n", 3);
  EXPECT_LT(all.find("GET /1 []"), all.find("POST /2 [ab]"));
  EXPECT_LT(all.find("POST /2 [ab]"), all.find("GET /3 []"));
}

TEST(HttpServer, TakesNoMoreThanTheLimitOfPipelinedRequestsAtATime) {
  HttpOptions options = test_options();
  options.max_pipeline = 2;
  Holder holder;
  RunningServer server(options, holder.handler());
  RawClient client(server.port());
  for (int i = 0; i < 4; ++i) client.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(holder.wait_for(2));
  std::this_thread::sleep_for(kShort);
  EXPECT_FALSE(holder.cancelled(0));
  holder.answer(0);
  ASSERT_TRUE(holder.wait_for(3));
  for (size_t i = 1; i < 3; ++i) holder.answer(i);
  ASSERT_TRUE(holder.wait_for(4));
  holder.answer(3);
  EXPECT_THAT(client.read_until("]\n", 4), EndsWith("]\n"));
}

TEST(HttpServer, JoinsChunkedBodies) {
  RunningServer server(test_options(), echo_now);
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x=y\r\nd\r\n");
  client.send("0\r\nTrailer: z\r\n\r\n");
  EXPECT_THAT(client.read_until("]\n"), EndsWith("POST / [abcd]\n"));
}

TEST(HttpServer, SaysContinueWhereAsked) {
  RunningServer server(test_options(), echo_now);
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hi");
  EXPECT_THAT(client.read_until("]\n"), EndsWith("POST / [hi]\n"));
}

TEST(HttpServer, SaysContinueOnlyAfterTheResponsesBefore) {
  Holder holder;
  RunningServer server(test_options(), holder.handler());
  RawClient client(server.port());
  client.send("GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(holder.wait_for(1));
  EXPECT_EQ(client.read_until("\r\n\r\n", 1, std::chrono::milliseconds(100)), "");
  holder.answer(0);
  EXPECT_THAT(client.read_until("100 Continue\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200"), EndsWith("HTTP/1.1 100 Continue\r\n\r\n")));
  client.send("hi");
  ASSERT_TRUE(holder.wait_for(2));
  holder.answer(1);
  EXPECT_THAT(client.read_until("]\n"), EndsWith("POST /2 [hi]\n"));
}

TEST(HttpServer, DoesNotAskForABodyThatIsTooLarge) {
  RunningServer server(test_options(), echo_now);
  RawClient client(server.port());
  client.send("POST /big HTTP/1.1\r\nContent-Length: 10001\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(client.read_all(),
              AllOf(StartsWith("HTTP/1.1 413 "), HasSubstr("the body is too large at '/big'"), Not(HasSubstr("Continue"))));
}

TEST(HttpServer, CaseH39RefusesABodyOneByteOverTheLimitWithAndWithoutItsLength) {
  RunningServer server(test_options(), echo_now);
  const std::string fits(10'000, 'x');
  RawClient good(server.port());
  good.send("POST / HTTP/1.1\r\nContent-Length: 10000\r\n\r\n" + fits);
  EXPECT_THAT(good.read_until("]\n"), StartsWith("HTTP/1.1 200"));

  RawClient with_length(server.port());
  with_length.send("POST / HTTP/1.1\r\nContent-Length: 10001\r\n\r\n" + fits + "x");
  EXPECT_THAT(with_length.read_all(), StartsWith("HTTP/1.1 413 "));
  EXPECT_TRUE(with_length.ended());

  RawClient chunked(server.port());
  chunked.send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2710\r\n" + fits + "\r\n1\r\nx\r\n0\r\n\r\n");
  EXPECT_THAT(chunked.read_all(), StartsWith("HTTP/1.1 413 "));
  EXPECT_TRUE(chunked.ended());
}

TEST(HttpServer, RefusesLongHeaders) {
  RunningServer server(test_options(), echo_now);
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nX: " + std::string(3000, 'x') + "\r\n\r\n");
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 431 "));
}

class BadRequest : public testing::TestWithParam<std::string> {};

TEST_P(BadRequest, GetsOneAnswerAndTheEnd) {
  RunningServer server(test_options(), echo_now);
  RawClient client(server.port());
  client.send(GetParam());
  EXPECT_THAT(client.read_all(), StartsWith("HTTP/1.1 4"));
  EXPECT_TRUE(client.ended());
  RawClient next(server.port());
  next.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(next.read_until("]\n"), StartsWith("HTTP/1.1 200"));
}

INSTANTIATE_TEST_SUITE_P(HttpServer, BadRequest,
                         testing::Values("\x16\x03\x01 TLS to a plain port\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
                                         "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n",
                                         "GET /%00 HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                                         "POST / HTTP/1.1\r\nContent-Length: 1x\r\n\r\na",
                                         "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                                         "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                                         "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                                         "POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                                         "POST / HTTP/1.1\r\nContent-Length: 1\r\nExpect: magic\r\n\r\n"));

TEST(HttpServer, CutsOffSlowHeadersAndSlowBodies) {
  RunningServer server(test_options(), echo_now);
  RawClient header(server.port());
  header.send("GET / HT");
  RawClient body(server.port());
  body.send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab");
  RawClient trickle(server.port());
  bool alive = true;
  for (int i = 0; i < 20 && alive; ++i) {
    alive = trickle.send("G");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(header.read_all(), "");
  EXPECT_TRUE(header.ended());
  EXPECT_EQ(body.read_all(), "");
  EXPECT_TRUE(body.ended());
  trickle.read_all();
  EXPECT_TRUE(trickle.ended());
}

TEST(HttpServer, CutsOffAClientThatDoesNotRead) {
  HttpOptions options = test_options();
  options.write_timeout = std::chrono::milliseconds(300);
  RunningServer server(options, [](const HttpRequest&, const HttpReply& reply) {
    HttpResponse response;
    response.body.assign(64 << 20, 'x');
    reply(std::move(response));
  });
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 100 && server.server().connections() > 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(server.server().connections(), 0);
}

TEST(HttpServer, ClosesIdleConnections) {
  HttpOptions options = test_options();
  options.idle_timeout = std::chrono::milliseconds(150);
  RunningServer server(options, echo_now);
  RawClient client(server.port());
  client.read_all(std::chrono::seconds(2));
  EXPECT_TRUE(client.ended());
}

TEST(HttpServer, DoesNotCountComputingAsIdle) {
  HttpOptions options = test_options();
  options.idle_timeout = std::chrono::milliseconds(100);
  Holder holder;
  RunningServer server(options, holder.handler());
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(holder.wait_for(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  holder.answer(0);
  EXPECT_THAT(client.read_until("]\n"), EndsWith("GET / []\n"));
}

TEST(HttpServer, HonoursConnectionCloseHttp10AndHead) {
  RunningServer server(test_options(), echo_now);
  RawClient closing(server.port());
  closing.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(closing.read_all(), AllOf(HasSubstr("Connection: close\r\n"), EndsWith("GET / []\n")));
  EXPECT_TRUE(closing.ended());

  RawClient old(server.port());
  old.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old.read_all(), EndsWith("GET / []\n"));
  EXPECT_TRUE(old.ended());

  RawClient head(server.port());
  head.send("HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(head.read_all(), AllOf(HasSubstr("Content-Length: 10\r\n"), EndsWith("\r\n\r\n")));
}

TEST(HttpServer, TellsTheHandlerThatTheClientHasGone) {
  Holder holder;
  RunningServer server(test_options(), holder.handler());
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(holder.wait_for(1));
  EXPECT_FALSE(holder.cancelled(0));
  client.close();
  EXPECT_TRUE(holder.becomes_cancelled(0));
  holder.answer(0);  // Goes nowhere, and harms nobody.

  RawClient last(server.port());  // The same where no other request could follow.
  last.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(holder.wait_for(2));
  last.close();
  EXPECT_TRUE(holder.becomes_cancelled(1));
  holder.answer(1);
}

TEST(HttpServer, AnswersAClientThatOnlyEndedItsSide) {
  Holder holder;
  RunningServer server(test_options(), holder.handler());
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  client.half_close();
  ASSERT_TRUE(holder.wait_for(1));
  holder.answer(0);
  EXPECT_THAT(client.read_all(), EndsWith("GET / []\n"));
}

TEST(HttpServer, TurnsAwayWhatIsBeyondMaxConnections) {
  HttpOptions options = test_options();
  options.max_connections = 1;
  RunningServer server(options, echo_now);
  RawClient first(server.port());
  first.send("GET / HTTP/1.1\r\n\r\n");
  first.read_until("]\n");
  RawClient second(server.port());
  EXPECT_THAT(second.read_all(), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1\r\n")));
  EXPECT_TRUE(second.ended());
}

TEST(HttpServer, DrainAnswersWhatHasBegunAndTakesNothingNew) {
  Holder holder;
  RunningServer server(test_options(), holder.handler());
  RawClient busy(server.port());
  busy.send("GET /busy HTTP/1.1\r\n\r\n");
  RawClient reading(server.port());
  reading.send("POST /reading HTTP/1.1\r\nContent-Length: 2\r\n\r\na");
  RawClient idle(server.port());
  ASSERT_TRUE(holder.wait_for(1));
  server.server().drain();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(server.server().draining());
  reading.send("b");
  ASSERT_TRUE(holder.wait_for(2));
  holder.answer(0);
  holder.answer(1);
  EXPECT_THAT(busy.read_all(), AllOf(HasSubstr("Connection: close"), EndsWith("GET /busy []\n")));
  EXPECT_THAT(reading.read_all(), AllOf(HasSubstr("Connection: close"), EndsWith("POST /reading [ab]\n")));
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_TRUE(idle.ended());
  EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServer, DrainTakesARequestThatWasUnderWay) {
  RunningServer server(test_options(), echo_now);
  RawClient client(server.port());
  client.send("GET /1 HTTP/1.1\r\n\r\n");
  client.read_until("]\n");
  server.server().drain();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  client.send("GET /2 HTTP/1.1\r\n\r\n");
  EXPECT_THAT(client.read_all(), EndsWith("GET /2 []\n"));
  EXPECT_EQ(server.stop(), 0);
}

TEST(HttpServer, DrainEndsWithTheTimeOutAndCancels) {
  HttpOptions options = test_options();
  options.drain_timeout = std::chrono::milliseconds(200);
  Holder holder;
  RunningServer server(options, holder.handler());
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(holder.wait_for(1));
  server.server().drain();
  EXPECT_TRUE(holder.becomes_cancelled(0));
  holder.answer(0);
  EXPECT_EQ(server.stop(), 1);
}

TEST(HttpServer, ServesManyThreads) {
  HttpOptions options = test_options();
  options.io_threads = 3;
  RunningServer server(options, echo_now);
  std::vector<std::jthread> clients;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&, i] {
      RawClient client(server.port());
      for (int k = 0; k < 50; ++k) {
        const std::string body = std::to_string(i * 1000 + k);
        client.send("POST / HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        if (client.read_until("]\n").ends_with("POST / [" + body + "]\n")) ++good;
      }
    });
  }
  clients.clear();
  EXPECT_EQ(good, 400);
}

TEST(HttpServer, SaysWhatIsWrongWithItsOptions) {
  const HttpRefusal refusal = [](int, std::string_view, std::string_view) { return HttpResponse(); };
  HttpOptions options = test_options();
  options.tls_cert = "/no/such/cert.pem";
  EXPECT_THAT(HttpServer::listen(options, echo_now, refusal).error().message, HasSubstr("both a certificate and a key"));
  options.tls_key = "/no/such/key.pem";
  EXPECT_THAT(HttpServer::listen(options, echo_now, refusal).error().message,
              StartsWith("/no/such/cert.pem: no PEM certificate"));
  options = test_options();
  RunningServer first(options, echo_now);
  options.port = first.port();
  EXPECT_EQ(HttpServer::listen(options, echo_now, refusal).error().code, ErrorCode::kUnavailable);
}

TEST(HttpText, DecodesPercentEscapes) {
  EXPECT_EQ(percent_decode("/a%2Fb%20"), "/a/b ");
  for (const char* bad : {"%", "%1", "%zz", "%00", "a%2"}) EXPECT_EQ(percent_decode(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace inlay
