#include "routes.h"

#include <drogon/drogon.h>

#include <algorithm>
#include <array>
#include <exception>

#include "handlers.h"

namespace {

using namespace drogon;

struct Endpoint {
  std::string_view name;
  std::string (*decode)(std::string_view);
  std::string (*echo)(std::string_view);  // none: it is not served
};

constexpr std::array kEndpoints{
    Endpoint{"dbopsimd", decode_views, decode_views_and_encode_nothing},
    Endpoint{"dbopglaze", decode_copies_glaze, nullptr},
    Endpoint{"dbopyyjson", decode_copies_yyjson, nullptr},
};

HttpResponsePtr reply(HttpStatusCode status, std::string body) {
  auto response = HttpResponse::newHttpResponse(status, CT_APPLICATION_JSON);
  response->setBody(std::move(body));
  return response;
}

// The path between its slashes. No path of ours has more than four parts.
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

// Answers before Drogon's router sees the request, as servers/drogon does.
HttpResponsePtr answer(const HttpRequestPtr& request) {
  const Parts parts = split(request->getOriginalPath());
  const auto endpoint = std::ranges::find(kEndpoints, parts.at[0], &Endpoint::name);
  const bool echo = parts.count == 4 && parts.at[3] == "echo";
  if (endpoint == kEndpoints.end() || (parts.count != 3 && !(echo && endpoint->echo))) {
    return reply(k404NotFound, R"({"error":"unknown path"})");
  }
  if (request->method() != Post) return reply(k405MethodNotAllowed, R"({"error":"method not allowed"})");
  try {
    return reply(k200OK, (echo ? endpoint->echo : endpoint->decode)(request->body()));
  } catch (const std::exception&) {
    return reply(k400BadRequest, R"({"error":"not a batch"})");
  }
}

}  // namespace

void register_routes() { app().registerSyncAdvice(answer); }
