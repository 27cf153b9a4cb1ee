#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "relay.hpp"

namespace net = boost::asio;
using tcp = net::ip::tcp;

namespace {

using Clock = std::chrono::steady_clock;
using Timer = net::basic_waitable_timer<Clock, net::wait_traits<Clock>, Executor>;
using Acceptor = net::basic_socket_acceptor<tcp, Executor>;
using Contexts = std::deque<net::io_context>;  // a deque, because an io_context cannot move

struct Options {
  std::uint16_t port = 0;
  std::uint16_t backend_port = 0;  // 0: there is none, and every client is turned away
  std::uint16_t threads = 0;
};

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  const std::map<std::string_view, std::uint16_t*> numbers{
      {"--port", &options.port}, {"--backend-port", &options.backend_port}, {"--threads", &options.threads}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto number = numbers.find(argv[i]);
    const std::string_view value = argv[i + 1];
    if (number == numbers.end()) return std::nullopt;
    const auto [end, error] = std::from_chars(value.begin(), value.end(), *number->second);
    if (error != std::errc{} || end != value.end()) return std::nullopt;
  }
  if (argc != 7 || options.port == 0 || options.threads == 0) return std::nullopt;
  return options;
}

net::ip::address address_in(const char* variable) {
  const char* const found = std::getenv(variable);
  return net::ip::make_address(found ? found : "127.0.0.1");
}

Acceptor listen_on(net::io_context& context, std::uint16_t port) {
  Acceptor acceptor{context};
  acceptor.open(tcp::v4());
  acceptor.set_option(Acceptor::reuse_address{true});  // for TIME_WAIT only: a second listener still fails
  acceptor.bind({address_in("LISTEN_ADDRESS"), port});
  acceptor.listen();
  return acceptor;
}

/// Hands the connections to the contexts round robin, each of which runs in a thread of its own: both directions of a
/// connection stay in one thread and share its two sockets without a lock or a strand.
Task accept_forever(Acceptor& acceptor, Contexts& contexts, Endpoint backend) {
  for (std::size_t next = 0;; next = (next + 1) % contexts.size()) {
    auto [error, client] =
        co_await acceptor.async_accept(contexts[next], net::as_tuple(net::use_awaitable_t<Executor>{}));
    if (!error) {
      net::co_spawn(contexts[next], relay(std::move(client), backend), net::detached);
    } else {  // out of file descriptors, most likely: do not spin on it
      Timer pause{acceptor.get_executor(), std::chrono::milliseconds{10}};
      co_await pause.async_wait(net::use_awaitable_t<Executor>{});
    }
  }
}

void run(const Options& options) {
  Contexts contexts;
  for (int i = 0; i < options.threads; ++i) contexts.emplace_back(1);  // concurrency hint: one thread each

  net::signal_set signals{contexts.front(), SIGINT, SIGTERM};
  signals.async_wait([&](auto, int) {
    for (auto& context : contexts) context.stop();
  });
  Acceptor acceptor = listen_on(contexts.front(), options.port);
  const Endpoint backend{address_in("BACKEND_ADDRESS"), options.backend_port};
  net::co_spawn(contexts.front(), accept_forever(acceptor, contexts, backend), net::detached);

  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < contexts.size(); ++i)
    threads.emplace_back([&context = contexts[i], work = net::make_work_guard(contexts[i])] { context.run(); });
  contexts.front().run();
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr, "usage: %s --port PORT --backend-port PORT --threads THREADS\n", argv[0]);
    return 2;
  }
  try {
    run(*options);
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "%s: port %u: %s\n", argv[0], options->port, error.code().message().c_str());
    return 1;
  }
}
