// Small responses in JSON, the way Drogon's own documentation and its entry in public benchmarks write them: a tree of
// jsoncpp's values, which newHttpJsonResponse encodes. json_glaze.cc encodes structs.
#include "json.h"

#include <trantor/utils/Date.h>

#include "draw.h"
#include "reply.h"

using namespace drogon;

std::string present_time() { return trantor::Date::now().toCustomFormattedString("%Y-%m-%dT%H:%M:%S", true) + 'Z'; }

HttpResponsePtr reply_json() {
  Json::Value reply;
  reply["message"] = "Hello, world!";
  reply["ts"] = present_time();
  return HttpResponse::newHttpJsonResponse(std::move(reply));
}

namespace {

Json::Value ten_numbers() {
  Json::Value reply;
  for (int i = 1; i <= 10; ++i) reply["Test Number " + std::to_string(i)] = draw(1000);
  return reply;
}

// As newHttpJsonResponse encodes it, without line breaks and indentation.
std::string encoded(const Json::Value& value) {
  static const Json::StreamWriterBuilder builder = [] {
    Json::StreamWriterBuilder compact;
    compact["commentStyle"] = "None";
    compact["indentation"] = "";
    return compact;
  }();
  return Json::writeString(builder, value);
}

}  // namespace

HttpResponsePtr reply_json10() { return HttpResponse::newHttpJsonResponse(ten_numbers()); }

HttpResponsePtr reply_json1000(const HttpRequestPtr& request) {
  Json::Value reply;
  for (int i = 0; i < 100; ++i) reply.append(ten_numbers());
  return reply_packed(request, encoded(reply));
}
