// When to send: arrivals fixed in advance, the queue of those that wait for a connection, and what is measured of them.
// It knows no clock and no socket, so that tests can run it on simulated time. All times are nanoseconds.
#pragma once

#include <hdr/hdr_histogram.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>

namespace paceload {

using Nanoseconds = std::int64_t;
constexpr Nanoseconds kSecond = 1'000'000'000;

// Values from 100 ns to an hour, with three significant digits.
struct Histogram : std::unique_ptr<hdr_histogram, decltype(&hdr_close)> {
  Histogram() : unique_ptr(nullptr, hdr_close) {
    hdr_histogram* made = nullptr;
    if (hdr_init(100, 3600 * kSecond, 3, &made) != 0) throw std::bad_alloc();
    reset(made);
  }
  void record(Nanoseconds value) { hdr_record_value(get(), std::max<Nanoseconds>(value, 0)); }
};

// Every scheduled request is completed, lost to a connect, read or write error, or unanswered: never two of them.
// Timeouts are among the unanswered, status errors among the completed.
struct Counts {
  std::uint64_t scheduled = 0, completed = 0, unanswered = 0, read_bytes = 0, opened = 0, most_waiting = 0;
  std::uint64_t connect_errors = 0, read_errors = 0, write_errors = 0, timeouts = 0, status_errors = 0;
};
constexpr const char* kNames[]{"scheduled",    "completed",    "unanswered",     "read_bytes",
                               "opened",       "most_waiting", "connect_errors", "read_errors",
                               "write_errors", "timeouts",     "status_errors"};
using Values = std::array<std::uint64_t, std::size(kNames)>;

// What was measured, of one thread or of all.
struct Measured {
  Counts counts;
  Histogram response;  // from the intended send
  Histogram service;   // from the actual send
  Histogram lateness;  // of a send, after it was due and a connection was free

  void add(const Measured& other) {
    auto sums = std::bit_cast<Values>(counts);
    for (auto sum = sums.begin(); const auto value : std::bit_cast<Values>(other.counts)) *sum++ += value;
    counts = std::bit_cast<Counts>(sums);
    for (const auto each : {&Measured::response, &Measured::service, &Measured::lateness})
      hdr_add((this->*each).get(), (other.*each).get());
  }
};

// A request between its intended moment and the end of its response.
struct Request {
  Nanoseconds intended = 0, sent = 0;
};

// Arrivals at moments that are fixed before anything is sent: a Poisson process, or a constant distance. Those for
// which no connection is free wait in their order.
class Pacer {
 public:
  Pacer(Measured& measured, double rate_per_s, bool poisson, std::uint64_t seed, Nanoseconds start, Nanoseconds end)
      : measured_(measured), mean_ns_(1e9 / rate_per_s), poisson_(poisson), random_(seed), next_(start), end_(end) {
    // The first of a constant distance comes at a random phase: threads must not send together.
    next_ += poisson ? distance() : mean_ns_ * uniform();
  }

  Nanoseconds next() const { return static_cast<Nanoseconds>(next_); }
  bool scheduled() const { return next() < end_; }
  bool waiting() const { return !waiting_.empty(); }

  // Moves what is due by now into the queue.
  void take_due(Nanoseconds now) {
    for (; scheduled() && next() <= now; next_ += distance()) arrive(next());
    measured_.counts.most_waiting = std::max<std::uint64_t>(measured_.counts.most_waiting, waiting_.size());
  }

  void arrive(Nanoseconds intended) {
    waiting_.push_back(intended);
    ++measured_.counts.scheduled;
  }

  // Sends the request that waits longest, on a connection that has been free since some moment.
  Request send(Nanoseconds free_since, Nanoseconds now) {
    const Nanoseconds intended = waiting_.front();
    waiting_.pop_front();
    measured_.lateness.record(now - std::max(intended, free_since));
    return {intended, now};
  }

  void complete(const Request& request, Nanoseconds now) {
    measured_.response.record(now - request.intended);
    measured_.service.record(now - request.sent);
    ++measured_.counts.completed;
  }

  // A request without a response waited at least until now: as a lower bound it is among the response times.
  void unanswered(const Request& request, Nanoseconds now) {
    measured_.response.record(now - request.intended);
    ++measured_.counts.unanswered;
  }

  void give_up(Nanoseconds now) {
    for (; !waiting_.empty(); waiting_.pop_front()) unanswered({waiting_.front()}, now);
  }

 private:
  double uniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }
  double distance() { return poisson_ ? -mean_ns_ * std::log1p(-uniform()) : mean_ns_; }

  Measured& measured_;
  double mean_ns_;
  bool poisson_;
  std::mt19937_64 random_;
  double next_;
  Nanoseconds end_;
  std::deque<Nanoseconds> waiting_;
};

}  // namespace paceload
