#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "connection_threads.hpp"
#include "routes.hpp"

namespace {

struct Options {
  std::uint16_t port = 0;
  std::uint16_t threads = 0;  // checked, but of no effect: threads are per connection
};

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::string_view value = argv[i + 1];
    if (name != "--port" && name != "--threads") return std::nullopt;
    auto& number = name == "--port" ? options.port : options.threads;
    const auto [end, error] = std::from_chars(value.begin(), value.end(), number);
    if (error != std::errc{} || end != value.end()) return std::nullopt;
  }
  if (argc != 5 || options.port == 0 || options.threads == 0) return std::nullopt;
  return options;
}

void set_up(httplib::Server& server) {
  server.new_task_queue = [] { return new ConnectionThreads; };
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(std::numeric_limits<int>::max());
  server.set_keep_alive_timeout(120);
  add_routes(server);
}

std::string listen_address() {
  const char* const found = std::getenv("LISTEN_ADDRESS");
  return found ? found : "127.0.0.1";
}

bool listen_on(httplib::Server& server, std::uint16_t port) {
  socket_t listener = INVALID_SOCKET;
  // In place of httplib's default, SO_REUSEPORT, with which a second instance would share the port.
  server.set_socket_options([&listener](socket_t socket) {
    httplib::set_socket_opt(socket, SOL_SOCKET, SO_REUSEADDR, 1);
    listener = socket;
  });
  // httplib listens with a backlog of 5, too short for connections that come all at once: listening again widens it.
  return server.bind_to_port(listen_address(), port) && ::listen(listener, SOMAXCONN) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) {
    std::fprintf(stderr, "usage: %s --port PORT --threads THREADS\n", argv[0]);
    return 2;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread starts: all inherit it, and sigwait gets them

  httplib::Server server;
  set_up(server);
  if (!listen_on(server, options->port)) {
    std::fprintf(stderr, "%s: %s:%u: %s\n", argv[0], listen_address().c_str(), options->port, std::strerror(errno));
    return 1;
  }
  std::jthread acceptor{[&server] { server.listen_after_bind(); }};
  server.wait_until_ready();
  int signal = 0;
  sigwait(&signals, &signal);
  server.stop();
}
