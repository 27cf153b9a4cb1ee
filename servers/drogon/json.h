#pragma once

#include <drogon/HttpRequest.h>
#include <drogon/HttpResponse.h>

#include <string>

// The present time in UTC, with microseconds, as RFC 3339 writes it.
std::string present_time();

// The present time, ten random numbers, and a hundred objects of ten, as JSON: from a tree of jsoncpp's values, and
// from structs.
drogon::HttpResponsePtr reply_json();
drogon::HttpResponsePtr reply_json10();
drogon::HttpResponsePtr reply_json1000(const drogon::HttpRequestPtr& request);
drogon::HttpResponsePtr reply_json_glaze();
drogon::HttpResponsePtr reply_json10_glaze();
drogon::HttpResponsePtr reply_json1000_glaze(const drogon::HttpRequestPtr& request);
