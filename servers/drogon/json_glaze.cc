// The same small responses from structs, which glaze encodes as its glz::meta says at compile time. This is what the Go
// servers do with encoding/json, so it is the row to compare with theirs; json.cc is Drogon's usual way.
#include <array>
#include <glaze/json.hpp>

#include "draw.h"
#include "json.h"
#include "reply.h"

using namespace drogon;

namespace {

struct Greeting {
  std::string_view message;
  std::string ts;
};

struct Numbers {
  int n1, n2, n3, n4, n5, n6, n7, n8, n9, n10;
};

template <class Value>
HttpResponsePtr reply_encoded(const Value& value) {
  return reply(k200OK, glz::write_json(value).value_or(""));
}

}  // namespace

template <>
struct glz::meta<Greeting> {
  static constexpr auto value = object("message", &Greeting::message, "ts", &Greeting::ts);
};

template <>
struct glz::meta<Numbers> {
  using T = Numbers;
  static constexpr auto value =
      object("Test Number 1", &T::n1, "Test Number 2", &T::n2, "Test Number 3", &T::n3, "Test Number 4", &T::n4,
             "Test Number 5", &T::n5, "Test Number 6", &T::n6, "Test Number 7", &T::n7, "Test Number 8", &T::n8,
             "Test Number 9", &T::n9, "Test Number 10", &T::n10);
};

HttpResponsePtr reply_json_glaze() { return reply_encoded(Greeting{"Hello, world!", present_time()}); }

namespace {

Numbers ten_numbers() {
  const auto next = [] { return draw(1000); };
  return {next(), next(), next(), next(), next(), next(), next(), next(), next(), next()};
}

}  // namespace

HttpResponsePtr reply_json10_glaze() { return reply_encoded(ten_numbers()); }

HttpResponsePtr reply_json1000_glaze(const HttpRequestPtr& request) {
  std::array<Numbers, 100> reply;
  for (Numbers& numbers : reply) numbers = ten_numbers();
  return reply_packed(request, glz::write_json(reply).value_or(""));
}
