// paceload: HTTP/1.1 requests at a rate that does not depend on the responses, and what they took. Its options are
// those of planned() below.
#include <getopt.h>
#include <hdr/hdr_histogram_log.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <thread>

#include "client.hpp"

namespace paceload {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "paceload: %s\n", why.c_str());
  std::exit(2);
}

double number(const std::string& name, const std::string& text, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value >= least && value <= most)) {
    std::ostringstream why;
    why << "--" << name << " is a number from " << least << " to " << most << ", not '" << text << "'";
    refuse(why.str());
  }
  return value;
}

std::string wire_text(const std::map<std::string, std::string>& given, const Plan& plan) {
  for (const char* name : {"method", "target", "host", "content-type"}) {
    if (given.at(name).find_first_of("\r\n") != std::string::npos) refuse(std::string("a line break in --") + name);
  }
  std::string body;
  if (!given.at("body").empty()) {
    std::ifstream file(given.at("body"), std::ios::binary);
    if (!file) refuse("the body cannot be read: " + given.at("body"));
    body.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::string text = given.at("method") + " " + given.at("target") + " HTTP/1.1\r\nHost: " + given.at("host") + "\r\n";
  if (!plan.keep_alive) text += "Connection: close\r\n";
  if (given.at("method") != "GET") {
    text += "Content-Type: " + given.at("content-type") + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return text + "\r\n" + body;
}

Plan planned(int count, char** arguments) {
  std::map<std::string, std::string> given{{"host", "127.0.0.1:80"},
                                           {"method", "GET"},
                                           {"target", "/"},
                                           {"content-type", "application/json"},
                                           {"body", ""},
                                           {"rate", "0"},
                                           {"duration", "1"},
                                           {"timeout", "2"},
                                           {"connections", "1"},
                                           {"threads", "1"},
                                           {"seed", "1"},
                                           {"arrivals", "poisson"},
                                           {"keep-alive", "yes"},
                                           {"spin", "no"}};
  std::vector<option> options;
  for (const auto& [name, value] : given) options.push_back({name.c_str(), required_argument, nullptr, 1});
  options.push_back({nullptr, 0, nullptr, 0});
  for (int place = 0, found; (found = getopt_long(count, arguments, "", options.data(), &place)) != -1;) {
    if (found != 1) std::exit(2);
    given[options[static_cast<std::size_t>(place)].name] = optarg;
  }
  if (optind != count) refuse(std::string("what is '") + arguments[optind] + "'?");
  Plan plan;
  const std::string& host = given["host"];
  const std::size_t colon = host.rfind(':');
  plan.address.sin_family = AF_INET;
  if (colon == std::string::npos || inet_pton(AF_INET, host.substr(0, colon).c_str(), &plan.address.sin_addr) != 1) {
    refuse("--host is an IPv4 address and a port, such as 127.0.0.1:8080, not '" + host + "'");
  }
  plan.address.sin_port = htons(static_cast<std::uint16_t>(number("host", host.substr(colon + 1), 1, 65535)));
  plan.rate_per_s = number("rate", given["rate"], 0, 1e8);
  plan.duration_s = number("duration", given["duration"], 0.001, 86400);
  plan.timeout_s = number("timeout", given["timeout"], 0.001, 3600);
  plan.connections = static_cast<std::size_t>(number("connections", given["connections"], 1, 1e6));
  plan.threads = static_cast<std::size_t>(number("threads", given["threads"], 1, 1024));
  plan.seed = static_cast<std::uint64_t>(number("seed", given["seed"], 0, 9e15));
  if (plan.threads > plan.connections) refuse("each thread needs a connection");
  if (given["arrivals"] != "poisson" && given["arrivals"] != "constant") refuse("--arrivals is poisson or constant");
  plan.poisson = given["arrivals"] == "poisson";
  plan.keep_alive = given["keep-alive"] != "no";
  plan.spin = given["spin"] == "yes";
  plan.request = wire_text(given, plan);
  return plan;
}

// Threads are pinned one to a CPU, to those that this process may use.
void pin(std::size_t thread) {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  std::size_t left = thread % static_cast<std::size_t>(CPU_COUNT(&allowed));
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed) && left-- == 0) {
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
  }
}

void print(const char* name, const Histogram& histogram) {
  char* encoded = nullptr;
  if (hdr_log_encode(histogram.get(), &encoded) != 0) refuse("a histogram cannot be written");
  std::printf(",\"%s\":{\"mean_ns\":%.1f,\"hdr\":\"%s\",\"ns\":[", name,
              histogram.get()->total_count ? hdr_mean(histogram.get()) : 0.0, encoded);
  std::free(encoded);
  hdr_iter each;
  hdr_iter_recorded_init(&each, histogram.get());
  for (const char* between = ""; hdr_iter_next(&each); between = ",") {
    std::printf("%s[%lld,%lld]", between,
                static_cast<long long>(hdr_median_equivalent_value(histogram.get(), each.value)),
                static_cast<long long>(each.count));
  }
  std::printf("]}");
}

void print(const Plan& plan, const Measured& all, double elapsed_s, double cpu_s) {
  std::printf(
      "{\"paceload\":1,\"rate_rps\":%.6f,\"duration_s\":%.6f,\"elapsed_s\":%.6f,\"cpu_s\":%.6f,\"poisson\":%s,\"seed\":"
      "%llu",
      plan.rate_per_s, plan.duration_s, elapsed_s, cpu_s, plan.poisson ? "true" : "false",
      static_cast<unsigned long long>(plan.seed));
  const std::pair<const char*, std::uint64_t> counts[] = {{"scheduled", all.scheduled},
                                                          {"completed", all.completed},
                                                          {"unanswered", all.unanswered},
                                                          {"read_bytes", all.bytes},
                                                          {"opened", all.opened},
                                                          {"most_waiting", all.most_waiting},
                                                          {"connect_errors", all.connect_errors},
                                                          {"read_errors", all.read_errors},
                                                          {"write_errors", all.write_errors},
                                                          {"timeouts", all.timeouts},
                                                          {"status_errors", all.status_errors}};
  for (const auto& [name, count] : counts) std::printf(",\"%s\":%llu", name, static_cast<unsigned long long>(count));
  print("response", all.response);
  print("service", all.service);
  print("lateness", all.lateness);
  std::printf("}\n");
}

}  // namespace
}  // namespace paceload

int main(int count, char** arguments) try {
  using namespace paceload;
  const Plan plan = planned(count, arguments);
  signal(SIGTERM, [](int) { interrupted = true; });
  signal(SIGINT, SIG_IGN);  // at the end of a window, for tools that know whole seconds only
  std::vector<std::unique_ptr<Client>> clients(plan.threads);
  std::vector<std::thread> threads;
  std::atomic<std::size_t> ready{0};
  std::atomic<Nanoseconds> start{0};
  std::atomic<bool> failed{false};
  for (std::size_t number = 0; number < plan.threads; ++number) {
    threads.emplace_back([&, number] {
      try {
        pin(number);
        const std::size_t own = plan.connections / plan.threads + (number < plan.connections % plan.threads);
        clients[number] = std::make_unique<Client>(plan, own, plan.seed * 1000003 + number);
        clients[number]->open();
        ++ready;
        ready.notify_all();
        start.wait(0);
        clients[number]->run(start);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "paceload: %s\n", error.what());
        failed = true;
        ++ready;
        ready.notify_all();
      }
    });
  }
  for (std::size_t seen; (seen = ready.load()) < plan.threads;) ready.wait(seen);
  start = now_ns() + 1'000'000;
  start.notify_all();
  for (auto& thread : threads) thread.join();
  if (failed) return 1;
  Measured all;
  for (const auto& client : clients) all.add(client->measured());
  const double elapsed_s = static_cast<double>(now_ns() - start) / 1e9;
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const double cpu_s = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  if (interrupted) {
    std::fprintf(stderr, "paceload: ended by a signal after %.3f s\n", elapsed_s);
    return 130;
  }
  print(plan, all, elapsed_s, cpu_s);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "paceload: %s\n", error.what());
  return 1;
}
