// One connection of the HTTP server; for the files of this folder only.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/strand.hpp>
#include <functional>
#include <memory>

#include "server/http/http_server.h"

namespace inlay {

// Lives as long as an operation of its own or a reply is outstanding, which is why it is shared.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual void start() = 0;
  // Any thread: answer what has begun, then close.
  virtual void drain() = 0;
  // Any thread: close at once; requests in progress are cancelled.
  virtual void abort() = 0;
};

// What connections share. Outlives them all.
struct HttpConnectionContext {
  const HttpOptions& options;
  const HttpHandler& handler;
  const HttpRefusal& refusal;
};

// The socket's executor must be a strand. `on_end` is called once, when the connection is gone. `tls` is null for plain HTTP.
std::shared_ptr<HttpConnection> make_http_connection(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls,
                                                     const HttpConnectionContext& context, std::function<void()> on_end);

}  // namespace inlay
