#include "routes.h"

#include <drogon/drogon.h>

#include <cctype>
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

HttpResponsePtr pong() { return reply(k200OK, "Hello, World!", CT_TEXT_PLAIN); }

HttpResponsePtr hello() { return reply(k200OK, "Hello, world!\n", CT_TEXT_PLAIN); }

bool is_name(std::string_view text) { return !text.empty() && count_characters(text) <= kMaxNameCharacters; }

// Null for a request whose body is to be read.
HttpResponsePtr refuse_post(const HttpRequestPtr& request, std::string_view db, std::string_view table) {
  if (request->body().size() > kMaxBodyBytes) {
    return refuse(k413RequestEntityTooLarge, "the body is larger than 4 MiB");
  }
  if (!is_name(db) || !is_name(table)) return refuse(k400BadRequest, "database and table: 1 to 64 characters");
  return nullptr;
}

HttpResponsePtr reply_batch(std::string_view text, const Codec& codec, bool echo) {
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

// The responses of the router and of the static files behind it. Only paths without parameters get here with a wrong
// method, and all of these are for GET. The router refuses OPTIONS with 403; the static files refuse `..` with it.
HttpResponsePtr explain(HttpStatusCode status, const HttpRequestPtr& request) {
  const bool wrong_method = status == k405MethodNotAllowed || (status == k403Forbidden && request->method() == Options);
  if (wrong_method) return refuse_method("GET, HEAD");
  if (status == k403Forbidden || status == k404NotFound) return refuse(k404NotFound, "unknown path");
  return refuse(status, "refused");
}

void serve_page(const std::string& path, HttpResponsePtr (*make)()) {
  app().registerHandler(path, [make](const HttpRequestPtr&, Callback&& callback) { callback(make()); }, {Get});
}

void serve_packed(const std::string& path, HttpResponsePtr (*make)(const HttpRequestPtr&)) {
  app().registerHandler(path, [make](const HttpRequestPtr& request, Callback&& callback) { callback(make(request)); },
                        {Get});
}

// Calls `add` for the handler of a pattern with parameters. The router skips a pattern that has no handler for the
// method and ends with 404, so the other methods get a handler too (HttpControllersRouter::route).
template <class Add, class Handler>
void with_refusals(Add add, HttpMethod method, const char* allowed, Handler handler) {
  add(std::move(handler), {method});
  std::vector<internal::HttpConstraint> others;
  for (const HttpMethod other : {Get, Post, Put, Delete, Patch}) {
    if (other != method) others.emplace_back(other);
  }
  add([allowed](const HttpRequestPtr&, Callback&& callback) { callback(refuse_method(allowed)); }, others);
}

auto to_path(const std::string& path) {
  return [path](auto handler, const std::vector<internal::HttpConstraint>& methods) {
    app().registerHandler(path, std::move(handler), methods);
  };
}

auto to_regex(const std::string& regex) {
  return [regex](auto handler, const std::vector<internal::HttpConstraint>& methods) {
    app().registerHandlerViaRegex(regex, std::move(handler), methods);
  };
}

// The name has any case of letters, as the router ignores it.
const Codec& codec_of(const std::string& name) {
  switch (name.empty() ? 's' : std::tolower(static_cast<unsigned char>(name.front()))) {
    case 'g':
      return glaze_codec;
    case 'j':
      return jsoncpp_codec;
    case 'r':
      return reflection_codec;
    case 'y':
      return yyjson_codec;
    default:
      return simdjson_codec;
  }
}

// The router tries one pattern after the other, at about a microsecond each. So that no codec is ahead of another by
// its place in the list, all of them are one pattern.
void serve_codecs() {
  with_refusals(to_regex("/dbop(simd|glaze|yyjson|reflection|jsoncpp|)/([^/]*)/([^/]*)(/echo|)"), Post, "POST",
                [](const HttpRequestPtr& request, Callback&& callback, const std::string& codec, const std::string& db,
                   const std::string& table, const std::string& echo) {
                  const auto refusal = refuse_post(request, db, table);
                  callback(refusal ? refusal : reply_batch(request->body(), codec_of(codec), !echo.empty()));
                });
}

void serve_discard() {
  with_refusals(
      to_path("/discard/{db}/{table}"), Post, "POST",
      [](const HttpRequestPtr& request, Callback&& callback, const std::string& db, const std::string& table) {
        if (auto refusal = refuse_post(request, db, table)) return callback(refusal);
        callback(reply(k200OK, R"({"bytes":)" + std::to_string(request->body().size()) + "}"));
      });
}

void serve_delay(const std::string& path, bool at_random) {
  with_refusals(to_path(path), Get, "GET, HEAD",
                [at_random](const HttpRequestPtr&, Callback&& callback, const std::string& ms) {
                  pong_later(ms, at_random, std::move(callback));
                });
}

}  // namespace

// The router tries the patterns in this order: the floor below all codecs first.
void register_routes() {
  app().setCustomErrorHandler(explain);
  serve_page("/ping", pong);
  serve_page("/text", hello);
  serve_page("/", hello);
  serve_page("/json", reply_json);
  serve_page("/json/glaze", reply_json_glaze);
  serve_page("/json10", reply_json10);
  serve_page("/json10/glaze", reply_json10_glaze);
  serve_packed("/json1000", reply_json1000);
  serve_packed("/json1000/glaze", reply_json1000_glaze);
  serve_page("/blog", reply_blog);
  app().registerHandler("/sql1", &reply_sql1, {Get});
  app().registerHandler("/sql2", &reply_sql2, {Get});
  serve_discard();
  serve_codecs();
  serve_delay("/ping/delay/{ms}", false);
  serve_delay("/ping/rand_delay/{ms}", true);
}
