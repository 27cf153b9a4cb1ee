#include "relay.hpp"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <utility>

namespace net = boost::asio;
using boost::system::error_code;

namespace {

// All that a connection may hold in each direction, beyond what is in the kernel: a full response of the experiment
// fits, and a reader that is slow stops the writer.
constexpr std::size_t buffer_bytes = 16 * 1024;

// Errors come as values: an end or a reset is everyday life here and throws nothing.
constexpr net::as_tuple_t<net::use_awaitable_t<Executor>> as_result{};

/// The two ends. Both directions own them together, so that they are closed when the last one is done.
struct Ends {
  Socket client;
  Socket backend;
};

/// Closes a connection with a reset in place of an orderly end, as its other half was reset or lost.
void reset(Socket& socket) {
  error_code ignored;
  socket.set_option(net::socket_base::linger{true, 0}, ignored);
  socket.close(ignored);
}

/// Carries what comes from one end to the other. Its end becomes the end of writing there and nothing else: the other
/// direction may go on. A failure on either side resets both, which wakes the other direction up as well.
Task carry(std::shared_ptr<Ends> ends, Socket Ends::* source, Socket Ends::* target) {
  Socket& from = (*ends).*source;
  Socket& to = (*ends).*target;
  std::array<std::byte, buffer_bytes> buffer;
  for (;;) {
    const auto [read_error, size] = co_await from.async_read_some(net::buffer(buffer), as_result);
    if (read_error == net::error::eof) {
      error_code ignored;
      to.shutdown(Socket::shutdown_send, ignored);
      co_return;
    }
    if (read_error) break;
    const auto [write_error, written] = co_await net::async_write(to, net::buffer(buffer, size), as_result);
    if (write_error) break;
  }
  reset(from);
  reset(to);
}

void send_at_once(Socket& socket) {
  error_code ignored;
  socket.set_option(net::ip::tcp::no_delay{true}, ignored);
}

}  // namespace

Task relay(Socket client, Endpoint backend_address) {
  const Executor executor = client.get_executor();
  auto ends = std::make_shared<Ends>(std::move(client), Socket{executor});
  const auto [error] = co_await ends->backend.async_connect(backend_address, as_result);
  if (error) co_return;
  send_at_once(ends->client);
  send_at_once(ends->backend);
  net::co_spawn(executor, carry(ends, &Ends::backend, &Ends::client), net::detached);
  co_await carry(std::move(ends), &Ends::client, &Ends::backend);
}
