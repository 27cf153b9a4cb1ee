// The pacer on a simulated clock, in front of one server with a constant service time: SERVICE_US RATE CONNECTIONS
// STALL_MS SEED SECONDS. It prints the mean response time, p50, p99 and the mean lateness in µs, the number of arrivals
// and the longest queue. Tests compare them with what is known by calculation, the benchmark with what paceload
// measured.
#include <cstdlib>
#include <print>

#include "pacer.hpp"

int main(int count, char** arguments) {
  using namespace paceload;
  if (count != 7) return 2;
  const auto number = [&](int place) { return std::atof(arguments[place]); };
  const auto service = static_cast<Nanoseconds>(number(1) * 1e3), stall = static_cast<Nanoseconds>(number(4) * 1e6);
  // The seed and the end as of paceload's first thread.
  const auto seed = static_cast<std::uint64_t>(number(5)) * 1000003;
  Measured measured;
  Pacer pacer(measured, number(2), true, seed, 0, static_cast<Nanoseconds>(number(6) * 1e9));
  struct Slot {
    Request request;
    Nanoseconds done;
  };
  std::deque<Slot> busy;  // in the order in which the server takes them
  std::deque<Nanoseconds> free_since(static_cast<std::size_t>(number(3)), 0);
  Nanoseconds server_free = 0;
  while (pacer.scheduled() || pacer.waiting() || !busy.empty()) {
    const bool arrives = pacer.scheduled() && (busy.empty() || pacer.next() <= busy.front().done);
    const Nanoseconds now = arrives ? pacer.next() : busy.front().done;
    if (!arrives) {
      pacer.complete(busy.front().request, now);
      busy.pop_front();
      free_since.push_back(now);
    }
    for (pacer.take_due(now); pacer.waiting() && !free_since.empty(); free_since.pop_front()) {
      const Request request = pacer.send(free_since.front(), now);
      Nanoseconds begins = std::max(now, server_free);
      if (begins % kSecond < stall) begins += stall - begins % kSecond;
      server_free = begins + service;
      busy.push_back({request, server_free});
    }
  }
  hdr_histogram* response = measured.response.get();
  std::println("{} {} {} {} {} {}", hdr_mean(response) / 1e3, hdr_value_at_percentile(response, 50) / 1e3,
               hdr_value_at_percentile(response, 99) / 1e3, hdr_mean(measured.lateness.get()) / 1e3,
               measured.counts.scheduled, measured.counts.most_waiting);
}
