// A connection reads ahead while requests are in progress, for two reasons: pipelined requests may start at once, and the end
// of the stream tells that the client has gone, so that its work can be dropped. Requests get numbered slots; responses leave
// in the order of the slots, whatever the order they come in. All members belong to the strand of the socket.
#include "server/http/http_connection.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <deque>
#include <type_traits>

#include "base/text.h"

namespace inlay {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using Parser = http::request_parser<http::string_body>;
using TlsStream = asio::ssl::stream<tcp::socket>;

constexpr size_t kReadBytes = 8192;
constexpr size_t kMaxReadBytes = 65536;  // of a body at a time
// A connection that is idle when a drain begins may have a request under way.
constexpr std::chrono::milliseconds kDrainGrace{250};
// After the last response, what the client still sends is read for this long, or it would see a reset instead of the answer.
constexpr std::chrono::milliseconds kLinger{2'000};
constexpr size_t kLingerBytes = 8 * 1024 * 1024;

HttpMethod method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get: return HttpMethod::kGet;
    case http::verb::head: return HttpMethod::kHead;
    case http::verb::post: return HttpMethod::kPost;
    case http::verb::options: return HttpMethod::kOptions;
    default: return HttpMethod::kOther;
  }
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

struct Refused {
  int status;
  std::string_view message;
};

Refused refusal_of(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return {431, "the header is too large"};
  if (error == http::error::body_limit) return {413, "the body is too large"};
  return {400, "the request is not well-formed HTTP/1.1"};
}

bool is_protocol_error(const error_code& error) {
  return error.category() == make_error_code(http::error::bad_method).category() && error != http::error::end_of_stream &&
         error != http::error::partial_message;
}

template <class Stream>
class Connection final : public HttpConnection, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  template <class... Args>
  Connection(const HttpConnectionContext& context, std::function<void()> on_end, Args&&... args)
      : stream_(std::forward<Args>(args)...),
        context_(context),
        on_end_(std::move(on_end)),
        buffer_(context.options.max_header_bytes + kMaxReadBytes),
        read_timer_(stream_.get_executor()),
        write_timer_(stream_.get_executor()) {}

  ~Connection() override { on_end_(); }

  void start() override {
    error_code ignored;
    socket().set_option(tcp::no_delay(true), ignored);
    const tcp::endpoint endpoint = socket().remote_endpoint(ignored);
    if (!ignored) peer_ = endpoint.address().to_string();
    asio::dispatch(stream_.get_executor(), [self = self()] { self->open(); });
  }

  void drain() override {
    asio::post(stream_.get_executor(), [self = self()] { self->begin_drain(); });
  }

  void abort() override {
    asio::post(stream_.get_executor(), [self = self()] { self->close(); });
  }

 private:
  enum class Phase : uint8_t { kHandshake, kIdle, kRequest, kPaused, kEnded };

  // A request that was read and not yet answered.
  struct Slot {
    uint64_t number = 0;
    bool keep_alive = true;
    bool head_only = false;
    bool ready = false;
    HttpResponse response;
    std::shared_ptr<std::atomic<bool>> cancelled;
  };

  std::shared_ptr<Connection> self() { return this->shared_from_this(); }
  tcp::socket& socket() {
    if constexpr (std::is_same_v<Stream, TlsStream>)
      return stream_.next_layer();
    else
      return stream_;
  }

  void open() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      limit(read_timer_, context_.options.header_timeout);
      stream_.async_handshake(asio::ssl::stream_base::server, [self = self()](error_code error) {
        if (error) return self->close();
        self->wait_for_request();
      });
    } else {
      wait_for_request();
    }
  }

  // Closes the connection when the time is over, unless the timer is set anew or stopped before.
  void limit(asio::steady_timer& timer, std::chrono::milliseconds time) {
    timer.expires_after(time);
    timer.async_wait([weak = this->weak_from_this(), &timer](error_code error) {
      if (error) return;
      const std::shared_ptr<Connection> self = weak.lock();
      // A timer that ran out may have been set anew before this ran.
      if (self && timer.expiry() <= asio::steady_timer::clock_type::now()) self->close();
    });
  }
  static void stop(asio::steady_timer& timer) { timer.expires_at(asio::steady_timer::time_point::max()); }

  void close() {
    phase_ = Phase::kEnded;
    cancel_requests();
    error_code ignored;
    stop(read_timer_);
    stop(write_timer_);
    socket().shutdown(tcp::socket::shutdown_both, ignored);
    socket().close(ignored);
  }

  void cancel_requests() {
    for (Slot& slot : slots_) {
      if (slot.cancelled) slot.cancelled->store(true, std::memory_order_relaxed);
    }
  }

  void begin_drain() {
    draining_ = true;
    if (phase_ == Phase::kIdle && slots_.empty()) limit(read_timer_, kDrainGrace);
  }

  // ---- reading ----

  void wait_for_request() {
    if (buffer_.size() > 0 && !last_request_) return read_header();
    phase_ = Phase::kIdle;
    stop(read_timer_);
    if (slots_.empty()) limit(read_timer_, draining_ ? kDrainGrace : context_.options.idle_timeout);
    stream_.async_read_some(buffer_.prepare(std::min(kReadBytes, buffer_.max_size() - buffer_.size())),
                            [self = self()](error_code error, size_t bytes) { self->on_first_bytes(error, bytes); });
  }

  void on_first_bytes(error_code error, size_t bytes) {
    if (phase_ == Phase::kEnded) return;
    if (error) return end_of_input();
    if (last_request_) return;  // Bytes after the last request are nobody's; nothing watches this client any more.
    buffer_.commit(bytes);
    read_header();
  }

  // The client closed its side, or broke off. Requests in progress have lost their reader.
  void end_of_input() {
    phase_ = Phase::kEnded;
    stop(read_timer_);
    cancel_requests();
    if (slots_.empty()) close();
  }

  void read_header() {
    phase_ = Phase::kRequest;
    parser_.emplace();
    parser_->header_limit(context_.options.max_header_bytes);
    parser_->body_limit(context_.options.max_body_bytes);
    limit(read_timer_, context_.options.header_timeout);
    http::async_read_header(stream_, buffer_, *parser_, [self = self()](error_code error, size_t) { self->on_header(error); });
  }

  void on_header(error_code error) {
    if (error) return on_read_error(error);
    limit(read_timer_, context_.options.body_timeout);
    const std::string_view expectation = view(parser_->get()[http::field::expect]);
    if (expectation.empty() || parser_->is_done()) return read_body();
    if (lower_case(expectation) != "100-continue") return refuse({417, "the only expectation that is met is 100-continue"});
    wants_continue_ = true;
    if (slots_.empty()) send_continue();
  }

  // Only when no earlier response is outstanding, or the client could not tell what it belongs to.
  void send_continue() {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    wants_continue_ = false;
    asio::async_write(stream_, asio::buffer(kContinue), [self = self()](error_code error, size_t) {
      if (error) return self->close();
      self->read_body();
    });
  }

  void read_body() {
    http::async_read(stream_, buffer_, *parser_, [self = self()](error_code error, size_t) { self->on_body(error); });
  }

  void on_read_error(const error_code& error) {
    if (phase_ == Phase::kEnded) return;
    if (is_protocol_error(error)) return refuse(refusal_of(error));
    end_of_input();
  }

  void on_body(error_code error) {
    if (error) return on_read_error(error);
    stop(read_timer_);
    Parser::value_type message = parser_->release();
    last_request_ = !message.keep_alive();
    const std::string_view target = view(message.target());
    const std::optional<std::string> path = percent_decode(target.substr(0, target.find('?')));
    if (!path) return refuse({400, "the path has a broken percent escape"});
    Slot& slot = slots_.emplace_back();
    slot.number = next_number_++;
    slot.keep_alive = !last_request_;
    slot.head_only = message.method() == http::verb::head;
    slot.cancelled = std::make_shared<std::atomic<bool>>(false);
    HttpRequest request{method_of(message.method()), *path, {}, std::move(message.body()), peer_, slot.cancelled};
    for (const Parser::value_type::value_type& field : message) {
      request.headers.emplace_back(lower_case(view(field.name_string())), view(field.value()));
    }
    const uint64_t number = slot.number;
    context_.handler(std::move(request), [self = self(), number](HttpResponse response) {
      asio::post(self->stream_.get_executor(),
                 [self, number, response = std::move(response)]() mutable { self->complete(number, std::move(response)); });
    });
    read_on();
  }

  void read_on() {
    if (static_cast<int>(slots_.size()) < context_.options.max_pipeline) return wait_for_request();
    phase_ = Phase::kPaused;
  }

  // Answers in place of the handler, and takes nothing more from this client.
  void refuse(const Refused& refused) {
    phase_ = Phase::kEnded;
    last_request_ = true;
    stop(read_timer_);
    const std::string_view target = parser_ ? view(parser_->get().target()) : std::string_view();
    Slot& slot = slots_.emplace_back();
    slot.number = next_number_++;
    slot.keep_alive = false;
    slot.ready = true;
    slot.response = context_.refusal(refused.status, refused.message, target.substr(0, target.find('?')));
    write_next();
  }

  // ---- writing ----

  void complete(uint64_t number, HttpResponse response) {
    for (Slot& slot : slots_) {
      if (slot.number != number || slot.ready) continue;
      slot.response = std::move(response);
      slot.ready = true;
    }
    write_next();
  }

  void write_next() {
    if (writing_ || slots_.empty() || !slots_.front().ready) return;
    if (!socket().is_open()) return slots_.clear();
    writing_ = true;
    Slot& slot = slots_.front();
    if (draining_ && slots_.size() == 1 && phase_ != Phase::kRequest && buffer_.size() == 0) slot.keep_alive = false;
    head_ = http_head(slot.response, slot.keep_alive);
    const std::array<asio::const_buffer, 2> parts = {asio::buffer(head_),
                                                     slot.head_only ? asio::const_buffer() : asio::buffer(slot.response.body)};
    limit(write_timer_, context_.options.write_timeout);
    asio::async_write(stream_, parts, [self = self()](error_code error, size_t) { self->on_written(error); });
  }

  void on_written(error_code error) {
    writing_ = false;
    stop(write_timer_);
    if (error) {
      slots_.clear();
      return close();
    }
    const bool keep_alive = slots_.front().keep_alive;
    slots_.pop_front();
    if (!keep_alive) return finish();
    if (slots_.empty()) {
      if (phase_ == Phase::kEnded) return close();
      if (wants_continue_) send_continue();
      if (phase_ == Phase::kIdle) limit(read_timer_, draining_ ? kDrainGrace : context_.options.idle_timeout);
    }
    if (phase_ == Phase::kPaused) wait_for_request();
    write_next();
  }

  // An orderly end after the last response.
  void finish() {
    phase_ = Phase::kEnded;
    last_request_ = true;
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      limit(write_timer_, kLinger);
      stream_.async_shutdown([self = self()](error_code) { self->begin_linger(); });
    } else {
      begin_linger();
    }
  }

  void begin_linger() {
    if (!socket().is_open()) return;
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_send, ignored);
    limit(read_timer_, kLinger);
    linger(0);
  }

  void linger(size_t read) {
    socket().async_read_some(asio::buffer(discarded_), [self = self(), read](error_code error, size_t bytes) {
      if (error || read + bytes > kLingerBytes) return self->close();
      self->linger(read + bytes);
    });
  }

  Stream stream_;
  const HttpConnectionContext& context_;
  std::function<void()> on_end_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  asio::steady_timer read_timer_;
  asio::steady_timer write_timer_;
  std::string peer_;
  Phase phase_ = Phase::kHandshake;
  bool draining_ = false;
  bool writing_ = false;
  bool wants_continue_ = false;
  bool last_request_ = false;  // the client asked for no more, or gets no more
  uint64_t next_number_ = 0;
  std::deque<Slot> slots_;
  std::string head_;
  std::array<char, kReadBytes> discarded_;
};

}  // namespace

std::shared_ptr<HttpConnection> make_http_connection(tcp::socket socket, asio::ssl::context* tls,
                                                     const HttpConnectionContext& context, std::function<void()> on_end) {
  if (tls == nullptr) return std::make_shared<Connection<tcp::socket>>(context, std::move(on_end), std::move(socket));
  return std::make_shared<Connection<TlsStream>>(context, std::move(on_end), std::move(socket), *tls);
}

}  // namespace inlay
