#pragma once

#include <drogon/HttpResponse.h>

#include <string>

// The present time in UTC, with microseconds, as RFC 3339 writes it.
std::string present_time();

// The present time, and ten random numbers, as JSON objects: from a tree of jsoncpp's values, and from structs.
drogon::HttpResponsePtr answer_json();
drogon::HttpResponsePtr answer_json10();
drogon::HttpResponsePtr answer_json_glaze();
drogon::HttpResponsePtr answer_json10_glaze();
