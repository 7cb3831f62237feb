// A connection of the server, over a pair of sockets in this thread. What it answers to requests that it takes must not depend
// on how the bytes arrive.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <cstdio>

#include "base/check.h"
#include "fuzz_target.h"
#include "server/http/http_connection.h"

namespace inlay {
namespace {

namespace asio = boost::asio;

// The client's end.
class Peer {
 public:
  explicit Peer(int socket) : socket_(socket) {}
  Peer(const Peer&) = delete;
  ~Peer() { ::close(socket_); }

  // What fits; the rest is to be sent when the server has read.
  size_t send(std::string_view bytes) const {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<size_t>(sent) : 0;
  }
  void half_close() const { ::shutdown(socket_, SHUT_WR); }
  void read_into(std::string& text) const {
    char bytes[4096];
    for (ssize_t size; (size = ::recv(socket_, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;) {
      text.append(bytes, static_cast<size_t>(size));
    }
  }

 private:
  int socket_;
};

const HttpOptions& options() {
  static const HttpOptions options = [] {
    HttpOptions small;
    small.max_header_bytes = 2048;
    small.max_body_bytes = 10'000;
    return small;
  }();
  return options;
}

const HttpHandler kEcho = [](const HttpRequest& request, const HttpReply& reply) {
  INLAY_CHECK(request.body.size() <= options().max_body_bytes, "the limit of bodies holds");
  INLAY_CHECK(request.path.find('\0') == std::string::npos, "a path has no NUL");
  reply(json_response("[" + request.path + request.body + "]\n"));
};
const HttpRefusal kRefusal = [](int status, std::string_view message, std::string_view path) {
  HttpResponse response = json_response(std::string(message) + std::string(path));
  response.status = status;
  return response;
};

// Everything that the connection answers to these bytes, which come piece by piece, and then the end.
std::string answer_to(std::initializer_list<std::string_view> pieces) {
  int ends[2];
  INLAY_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "two sockets can be had");
  const Peer peer(ends[1]);
  asio::io_context io(1);
  asio::ip::tcp::socket socket(asio::make_strand(io));
  socket.assign(asio::ip::tcp::v4(), ends[0]);
  const HttpConnectionContext context{options(), kEcho, kRefusal};
  bool ended = false;
  std::string answer;
  make_http_connection(std::move(socket), nullptr, context, [&ended] { ended = true; })->start();
  for (std::string_view piece : pieces) {
    while (!piece.empty() && !ended) {
      piece.remove_prefix(peer.send(piece));
      io.restart();
      io.poll();
      peer.read_into(answer);
    }
  }
  peer.half_close();
  while (!ended) {
    io.restart();
    INLAY_CHECK(io.run_one_for(std::chrono::seconds(5)) > 0, "a connection ends when its client has");
    peer.read_into(answer);
  }
  peer.read_into(answer);
  return answer;
}

// The answers without their dates.
std::string comparable(std::string answer) {
  constexpr std::string_view kDate = "\r\nDate: ";
  for (size_t at = answer.find(kDate); at != std::string::npos; at = answer.find(kDate, at + 1)) {
    answer.erase(at, answer.find("\r\n", at + 2) - at);
  }
  return answer;
}

}  // namespace

bool fuzz_http(std::string_view bytes) {
  const std::string whole = answer_to({bytes});
  INLAY_CHECK(whole.empty() || whole.starts_with("HTTP/1.1 "), "an answer is HTTP");
  const size_t half = bytes.size() / 2;
  const std::string in_pieces = answer_to({bytes.substr(0, half), bytes.substr(half)});
  // Whether a request is refused that never ends, or whose header is a little too long, depends on where Beast's parser had to
  // wait; everything else must not.
  const auto refuses = [](const std::string& answer) {
    return answer.empty() || answer.find("HTTP/1.1 4") != std::string::npos;
  };
  const bool is_same = refuses(whole) || refuses(in_pieces) || comparable(whole) == comparable(in_pieces);
  if (!is_same) std::fprintf(stderr, "at once:\n%s\nin pieces:\n%s\n", whole.c_str(), in_pieces.c_str());
  INLAY_CHECK(is_same, "the answer does not depend on how the bytes arrive");
  return whole.starts_with("HTTP/1.1 200 ") || whole.starts_with("HTTP/1.1 100 ");
}

}  // namespace inlay
