// Small answers in JSON, the way Drogon's own documentation and its entry in public benchmarks write them: a tree of
// jsoncpp's values, which newHttpJsonResponse encodes. json_glaze.cc encodes structs.
#include "json.h"

#include <trantor/utils/Date.h>

#include "draw.h"

using namespace drogon;

std::string present_time() { return trantor::Date::now().toCustomFormattedString("%Y-%m-%dT%H:%M:%S", true) + 'Z'; }

HttpResponsePtr answer_json() {
  Json::Value answer;
  answer["message"] = "Hello, world!";
  answer["ts"] = present_time();
  return HttpResponse::newHttpJsonResponse(std::move(answer));
}

HttpResponsePtr answer_json10() {
  Json::Value answer;
  for (int i = 1; i <= 10; ++i) answer["Test Number " + std::to_string(i)] = draw(1000);
  return HttpResponse::newHttpJsonResponse(std::move(answer));
}
