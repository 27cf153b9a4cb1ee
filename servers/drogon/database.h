#pragma once

#include <drogon/HttpRequest.h>
#include <libpq-fe.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

// Connects the application, as soon as it runs, to PostgreSQL at a port of BACKEND_ADDRESS, or 127.0.0.1: `pool`
// connections in all, spread over its IO threads.
void register_database(uint16_t port, size_t pool, size_t threads);

// Takes the rows, which live until it returns; null when the database is away or too slow. Called once.
using Finish = std::function<void(const PGresult*)>;

// Queries the database for a request, from its IO thread. Each connection prepares a statement on its first use; `sql`
// must live on.
void query(const drogon::HttpRequestPtr& request, const char* sql, std::optional<std::string> parameter, Finish finish);
