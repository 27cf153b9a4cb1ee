// When to send: arrivals scheduled in advance, the queue of those that wait for a connection, and what is measured of
// them. It knows no clock and no socket, so that tests can run it on simulated time. All times are nanoseconds.
#pragma once

#include <hdr/hdr_histogram.h>

#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>

namespace paceload {

using Nanoseconds = std::int64_t;
constexpr Nanoseconds kSecond = 1'000'000'000;

// Values from 100 ns to an hour, with three significant digits.
class Histogram {
 public:
  Histogram() {
    hdr_histogram* made = nullptr;
    if (hdr_init(100, 3600 * kSecond, 3, &made) != 0) throw std::bad_alloc();
    histogram_.reset(made);
  }

  void record(Nanoseconds value) { hdr_record_value(get(), value < 0 ? 0 : value); }
  void add(const Histogram& other) { hdr_add(get(), other.get()); }
  hdr_histogram* get() const { return histogram_.get(); }

 private:
  struct Close {
    void operator()(hdr_histogram* histogram) const { hdr_close(histogram); }
  };
  std::unique_ptr<hdr_histogram, Close> histogram_;
};

// The moments at which requests are to be sent, fixed before anything is: a Poisson process, or a constant distance.
class Schedule {
 public:
  Schedule(double rate_per_s, bool poisson, std::uint64_t seed, Nanoseconds start, Nanoseconds end)
      : mean_ns_(1e9 / rate_per_s), poisson_(poisson), random_(seed), at_(static_cast<double>(start)), end_(end) {
    // The first of a constant distance comes at a random phase: threads must not send together.
    at_ += poisson_ ? distance() : mean_ns_ * uniform();
  }

  bool over() const { return next() >= end_; }
  Nanoseconds next() const { return static_cast<Nanoseconds>(at_); }
  void advance() { at_ += distance(); }

 private:
  double uniform() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }
  double distance() { return poisson_ ? -mean_ns_ * std::log1p(-uniform()) : mean_ns_; }

  double mean_ns_;
  bool poisson_;
  std::mt19937_64 random_;
  double at_;
  Nanoseconds end_;
};

// What was measured, of one thread or of all.
struct Measured {
  Histogram response;  // from the intended send
  Histogram service;   // from the actual send
  Histogram lateness;  // of a send, after it was due and a connection was free
  std::uint64_t scheduled = 0, completed = 0, unanswered = 0, bytes = 0, opened = 0, most_waiting = 0;
  std::uint64_t connect_errors = 0, read_errors = 0, write_errors = 0, timeouts = 0, status_errors = 0;

  void add(const Measured& other) {
    response.add(other.response);
    service.add(other.service);
    lateness.add(other.lateness);
    scheduled += other.scheduled;
    completed += other.completed;
    unanswered += other.unanswered;
    bytes += other.bytes;
    opened += other.opened;
    most_waiting += other.most_waiting;
    connect_errors += other.connect_errors;
    read_errors += other.read_errors;
    write_errors += other.write_errors;
    timeouts += other.timeouts;
    status_errors += other.status_errors;
  }
};

// A request between its intended moment and the end of its response.
struct Request {
  Nanoseconds intended = 0;
  Nanoseconds sendable = 0;  // when it was due and a connection was free
  Nanoseconds sent = 0;
};

// Hands out requests as they fall due. Those for which no connection is free wait in the order of their arrival.
class Pacer {
 public:
  Pacer(Schedule schedule, Measured& measured) : schedule_(schedule), measured_(measured) {}

  // Moves what is due by now into the queue.
  void look(Nanoseconds now) {
    for (; !schedule_.over() && schedule_.next() <= now; schedule_.advance()) {
      waiting_.push_back(schedule_.next());
      ++measured_.scheduled;
    }
    if (waiting_.size() > measured_.most_waiting) measured_.most_waiting = waiting_.size();
  }

  bool waiting() const { return !waiting_.empty(); }
  bool over() const { return schedule_.over() && waiting_.empty(); }
  // The next moment at which there is something to do; the schedule must not be over.
  Nanoseconds next() const { return schedule_.next(); }
  bool scheduled() const { return !schedule_.over(); }

  // Takes the request that waits longest, for a connection that has been free since some moment.
  Request take(Nanoseconds free_since) {
    const Nanoseconds intended = waiting_.front();
    waiting_.pop_front();
    return {intended, intended > free_since ? intended : free_since, 0};
  }

  void sent(Request& request, Nanoseconds now) {
    request.sent = now;
    measured_.lateness.record(now - request.sendable);
  }

  void answered(const Request& request, Nanoseconds now) {
    measured_.response.record(now - request.intended);
    measured_.service.record(now - request.sent);
    ++measured_.completed;
  }

  // What was never answered waited at least until now: as a lower bound it is among the response times.
  void unanswered(const Request& request, Nanoseconds now) {
    measured_.response.record(now - request.intended);
    ++measured_.unanswered;
  }

  void give_up(Nanoseconds now) {
    for (; !waiting_.empty(); waiting_.pop_front()) unanswered({waiting_.front(), 0, 0}, now);
  }

 private:
  Schedule schedule_;
  Measured& measured_;
  std::deque<Nanoseconds> waiting_;
};

}  // namespace paceload
