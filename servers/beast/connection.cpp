#include "connection.hpp"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string_view>
#include <tuple>
#include <utility>

#include "counting_body.hpp"
#include "routes.hpp"

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace net = boost::asio;

namespace {

constexpr std::uint64_t max_body_bytes = 4 * 1024 * 1024;
// Beast reads as much as the buffer has room for: reserved at once, a request of up to this size costs one
// read instead of several growing ones.
constexpr std::size_t read_buffer_bytes = 16 * 1024;
constexpr std::chrono::seconds linger_time{2};

constexpr net::as_tuple_t<net::use_awaitable_t<Executor>> as_result{};

using Parser = http::request_parser<counting_body>;
using Response = http::response<http::span_body<const char>>;

/// The Date header, formatted once a second and thread.
std::string_view http_date() {
  thread_local std::time_t formatted_at = -1;
  thread_local std::array<char, sizeof "Thu, 01 Jan 1970 00:00:00 GMT"> date;
  if (const std::time_t now = std::time(nullptr); now != formatted_at) {
    std::tm utc;
    std::strftime(date.data(), date.size(), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
    formatted_at = now;
  }
  return {date.data(), date.size() - 1};
}

/// Reads one request to its end, its body as a mere count.
net::awaitable<beast::error_code, Executor> read_request(Socket& socket, beast::flat_buffer& buffer, Parser& parser) {
  parser.body_limit(max_body_bytes);
  auto [error, size] = co_await http::async_read_header(socket, buffer, parser, as_result);
  if (error || parser.is_done()) co_return error;
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    std::tie(error, size) = co_await net::async_write(socket, net::buffer(go_on), as_result);
    if (error) co_return error;
  }
  std::tie(error, size) = co_await http::async_read(socket, buffer, parser, as_result);
  co_return error;
}

/// Whether it is the request that is at fault, and not the connection that has ended.
bool is_malformed(beast::error_code error) {
  const beast::error_code end = http::error::end_of_stream;
  return error.category() == end.category() && error != end;
}

/// The fields of `response` refer to nothing; its body refers to `reply`.
void fill(Response& response, const Reply& reply, const Parser& parser, bool keep_alive) {
  const auto& request = parser.get();
  response.clear();
  response.result(reply.status);
  response.version(request.version());
  response.set(http::field::content_type, reply.content_type);
  response.set(http::field::date, http_date());
  if (!reply.allow.empty()) response.set(http::field::allow, reply.allow);
  response.content_length(reply.body.size());
  response.keep_alive(keep_alive);
  response.body() = request.method() == http::verb::head ? std::string_view{} : std::string_view{reply.body};
}

Task discard_input(Socket& socket, beast::flat_buffer& buffer) {
  buffer.clear();
  for (;;) {
    const auto [error, size] = co_await socket.async_read_some(buffer.prepare(read_buffer_bytes), as_result);
    if (error) co_return;
  }
}

/// Closing a socket that holds unread input resets the connection, and a client that is still sending would lose
/// the response. So end this side only, and read on until the client has ended its own, within reason.
Task lingering_close(Socket& socket, beast::flat_buffer& buffer) {
  using namespace net::experimental::awaitable_operators;
  beast::error_code ignored;
  socket.shutdown(Socket::shutdown_send, ignored);
  Timer timer{socket.get_executor(), linger_time};
  co_await (discard_input(socket, buffer) || timer.async_wait(net::use_awaitable_t<Executor>{}));
}

}  // namespace

Task serve(Socket socket) {
  beast::error_code ignored;
  socket.set_option(net::ip::tcp::no_delay{true}, ignored);
  beast::flat_buffer buffer;
  buffer.reserve(read_buffer_bytes);
  Response response;
  for (;;) {
    Parser parser;
    const beast::error_code error = co_await read_request(socket, buffer, parser);
    if (error && !is_malformed(error)) co_return;  // the client is gone

    const auto& request = parser.get();
    const Reply reply = error == http::error::body_limit
                            ? error_reply(http::status::payload_too_large, "body over 4 MiB")
                        : error ? error_reply(http::status::bad_request, "malformed request")
                                : route(request.method(), request.target(), request.body().bytes);
    const bool keep_alive = !error && request.keep_alive();
    fill(response, reply, parser, keep_alive);
    const auto [write_error, size] = co_await http::async_write(socket, response, as_result);
    if (write_error) co_return;
    if (!keep_alive) co_return co_await lingering_close(socket, buffer);
  }
}
