// paceload: HTTP/1.1 requests at a rate that does not depend on the responses, and what they took. Its options, each
// with a value, are those of planned() below.
#include <hdr/hdr_histogram_log.h>
#include <sched.h>
#include <signal.h>

#include <barrier>
#include <charconv>
#include <ctime>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "client.hpp"

namespace paceload {
namespace {

struct Options {
  std::map<std::string, std::string> given;

  Options(int count, char** arguments) {
    for (int place = 1; place < count; place += 2) {
      const std::string name = arguments[place];
      if (!name.starts_with("--") || place + 1 == count) refuse(2, "what is '" + name + "'?");
      given[name.substr(2)] = arguments[place + 1];
    }
  }

  std::string text(const std::string& name, const std::string& otherwise) {
    const auto found = given.extract(name);
    const std::string text = found ? found.mapped() : otherwise;
    if (text.find_first_of("\r\n") != std::string::npos) refuse(2, "a line break in --" + name);
    return text;
  }

  template <class Number>
  Number number(const std::string& name, const std::string& otherwise, double least, double most, double unit = 1) {
    const std::string text = this->text(name, otherwise);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
      refuse(2, std::format("--{} is a number from {} to {}, not '{}'", name, least, most, text));
    }
    return static_cast<Number>(value * unit);
  }
};

Plan planned(Options options) {
  Plan plan{.rate_per_s = options.number<double>("rate", "0", 0, 1e8),
            .duration = options.number<Nanoseconds>("duration", "1", 0.001, 86400, 1e9),
            .timeout = options.number<Nanoseconds>("timeout", "2", 0.001, 3600, 1e9),
            .connections = options.number<std::size_t>("connections", "1", 1, 1e6),
            .threads = options.number<std::size_t>("threads", "1", 1, 1024),
            .seed = options.number<std::uint64_t>("seed", "1", 0, 9e15),
            .poisson = options.number<bool>("poisson", "1", 0, 1),
            .keep_alive = options.number<bool>("keep-alive", "1", 0, 1),
            .spin = options.number<bool>("spin", "0", 0, 1)};
  const std::string host = options.text("host", "127.0.0.1"), method = options.text("method", "GET"),
                    type = options.text("content-type", "application/json"), body_file = options.text("body", "");
  const auto port = options.number<std::uint16_t>("port", "80", 1, 65535);
  plan.address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
  if (inet_pton(AF_INET, host.c_str(), &plan.address.sin_addr) != 1) refuse(2, "--host is an IPv4 address");
  if (plan.threads > plan.connections) refuse(2, "each thread needs a connection");
  std::ifstream file(body_file, std::ios::binary);
  if (!body_file.empty() && !file) refuse(2, "the body cannot be read: " + body_file);
  const std::string body{std::istreambuf_iterator<char>(file), {}};
  plan.request = std::format("{} {} HTTP/1.1\r\nHost: {}:{}\r\n", method, options.text("target", "/"), host, port);
  if (!plan.keep_alive) plan.request += "Connection: close\r\n";
  if (method != "GET") plan.request += std::format("Content-Type: {}\r\nContent-Length: {}\r\n", type, body.size());
  plan.request += "\r\n" + body;
  if (!options.given.empty()) refuse(2, "what is '--" + options.given.begin()->first + "'?");
  return plan;
}

// Threads are pinned one to a CPU, to those that this process may use.
void pin(std::size_t thread) {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::size_t left = thread % static_cast<std::size_t>(CPU_COUNT(&allowed)), cpu = 0;
  while (!CPU_ISSET(cpu, &allowed) || left--) ++cpu;
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

void print(const char* name, hdr_histogram* histogram) {
  char* encoded = nullptr;
  if (hdr_log_encode(histogram, &encoded) != 0) refuse(1, "a histogram cannot be written");
  std::print(",\"{}\":{{\"mean_ns\":{:.1f},\"hdr\":\"{}\",\"ns\":[", name,
             histogram->total_count ? hdr_mean(histogram) : 0, encoded);
  hdr_iter each;
  hdr_iter_recorded_init(&each, histogram);
  for (const char* between = ""; hdr_iter_next(&each); between = ",") {
    std::print("{}[{},{}]", between, hdr_median_equivalent_value(histogram, each.value), each.count);
  }
  std::print("]}}");
}

void print(const Plan& plan, const Measured& all, Nanoseconds elapsed) {
  std::print("{{\"paceload\":1,\"rate_rps\":{:.6f},\"duration_s\":{:.6f},\"elapsed_s\":{:.6f},\"cpu_s\":{:.6f}",
             plan.rate_per_s, plan.duration / 1e9, elapsed / 1e9, double(std::clock()) / CLOCKS_PER_SEC);
  std::print(",\"poisson\":{},\"seed\":{}", plan.poisson, plan.seed);
  for (auto name = kNames; const auto each : std::bit_cast<Values>(all.counts)) std::print(",\"{}\":{}", *name++, each);
  print("response", all.response.get());
  print("service", all.service.get());
  print("lateness", all.lateness.get());
  std::println("}}");
}

}  // namespace
}  // namespace paceload

int main(int count, char** arguments) {
  using namespace paceload;
  const Plan plan = planned(Options(count, arguments));
  signal(SIGINT, SIG_IGN);  // at the end of a window, for tools that know whole seconds only
  Nanoseconds start = 0;
  std::barrier ready(static_cast<std::ptrdiff_t>(plan.threads), [&]() noexcept { start = now_ns() + kSecond / 1000; });
  Measured all;
  std::mutex adding;
  std::vector<std::jthread> threads;
  for (std::size_t place = 0; place < plan.threads; ++place) {
    threads.emplace_back([&, place] {
      pin(place);
      Client client(plan, plan.connections / plan.threads + (place < plan.connections % plan.threads));
      client.open();
      ready.arrive_and_wait();
      const Measured& own = client.run(start, plan.seed * 1000003 + place);
      const std::lock_guard lock(adding);
      all.add(own);
    });
  }
  threads.clear();
  print(plan, all, now_ns() - start);
}
