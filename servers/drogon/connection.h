#pragma once

#include <drogon/HttpRequest.h>
#include <trantor/net/Channel.h>
#include <trantor/net/EventLoop.h>

#include <chrono>
#include <memory>
#include <unordered_map>

#include "database.h"

using Clock = std::chrono::steady_clock;

struct Query {
  drogon::HttpRequestPtr request;  // for which it is sent
  const char* sql;
  std::optional<std::string> parameter;
  Finish finish;
  Clock::time_point queued = Clock::now();

  void end(const PGresult* rows) {
    if (const auto once = std::exchange(finish, nullptr)) once(rows);
  }
};

// A connection to PostgreSQL on an event loop. It has one query at a time, comes back by itself when it was lost, and
// lives as long as the process.
class Connection {
 public:
  // `on_change` is called when it can take a query, and when it was lost.
  Connection(trantor::EventLoop* loop, uint16_t port, std::function<void()> on_change);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool is_away() const { return state_ == State::away; }
  bool is_free() const { return state_ == State::free; }

  void send(Query query);

  // Ends its query, if that is older; the connection stays busy until the database has responded.
  void end_older_than(Clock::time_point time);

 private:
  enum class State { away, connecting, free, preparing, executing };

  void connect();
  void poll();
  void on_event();
  void read();
  void prepare();
  void execute();
  void flush(bool was_sent);
  void finish_command();
  void lose();

  trantor::EventLoop* loop_;
  std::string address_;
  std::function<void()> on_change_;
  State state_ = State::away;
  std::unique_ptr<PGconn, decltype(&PQfinish)> link_{nullptr, &PQfinish};
  std::unique_ptr<PGresult, decltype(&PQclear)> result_{nullptr, &PQclear};
  std::shared_ptr<trantor::Channel> channel_;
  std::optional<Query> query_;
  std::unordered_map<const char*, std::string> prepared_;  // names of statements
};
