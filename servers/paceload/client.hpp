// One thread of the load: connections on an epoll, and a pacer that says when each request is to be sent.
#pragma once

#include <arpa/inet.h>
#include <llhttp.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <print>
#include <string>
#include <vector>

#include "pacer.hpp"

namespace paceload {

struct Plan {
  sockaddr_in address{};
  std::string request{};  // as it goes over the wire
  double rate_per_s;      // of all threads; 0: a closed loop
  Nanoseconds duration, timeout;
  std::size_t connections, threads;
  std::uint64_t seed;
  bool poisson, keep_alive;
  bool spin;  // never sleep: a response is seen at once, and the CPU is the load generator's alone
};

[[noreturn]] inline void refuse(int status, const std::string& why) {
  std::println(stderr, "paceload: {}", why);
  std::_Exit(status);
}

inline Nanoseconds now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

class Client {
 public:
  Client(const Plan& plan, std::size_t connections)
      : plan_(plan), epoll_(epoll_create1(EPOLL_CLOEXEC)), connections_(connections) {
    if (epoll_ < 0) refuse(1, std::format("no epoll: {}", std::strerror(errno)));
    // Timers may otherwise be 50 µs late, so that the kernel can serve several at once.
    prctl(PR_SET_TIMERSLACK, 1UL);
    llhttp_settings_init(&settings_);
    settings_.on_message_complete = [](llhttp_t* parser) {
      // Interim responses (1xx) come before the response that counts, RFC 9110, 15.2.
      const bool last = parser->status_code >= 200;
      static_cast<Connection*>(parser->data)->complete = last;
      return static_cast<int>(last ? HPE_PAUSED : HPE_OK);
    };
  }

  // Opens all connections that are kept, before the first request falls due.
  void open() {
    for (auto& connection : connections_) plan_.keep_alive ? connect(connection) : free_.push_back(&connection);
    for (const Nanoseconds latest = now_ns() + plan_.timeout; connecting_ && now_ns() < latest;) handle(kSecond / 100);
  }

  const Measured& run(Nanoseconds start, std::uint64_t seed) {
    const Nanoseconds end = start + plan_.duration, latest = end + plan_.timeout;
    const double rate = plan_.rate_per_s / static_cast<double>(plan_.threads);
    // A closed loop has no schedule: whatever is free sends.
    Pacer pacer(measured_, rate > 0 ? rate : 1, plan_.poisson, seed, start, rate > 0 ? end : start);
    pacer_ = &pacer;
    while (now_ns() < start) handle(0);
    Nanoseconds now = now_ns();
    while (now < latest && (now < end || busy_ || pacer.waiting())) {
      pacer.take_due(now);
      for (auto each = rate == 0 && now < end ? free_.size() : 0; each; --each) pacer.arrive(now);
      while (pacer.waiting() && !free_.empty()) send_next();
      handle(idle_for(now_ns(), end));
      now = now_ns();
      if (now - checked_ > kSecond / 20) end_late_ones(now, plan_.timeout);
    }
    pacer.give_up(now);
    end_late_ones(now, 0);
    return measured_;
  }

 private:
  struct Connection {
    int socket = -1;
    bool connecting = false, busy = false, complete = false, wants_write = false;
    Nanoseconds free_since = 0;
    std::size_t written = 0;
    Request request;
    llhttp_t parser{};
  };

  // How long there is nothing to do. Close to the next send it is not worth falling asleep: waking up takes that long.
  Nanoseconds idle_for(Nanoseconds now, Nanoseconds end) const {
    if (plan_.spin) return 0;
    constexpr Nanoseconds spin = 60'000, most = 20'000'000;
    Nanoseconds until = pacer_->scheduled() && !free_.empty() ? pacer_->next() - now - spin : most;
    if (now < end) until = std::min(until, end - now);
    return std::clamp<Nanoseconds>(until, 0, most);
  }

  void connect(Connection& connection) {
    connection.socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (connection.socket < 0) refuse(1, std::format("no socket: {}", std::strerror(errno)));
    setsockopt(connection.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection.connecting = connection.wants_write = true;
    ++connecting_;
    ++measured_.counts.opened;
    epoll_event event{EPOLLIN | EPOLLOUT, {.ptr = &connection}};
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.socket, &event);
    const auto* to = reinterpret_cast<const sockaddr*>(&plan_.address);
    const bool failed = ::connect(connection.socket, to, sizeof plan_.address) != 0 && errno != EINPROGRESS;
    if (failed) lose(connection, measured_.counts.connect_errors);
  }

  // On the connection that has been free for longest: so all of a server's threads and processes get their share.
  void send_next() {
    Connection& connection = *free_.front();
    free_.pop_front();
    // Without keep-alive the time to connect is part of the service: the send is when it begins.
    connection.request = pacer_->send(connection.free_since, now_ns());
    connection.busy = true;
    connection.complete = false;
    connection.written = 0;
    ++busy_;
    llhttp_init(&connection.parser, HTTP_RESPONSE, &settings_);
    connection.parser.data = &connection;
    connection.socket < 0 ? connect(connection) : write(connection);
  }

  void write(Connection& connection) {
    const std::string_view rest = std::string_view(plan_.request).substr(connection.written);
    const ssize_t count = send(connection.socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN) return lose(connection, measured_.counts.write_errors);
    if (count > 0) connection.written += std::size_t(count);
    want_write(connection, connection.written < plan_.request.size());
  }

  void want_write(Connection& connection, bool wanted) {
    if (wanted == connection.wants_write) return;
    connection.wants_write = wanted;
    epoll_event event{wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, {.ptr = &connection}};
    epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.socket, &event);
  }

  void handle(Nanoseconds wait) {
    const timespec timeout{wait / kSecond, wait % kSecond};
    epoll_event events[256];
    const int count = epoll_pwait2(epoll_, events, 256, &timeout, nullptr);
    for (int each = 0; each < count; ++each) {
      auto& connection = *static_cast<Connection*>(events[each].data.ptr);
      if (connection.connecting) {
        connected(connection, events[each].events & (EPOLLERR | EPOLLHUP));
      } else {
        if (connection.wants_write && (events[each].events & EPOLLOUT)) write(connection);
        if (connection.socket >= 0 && (events[each].events & ~EPOLLOUT)) read(connection);
      }
    }
  }

  void connected(Connection& connection, bool failed) {
    if (failed) return lose(connection, measured_.counts.connect_errors);
    connection.connecting = false;
    --connecting_;
    if (connection.busy) return write(connection);
    want_write(connection, false);
    release(connection);
  }

  void read(Connection& connection) {
    const ssize_t count = recv(connection.socket, buffer_, sizeof buffer_, 0);
    if (count < 0 && errno == EAGAIN) return;
    // Bytes that belong to no request still count: the check of the responses' size finds them.
    if (count > 0) measured_.counts.read_bytes += std::uint64_t(count);
    if (!connection.busy || count < 0) return lose(connection, measured_.counts.read_errors);
    auto* parser = &connection.parser;
    const auto found = count ? llhttp_execute(parser, buffer_, std::size_t(count)) : llhttp_finish(parser);
    if (!connection.complete && found == HPE_OK && count) return;  // there is more to come
    const bool more = count && connection.complete && llhttp_get_error_pos(parser) != buffer_ + count;
    if (!connection.complete || more) return lose(connection, measured_.counts.read_errors);
    pacer_->complete(connection.request, now_ns());
    if (parser->status_code > 299) ++measured_.counts.status_errors;
    connection.busy = false;
    --busy_;
    const bool unsent = connection.written < plan_.request.size();  // the rest would come before the next request
    if (!count || unsent || !plan_.keep_alive || !llhttp_should_keep_alive(parser)) close(connection);
    release(connection);
  }

  void release(Connection& connection) {
    connection.free_since = now_ns();
    free_.push_back(&connection);
  }

  // Closes a connection, and counts its request, where there is one, as lost; the next request opens it again.
  void lose(Connection& connection, std::uint64_t& counter) {
    const bool was_free = !connection.busy && !connection.connecting;
    if (connection.busy) ++counter, --busy_;
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

  void end_late_ones(Nanoseconds now, Nanoseconds timeout) {
    checked_ = now;
    for (auto& connection : connections_) {
      if (!connection.busy || now - connection.request.sent < timeout) continue;
      pacer_->unanswered(connection.request, now);
      lose(connection, measured_.counts.timeouts);
    }
  }

  const Plan& plan_;
  int epoll_;
  std::vector<Connection> connections_;
  std::deque<Connection*> free_;
  llhttp_settings_t settings_{};
  Measured measured_;
  Pacer* pacer_ = nullptr;
  std::size_t busy_ = 0, connecting_ = 0;
  Nanoseconds checked_ = 0;
  char buffer_[1 << 16];
};

}  // namespace paceload
