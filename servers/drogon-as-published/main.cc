// The published handlers on Drogon, set up as servers/drogon is.
#include <arpa/inet.h>
#include <drogon/drogon.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "routes.h"

namespace {

// Larger than the contract's limit: Drogon closes the connection on what is beyond its own, with a response that has no
// headers. Bodies up to this size are read to their end and reach the handlers.
constexpr size_t kMaxBodyRead = size_t{16} << 20;

constexpr size_t kIdleSeconds = 120;

struct Arguments {
  uint16_t port = 0;
  uint16_t threads = 0;
};

std::optional<uint16_t> parse_number(std::string_view text) {
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const auto number = parse_number(argv[i + 1]);
    if (!number) return std::nullopt;
    if (option == "--port") {
      arguments.port = *number;
    } else if (option == "--threads") {
      arguments.threads = *number;
    } else {
      return std::nullopt;
    }
  }
  if (argc % 2 == 0 || arguments.port == 0 || arguments.threads == 0) return std::nullopt;
  return arguments;
}

// One file descriptor per connection: as many as we may have.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string listen_address() {
  const char* const found = std::getenv("LISTEN_ADDRESS");
  return found ? found : "127.0.0.1";
}

// Drogon's listeners share their port with one another and say little about one that is taken: tried beforehand, by a
// socket that does not share it. Returns the error, 0 if there is none.
int try_port(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, listen_address().c_str(), &address.sin_addr);
  const int error = bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  close(socket);
  return error;
}

void disable_delay(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  if (!arguments) {
    std::fprintf(stderr, "usage: %s --port PORT --threads THREADS\n", argv[0]);
    return 2;
  }
  if (const int error = try_port(arguments->port)) {
    std::fprintf(stderr, "%s: %s:%d: %s\n", argv[0], listen_address().c_str(), arguments->port, std::strerror(error));
    return 1;
  }
  raise_descriptor_limit();

  // Only what goes wrong is logged.
  trantor::Logger::setOutputFunction([](const char* text, uint64_t size) { std::fwrite(text, 1, size, stderr); },
                                     [] { std::fflush(stderr); });
  register_routes();
  drogon::app()
      .setLogLevel(trantor::Logger::kError)
      .addListener(listen_address(), arguments->port)
      .setThreadNum(arguments->threads)
      .setAfterAcceptSockOptCallback(disable_delay)
      .setClientMaxBodySize(kMaxBodyRead)
      .setClientMaxMemoryBodySize(kMaxBodyRead)                                             // no body goes to a file,
      .setUploadPath((std::filesystem::temp_directory_path() / "drogon-uploads").string())  // but Drogon makes a folder
      .setDocumentRoot("/dev/null")  // the router tries unknown paths there, and finds no file
      .setIdleConnectionTimeout(kIdleSeconds)
      .enableServerHeader(false)
      .setUnicodeEscapingInJson(false)
      .enableGzip(false)
      .enableBrotli(false)
      .run();
}
