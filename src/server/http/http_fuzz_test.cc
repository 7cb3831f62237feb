#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/mutation_testing.h"
#include "server/http/http_testing.h"

namespace inlay {
namespace {

using testing::EndsWith;
using testing::StartsWith;

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> seeds = {
      "GET /a%20b?c=d HTTP/1.1\r\nHost: x\r\n\r\n",
      "POST /embed HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello",
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nTrailer: z\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi",
      "GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET /3 HTTP/1.1\r\nConnection: close\r\n\r\n",
      "HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nOrigin: https://a\r\n\r\n"};
  return seeds;
}

TEST(HttpFuzz, DamagedRequestsEndTheirConnectionAndNoOther) {
  constexpr uint32_t kSeed = 17;
  SCOPED_TRACE(kSeed);
  RunningServer server(test_options(), [](const HttpRequest& request, const HttpReply& reply) {
    HttpResponse response;
    response.body = "[" + request.body + "]\n";
    reply(std::move(response));
  });
  Mutator mutator(kSeed);
  RawClient witness(server.port());
  for (int i = 0; i < 1'500; ++i) {
    const std::string request = mutator.damaged(seeds());
    RawClient client(server.port());
    client.send(request);
    client.half_close();
    const std::string answer = client.read_all();
    ASSERT_TRUE(client.ended()) << i << ": " << request;
    if (!answer.empty()) {
      ASSERT_THAT(answer, StartsWith("HTTP/1.1 ")) << i << ": " << request;
    }
    if (i % 100 == 0) {
      witness.send("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nok");
      ASSERT_THAT(witness.read_until("]\n"), EndsWith("[ok]\n")) << i;
    }
  }
}

}  // namespace
}  // namespace inlay
