#pragma once

#include <drogon/HttpResponse.h>

#include <string>
#include <string_view>

drogon::HttpResponsePtr reply(drogon::HttpStatusCode status, std::string body,
                              drogon::ContentType type = drogon::CT_APPLICATION_JSON);

// `{"error":TEXT}`. The texts are ASCII: ours, and the libraries'.
drogon::HttpResponsePtr refuse(drogon::HttpStatusCode status, std::string_view text);

drogon::HttpResponsePtr refuse_method(const char* allowed);
