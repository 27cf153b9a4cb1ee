#include "routes.h"

#include <drogon/drogon.h>

#include <array>
#include <charconv>
#include <random>

#include "batch.h"
#include "blog.h"
#include "codec.h"
#include "json.h"
#include "reply.h"
#include "sql.h"

namespace {

using namespace drogon;

constexpr size_t kMaxBodyBytes = size_t{4} << 20;
constexpr size_t kMaxNameCharacters = 64;
constexpr int kMaxDelayMilliseconds = 60000;

struct Endpoint {
  std::string_view name;
  const Codec* codec;  // none: the body is discarded
};

constexpr std::array kEndpoints{
    Endpoint{"discard", nullptr},        Endpoint{"dbop", &simdjson_codec},     Endpoint{"dbopsimd", &simdjson_codec},
    Endpoint{"dbopglaze", &glaze_codec}, Endpoint{"dbopyyjson", &yyjson_codec},
};

HttpResponsePtr pong() { return reply(k200OK, "Hello, World!", CT_TEXT_PLAIN); }

HttpResponsePtr hello() { return reply(k200OK, "Hello, world!\n", CT_TEXT_PLAIN); }

struct Page {
  std::string_view name;
  HttpResponsePtr (*make)();  // none: made later, by a handler
};

constexpr std::array kPages{
    Page{"ping", pong},        Page{"text", hello},           Page{"", hello},
    Page{"json", answer_json}, Page{"json10", answer_json10}, Page{"blog", answer_blog},
    Page{"sql1", nullptr},     Page{"sql2", nullptr},
};

// The path between its slashes, still percent-encoded. No path of ours has more than four parts.
struct Parts {
  std::array<std::string_view, 4> at;
  size_t count = 0;
};

Parts split(std::string_view path) {
  Parts parts;
  while (!path.empty()) {
    if (parts.count == parts.at.size()) return {};
    path.remove_prefix(1);  // the slash
    const size_t size = std::min(path.find('/'), path.size());
    parts.at[parts.count++] = path.substr(0, size);
    path.remove_prefix(size);
  }
  return parts;
}

bool is_name(std::string_view part) {
  if (!part.contains('%')) return !part.empty() && count_characters(part) <= kMaxNameCharacters;
  return count_characters(utils::urlDecode(part)) <= kMaxNameCharacters;
}

HttpResponsePtr answer_batch(std::string_view text, const Codec& codec, bool echo) {
  thread_local Batch batch;
  try {
    batch.clear();
    codec.decode(Body(text), batch);
    const Receipt receipt = audit(batch);
    return reply(k200OK, echo ? codec.encode_batch(batch) : codec.encode_receipt(receipt));
  } catch (const BadBatch& bad) {
    return refuse(k400BadRequest, bad.what());
  }
}

// Answers everything that needs no waiting, before Drogon's router sees it: the router lowers the path and then tries
// one regular expression after another, and knows a wrong method only on paths without parameters.
HttpResponsePtr answer(const HttpRequestPtr& request) {
  const Parts parts = split(request->getOriginalPath());
  const auto page = parts.count == 1 ? std::ranges::find(kPages, parts.at[0], &Page::name) : kPages.end();
  const bool is_delay =
      parts.count == 3 && parts.at[0] == "ping" && (parts.at[1] == "delay" || parts.at[1] == "rand_delay");
  if (page != kPages.end() || is_delay) {
    if (request->method() != Get) return refuse_method("GET, HEAD");
    return is_delay || !page->make ? nullptr : page->make();
  }

  const auto endpoint = std::ranges::find(kEndpoints, parts.at[0], &Endpoint::name);
  const bool echo = parts.count == 4 && parts.at[3] == "echo";
  if (endpoint == kEndpoints.end() || (parts.count != 3 && !(echo && endpoint->codec))) {
    return refuse(k404NotFound, "unknown path");
  }
  if (request->method() != Post) return refuse_method("POST");
  const std::string_view body = request->body();
  if (body.size() > kMaxBodyBytes) return refuse(k413RequestEntityTooLarge, "the body is larger than 4 MiB");
  if (!is_name(parts.at[1]) || !is_name(parts.at[2])) {
    return refuse(k400BadRequest, "database and table: 1 to 64 characters");
  }
  if (!endpoint->codec) return reply(k200OK, R"({"bytes":)" + std::to_string(body.size()) + "}");
  return answer_batch(body, *endpoint->codec, echo);
}

void pong_later(const std::string& text, bool at_random, Callback&& callback) {
  int milliseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (error != std::errc() || end != text.data() + text.size() || milliseconds < 0 ||
      milliseconds > kMaxDelayMilliseconds) {
    return callback(refuse(k400BadRequest, "the delay is a whole number of milliseconds, 0 to 60000"));
  }
  double seconds = milliseconds / 1000.0;
  if (at_random) {
    thread_local std::mt19937 generator{std::random_device{}()};
    seconds = std::uniform_real_distribution(0.0, seconds)(generator);
  }
  trantor::EventLoop::getEventLoopOfCurrentThread()->runAfter(seconds,
                                                              [callback = std::move(callback)] { callback(pong()); });
}

}  // namespace

void register_routes() {
  app().registerSyncAdvice(answer);
  app().registerHandler("/sql1", &answer_sql1, {Get});
  app().registerHandler("/sql2", &answer_sql2, {Get});
  app().registerHandler("/ping/delay/{ms}",
                        [](const HttpRequestPtr&, Callback&& callback, const std::string& ms) {
                          pong_later(ms, false, std::move(callback));
                        },
                        {Get});
  app().registerHandler("/ping/rand_delay/{ms}",
                        [](const HttpRequestPtr&, Callback&& callback, const std::string& ms) {
                          pong_later(ms, true, std::move(callback));
                        },
                        {Get});
}
