#include "routes.h"

#include <drogon/drogon.h>

#include <exception>
#include <functional>

#include "handlers.h"

namespace {

using namespace drogon;
using Callback = std::function<void(const HttpResponsePtr&)>;
using Decode = size_t (*)(std::string_view);
using Encode = std::string (*)(size_t);

HttpResponsePtr reply(HttpStatusCode status, std::string body) {
  auto response = HttpResponse::newHttpResponse(status, CT_APPLICATION_JSON);
  response->setBody(std::move(body));
  return response;
}

// The published handlers sent `OK`. A round trip also says here what it encoded, and then drops the text as well.
HttpResponsePtr respond(std::string_view body, Decode decode, Encode encode) {
  try {
    const size_t operations = decode(body);
    if (!encode) return reply(k200OK, R"({"message":"OK"})");
    return reply(k200OK, R"({"message":"OK","encodedOperations":)" + std::to_string(operations) +
                             R"(,"encodedBytes":)" + std::to_string(encode(operations).size()) + "}");
  } catch (const std::exception&) {
    return reply(k400BadRequest, R"({"error":"not a batch"})");
  }
}

void serve(const std::string& path, Decode decode, Encode encode = nullptr) {
  app().registerHandler(path,
                        [decode, encode](const HttpRequestPtr& request, Callback&& callback, const std::string&,
                                         const std::string&) { callback(respond(request->body(), decode, encode)); },
                        {Post});
}

}  // namespace

// On Drogon's router, as published. yyjson had no round trip.
void register_routes() {
  app().setCustomErrorHandler(
      [](HttpStatusCode status, const HttpRequestPtr&) { return reply(status, R"({"error":"refused"})"); });
  serve("/dbopsimd/{db}/{table}", decode_simdjson);
  serve("/dbopsimd/{db}/{table}/echo", decode_simdjson, encode_dummy_by_hand);
  serve("/dbopglaze/{db}/{table}", decode_glaze);
  serve("/dbopglaze/{db}/{table}/echo", decode_glaze, encode_dummy_glaze);
  serve("/dbopyyjson/{db}/{table}", decode_yyjson);
}
