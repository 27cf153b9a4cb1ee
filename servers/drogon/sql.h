#pragma once

#include <drogon/HttpRequest.h>
#include <drogon/HttpResponse.h>

#include <functional>

using Callback = std::function<void(const drogon::HttpResponsePtr&)>;

// The database's time; random rows of its table.
void reply_sql1(const drogon::HttpRequestPtr& request, Callback&& callback);
void reply_sql2(const drogon::HttpRequestPtr& request, Callback&& callback);
