#pragma once

#include <drogon/HttpRequest.h>
#include <drogon/HttpResponse.h>

#include <string>
#include <string_view>

drogon::HttpResponsePtr reply(drogon::HttpStatusCode status, std::string body,
                              drogon::ContentType type = drogon::CT_APPLICATION_JSON);

// JSON, compressed by gzip if the client accepts that. Drogon's own setting, enableGzip, would compress everything.
drogon::HttpResponsePtr reply_packed(const drogon::HttpRequestPtr& request, std::string body);

// `{"error":TEXT}`. The texts are ASCII: this server's, and the libraries'.
drogon::HttpResponsePtr refuse(drogon::HttpStatusCode status, std::string_view text);

drogon::HttpResponsePtr refuse_method(const char* allowed);
