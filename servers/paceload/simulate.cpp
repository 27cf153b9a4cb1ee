// The pacer on a simulated clock, in front of one server with a constant service time: SERVICE_US RATE CONNECTIONS
// STALL_MS. It prints the mean response time, p50, p99 and the mean lateness in µs. Tests compare them with what is
// known by calculation.
#include <cstdio>
#include <cstdlib>

#include "pacer.hpp"

int main(int count, char** arguments) {
  using namespace paceload;
  if (count != 5) return 2;
  const auto service = static_cast<Nanoseconds>(std::atof(arguments[1]) * 1000);
  const double rate = std::atof(arguments[2]);
  const auto stall = static_cast<Nanoseconds>(std::atof(arguments[4]) * 1e6);
  Measured measured;
  Pacer pacer(Schedule(rate, true, 7, 0, 200 * kSecond), measured);
  struct Slot {
    Request request;
    Nanoseconds done;
  };
  std::deque<Slot> busy;  // in the order in which the server takes them
  std::deque<Nanoseconds> free_since(static_cast<std::size_t>(std::atoi(arguments[3])), 0);
  Nanoseconds server_free = 0;
  while (pacer.scheduled() || pacer.waiting() || !busy.empty()) {
    const bool arrives = pacer.scheduled() && (busy.empty() || pacer.next() <= busy.front().done);
    const Nanoseconds now = arrives ? pacer.next() : busy.front().done;
    if (!arrives) {
      pacer.answered(busy.front().request, now);
      busy.pop_front();
      free_since.push_back(now);
    }
    for (pacer.look(now); pacer.waiting() && !free_since.empty(); free_since.pop_front()) {
      Request request = pacer.take(free_since.front());
      pacer.sent(request, now);
      Nanoseconds begins = now > server_free ? now : server_free;
      if (begins % kSecond < stall) begins += stall - begins % kSecond;
      server_free = begins + service;
      busy.push_back({request, server_free});
    }
  }
  hdr_histogram* response = measured.response.get();
  std::printf("%f %f %f %f %llu %llu\n", hdr_mean(response) / 1000, hdr_value_at_percentile(response, 50) / 1e3,
              hdr_value_at_percentile(response, 99) / 1e3, hdr_mean(measured.lateness.get()) / 1000,
              static_cast<unsigned long long>(measured.scheduled),
              static_cast<unsigned long long>(measured.most_waiting));
}
