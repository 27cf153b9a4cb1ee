#include "database.h"

#include <drogon/drogon.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "connection.h"

using namespace drogon;

namespace {

// Within the contract's three seconds, with what the sweep may be late.
constexpr auto kPatience = std::chrono::seconds(2);
constexpr double kSweepSeconds = 0.25;

// The connections of one IO thread, and who waits for one. It lives as long as the process.
class Pool {
 public:
  Pool(trantor::EventLoop* loop, uint16_t port, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      connections_.push_back(std::make_unique<Connection>(loop, port, [this] { serve(); }));
    }
    loop->runEvery(kSweepSeconds, [this] { sweep(); });
  }

  void enqueue(Query query) {
    waiting_.push_back(std::move(query));
    serve();
  }

 private:
  void serve() {
    if (std::ranges::all_of(connections_, &Connection::is_away)) return end_older_than(Clock::time_point::max());
    while (!waiting_.empty()) {
      const auto free = std::ranges::find_if(connections_, &Connection::is_free);
      if (free == connections_.end()) return;
      Query query = take();
      if (query.request->connected()) (*free)->send(std::move(query));  // else nobody waits for it any more
    }
  }

  Query take() {
    Query query = std::move(waiting_.front());
    waiting_.pop_front();
    return query;
  }

  void end_older_than(Clock::time_point time) {
    while (!waiting_.empty() && waiting_.front().queued < time) take().end(nullptr);
  }

  // Ends what has waited for too long, for a connection or on one.
  void sweep() {
    const auto oldest = Clock::now() - kPatience;
    for (const auto& connection : connections_) connection->end_older_than(oldest);
    end_older_than(oldest);
  }

  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<Query> waiting_;
};

thread_local Pool* this_threads_pool = nullptr;

}  // namespace

void register_database(uint16_t port, size_t pool, size_t threads) {
  app().registerBeginningAdvice([=] {
    for (size_t i = 0; i < threads; ++i) {
      auto* const loop = app().getIOLoop(i);
      const size_t size = pool / threads + (i < pool % threads ? 1 : 0);
      loop->runInLoop([=] { this_threads_pool = new Pool(loop, port, std::max<size_t>(size, 1)); });
    }
  });
}

void query(const HttpRequestPtr& request, const char* sql, std::optional<std::string> parameter, Finish finish) {
  if (!this_threads_pool) return finish(nullptr);
  this_threads_pool->enqueue({request, sql, std::move(parameter), std::move(finish)});
}
