#pragma once

#include <drogon/HttpResponse.h>

// The present time, and ten random numbers, as JSON objects.
drogon::HttpResponsePtr answer_json();
drogon::HttpResponsePtr answer_json10();
