// One thread of the load: connections on an epoll, and a pacer that says when each request is to be sent.
#pragma once

#include <arpa/inet.h>
#include <llhttp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "pacer.hpp"

namespace paceload {

struct Plan {
  sockaddr_in address{};
  std::string request;    // as it goes over the wire
  double rate_per_s = 0;  // of all threads; 0: a closed loop
  double duration_s = 1, timeout_s = 2;
  std::size_t connections = 1, threads = 1;
  std::uint64_t seed = 1;
  bool poisson = true, keep_alive = true;
  bool spin = false;  // never sleep: a response is seen at once, and the CPU is the load generator's alone
};

inline std::atomic<bool> interrupted{false};

inline Nanoseconds now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

class Client {
 public:
  Client(const Plan& plan, std::size_t connections, std::uint64_t seed)
      : plan_(plan),
        seed_(seed),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        connections_(connections),
        events_(connections) {
    if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll");
    // Timers may otherwise be 50 µs late, so that the kernel can serve several at once.
    prctl(PR_SET_TIMERSLACK, 1UL);
    llhttp_settings_init(&settings_);
    settings_.on_message_complete = [](llhttp_t* parser) {
      static_cast<Connection*>(parser->data)->complete = true;
      return static_cast<int>(HPE_PAUSED);
    };
  }

  ~Client() {
    for (auto& connection : connections_) {
      if (connection.socket >= 0) ::close(connection.socket);
    }
    ::close(epoll_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Opens all connections that are kept, before the first request falls due.
  void open() {
    for (auto& connection : connections_) {
      if (plan_.keep_alive) {
        connect(connection);
      } else {
        free_.push_back(&connection);
      }
    }
    for (const Nanoseconds latest = now_ns() + seconds(plan_.timeout_s);
         connecting_ && now_ns() < latest && !interrupted;) {
      handle(seconds(0.01));
    }
  }

  void run(Nanoseconds start) {
    const Nanoseconds end = start + seconds(plan_.duration_s);
    const double rate = plan_.rate_per_s / static_cast<double>(plan_.threads);
    if (rate > 0) pacer_.emplace(Schedule(rate, plan_.poisson, seed_, start, end), measured_);
    while (now_ns() < start && !interrupted) handle(0);
    // A closed loop has no schedule: whatever is free sends.
    if (!pacer_) pacer_.emplace(Schedule(1, true, seed_, start, start), measured_);
    const Nanoseconds latest = end + seconds(plan_.timeout_s);
    Nanoseconds now = now_ns();
    while (!interrupted && (now < end || busy_ || pacer_->waiting()) && now < latest) {
      if (rate > 0) {
        pacer_->look(now);
        while (pacer_->waiting() && !free_.empty()) {
          Connection& connection = take_free();
          send_on(connection, pacer_->take(connection.free_since));
        }
      } else if (now < end) {
        while (!free_.empty()) {
          const Nanoseconds at = now_ns();
          ++measured_.scheduled;
          send_on(take_free(), {at, at, 0});
        }
      }
      handle(idle_for(now_ns(), end));
      now = now_ns();
      if (now - checked_ > seconds(0.05)) end_late_ones(now);
    }
    now = now_ns();
    pacer_->give_up(now);
    for (auto& connection : connections_) {
      if (connection.busy) pacer_->unanswered(connection.request, now);
    }
  }

  const Measured& measured() const { return measured_; }

 private:
  struct Connection {
    int socket = -1;
    bool connecting = false, busy = false, complete = false, wants_write = false;
    Nanoseconds free_since = 0;
    std::size_t written = 0;
    Request request;
    llhttp_t parser{};
  };

  static Nanoseconds seconds(double value) { return static_cast<Nanoseconds>(value * 1e9); }

  // How long there is nothing to do. Close to the next send it is not worth falling asleep: waking up takes that long.
  Nanoseconds idle_for(Nanoseconds now, Nanoseconds end) const {
    if (plan_.spin) return 0;
    constexpr Nanoseconds spin = 60'000, most = 20'000'000;
    Nanoseconds until = pacer_->scheduled() && !free_.empty() ? pacer_->next() - now - spin : most;
    if (now < end && end - now < until) until = end - now;
    return until < 0 ? 0 : until > most ? most : until;
  }

  Connection& take_free() {
    // The one that has been free for longest: so all of a server's threads and processes get their share.
    Connection& connection = *free_.front();
    free_.pop_front();
    return connection;
  }

  void connect(Connection& connection) {
    connection.socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (connection.socket < 0) throw std::system_error(errno, std::generic_category(), "a socket");
    setsockopt(connection.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection.connecting = connection.wants_write = true;
    ++connecting_;
    ++measured_.opened;
    epoll_event event{EPOLLIN | EPOLLOUT, {.ptr = &connection}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.socket, &event);
    const auto* address = reinterpret_cast<const sockaddr*>(&plan_.address);
    if (::connect(connection.socket, address, sizeof plan_.address) != 0 && errno != EINPROGRESS) {
      fail(connection, measured_.connect_errors);
    }
  }

  void send_on(Connection& connection, Request request) {
    connection.request = request;
    connection.busy = true;
    connection.complete = false;
    connection.written = 0;
    ++busy_;
    llhttp_init(&connection.parser, HTTP_RESPONSE, &settings_);
    connection.parser.data = &connection;
    // Without keep-alive the time to connect is part of the service: the send is when it begins.
    pacer_->sent(connection.request, now_ns());
    if (connection.socket < 0) {
      connect(connection);
    } else {
      write(connection);
    }
  }

  void write(Connection& connection) {
    const std::string& text = plan_.request;
    const ssize_t count =
        send(connection.socket, text.data() + connection.written, text.size() - connection.written, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN) return fail(connection, measured_.write_errors);
    if (count > 0) connection.written += static_cast<std::size_t>(count);
    want_write(connection, connection.written < text.size());
  }

  void want_write(Connection& connection, bool wanted) {
    if (wanted == connection.wants_write) return;
    connection.wants_write = wanted;
    epoll_event event{wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, {.ptr = &connection}};
    epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.socket, &event);
  }

  // Waits for events for at most so long, and handles them.
  void handle(Nanoseconds wait) {
    const timespec timeout{wait / kSecond, wait % kSecond};
    const int count = epoll_pwait2(epoll_, events_.data(), static_cast<int>(events_.size()), &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
      auto& connection = *static_cast<Connection*>(events_[i].data.ptr);
      if (connection.socket >= 0 && connection.connecting) {
        connected(connection);
      } else if (connection.socket >= 0) {
        if (connection.wants_write && (events_[i].events & EPOLLOUT)) write(connection);
        if (connection.socket >= 0 && (events_[i].events & ~EPOLLOUT)) read(connection);
      }
    }
  }

  void connected(Connection& connection) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(connection.socket, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) return fail(connection, measured_.connect_errors);
    connection.connecting = false;
    --connecting_;
    if (connection.busy) return write(connection);
    want_write(connection, false);
    release(connection);
  }

  void read(Connection& connection) {
    const ssize_t count = recv(connection.socket, buffer_, sizeof buffer_, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (!connection.busy) return fail(connection, count == 0 ? ignored_ : measured_.read_errors);
    if (count < 0) return fail(connection, measured_.read_errors);
    measured_.bytes += static_cast<std::uint64_t>(count);
    auto* parser = &connection.parser;
    const llhttp_errno_t found =
        count ? llhttp_execute(parser, buffer_, static_cast<std::size_t>(count)) : llhttp_finish(parser);
    if (!connection.complete) {
      if (found != HPE_OK || count == 0) fail(connection, measured_.read_errors);
      return;
    }
    const Nanoseconds now = now_ns();
    if (parser->status_code < 200 || parser->status_code > 299) ++measured_.status_errors;
    pacer_->answered(connection.request, now);
    connection.busy = false;
    --busy_;
    const bool more = count && llhttp_get_error_pos(parser) != buffer_ + count;
    if (more) ++measured_.read_errors;  // bytes that nobody asked for
    if (more || count == 0 || !plan_.keep_alive || !llhttp_should_keep_alive(parser)) close(connection);
    release(connection);
  }

  void release(Connection& connection) {
    connection.free_since = now_ns();
    free_.push_back(&connection);
  }

  // Counts a request, or a connection that nobody used, as lost; the next request on it opens another.
  void fail(Connection& connection, std::uint64_t& counter) {
    ++counter;
    const bool was_free = !connection.busy && !connection.connecting;
    if (connection.busy) --busy_;
    connection.busy = false;
    close(connection);
    if (!was_free) release(connection);
  }

  void close(Connection& connection) {
    if (connection.connecting) --connecting_;
    connection.connecting = connection.wants_write = false;
    if (connection.socket >= 0) ::close(connection.socket);
    connection.socket = -1;
  }

  void end_late_ones(Nanoseconds now) {
    checked_ = now;
    for (auto& connection : connections_) {
      if (!connection.busy || now - connection.request.sent < seconds(plan_.timeout_s)) continue;
      pacer_->unanswered(connection.request, now);
      fail(connection, measured_.timeouts);
    }
  }

  const Plan& plan_;
  std::uint64_t seed_;
  int epoll_;
  std::vector<Connection> connections_;
  std::vector<epoll_event> events_;
  std::deque<Connection*> free_;
  llhttp_settings_t settings_{};
  Measured measured_;
  std::optional<Pacer> pacer_;
  std::size_t busy_ = 0, connecting_ = 0;
  std::uint64_t ignored_ = 0;
  Nanoseconds checked_ = 0;
  char buffer_[1 << 16];
};

}  // namespace paceload
