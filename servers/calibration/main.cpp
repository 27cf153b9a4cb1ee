// A server whose response times are known by calculation: one thread, and three ways to serve a ping.
//
//   /work     2 ms after it came or after the response before, whichever is later: a queue with one server and a
//             constant service time (M/D/1). The clock serves, not the CPU: what the CPU does besides, or a pause of
//             it, makes one response late and no service longer.
//   /delayed  5 ms later, without keeping others waiting
//   /stalled  the same; and from the first such request on, the process stands still for the first 100 ms of every
//   second
//
// What it shows of a load generator, and from which formulas, is in benchmarks/open_loop.py.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <unordered_map>

namespace {

using Nanoseconds = std::int64_t;
constexpr Nanoseconds millisecond = 1'000'000, second = 1'000'000'000;
constexpr Nanoseconds work = 2 * millisecond, delay = 5 * millisecond, stall = 100 * millisecond;

Nanoseconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * second + time.tv_nsec;
}

struct Connection {
  std::string read;
  bool ending = false;  // refused: what else comes is not read
};

struct Due {
  int socket;
  std::uint64_t generation;
};

class Server {
 public:
  explicit Server(std::uint16_t port)
      : epoll_(epoll_create1(0)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    const int on = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(listener_, 4096) != 0) {
      perror("calibration: the port");
      std::exit(1);
    }
    watch(listener_);
  }

  void run() {
    for (epoll_event events[256];;) {
      // Never asleep while a client is there: waking up takes a time that nobody could calculate.
      const int count = epoll_wait(epoll_, events, 256, connections_.empty() && due_.empty() ? -1 : 0);
      stand_still();
      for (int i = 0; i < count; ++i) events[i].data.fd == listener_ ? accept_all() : read(events[i].data.fd);
      for (; !due_.empty() && due_.begin()->first <= now(); due_.erase(due_.begin())) {
        const Due first = due_.begin()->second;
        const auto found = generations_.find(first.socket);
        if (found != generations_.end() && found->second == first.generation)
          respond(first.socket, "200 OK", "Hello, World!");
      }
    }
  }

 private:
  void watch(int socket) {
    epoll_event event{EPOLLIN, {.fd = socket}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event);
  }

  void accept_all() {
    for (int socket; (socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK)) >= 0; watch(socket)) {
      const int on = 1;
      setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      connections_[socket] = {};
      generations_[socket] = ++generation_;
    }
  }

  // In every whole second of the clock, its first tenth.
  void stand_still() const {
    if (!stalls_) return;
    const Nanoseconds phase = now() % second;
    if (phase >= stall) return;
    const timespec wait{0, stall - phase};
    nanosleep(&wait, nullptr);
  }

  void read(int socket) {
    char buffer[65536];
    const ssize_t count = recv(socket, buffer, sizeof buffer, 0);
    if (count < 0 && errno == EAGAIN) return;
    Connection& connection = connections_[socket];
    if (count <= 0) return close_it(socket);
    if (connection.ending) return;
    connection.read.append(buffer, static_cast<std::size_t>(count));
    for (std::size_t end; !connection.ending && (end = connection.read.find("\r\n\r\n")) != std::string::npos;) {
      const std::string line = connection.read.substr(0, connection.read.find("\r\n"));
      connection.read.erase(0, end + 4);
      handle(socket, line);
    }
    if (connection.read.size() > sizeof buffer) refuse(socket, "400 Bad Request");
  }

  void handle(int socket, const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string method = line.substr(0, space),
                      target = line.substr(space + 1, line.find(' ', space + 1) - space - 1);
    const std::string path = target.substr(0, target.find('?'));
    if (path != "/work" && path != "/delayed" && path != "/stalled") return refuse(socket, "404 Not Found");
    if (method != "GET") return refuse(socket, "405 Method Not Allowed");
    stalls_ = stalls_ || path == "/stalled";
    if (path == "/work") served_ = std::max(served_, now()) + work;
    due_.emplace(path == "/work" ? served_ : now() + delay, Due{socket, generations_[socket]});
  }

  void refuse(int socket, const char* status) {
    connections_[socket].ending = true;
    const std::string body = std::string("{\"error\":\"") + status + "\"}";
    respond(socket, status, body, "application/json\r\nConnection: close");
    shutdown(socket, SHUT_WR);
  }

  static void respond(int socket, const char* status, const std::string& body, const char* type = "text/plain") {
    char date[64];
    const std::time_t time = std::time(nullptr);
    std::tm utc{};
    std::strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&time, &utc));
    const std::string text = std::string("HTTP/1.1 ") + status + "\r\nContent-Type: " + type + "\r\nDate: " + date +
                             "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    (void)!send(socket, text.data(), text.size(), MSG_NOSIGNAL);  // it fits into any socket's buffer
  }

  void close_it(int socket) {
    connections_.erase(socket);
    generations_.erase(socket);
    close(socket);
  }

  int epoll_, listener_;
  bool stalls_ = false;
  std::uint64_t generation_ = 0;
  std::unordered_map<int, Connection> connections_;
  std::unordered_map<int, std::uint64_t> generations_;
  Nanoseconds served_ = 0;  // when all of /work that has come is done
  std::multimap<Nanoseconds, Due> due_;
};

}  // namespace

int main(int count, char** arguments) {
  const long port = count == 3 && std::strcmp(arguments[1], "--port") == 0 ? std::strtol(arguments[2], nullptr, 10) : 0;
  if (port < 1 || port > 65535) {
    fprintf(stderr, "usage: server --port PORT\n");
    return 2;
  }
  signal(SIGTERM, [](int) { _exit(0); });
  signal(SIGINT, [](int) { _exit(0); });
  Server(static_cast<std::uint16_t>(port)).run();
}
