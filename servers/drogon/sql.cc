#include "sql.h"

#include <charconv>
#include <cstdlib>

#include "database.h"
#include "draw.h"
#include "reply.h"

using namespace drogon;

namespace {

constexpr int kRecords = 10000;
constexpr size_t kUsualCount = 20;
constexpr size_t kMaxCount = 500;

HttpResponsePtr refuse_unavailable() { return refuse(k503ServiceUnavailable, "the database does not respond"); }

// A whole number as one would write it: no sign, no space, no leading zero.
std::optional<size_t> parse_count(std::string_view text) {
  size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || text.front() == '0' || count > kMaxCount) return {};
  return count;
}

// The ids of records, from 1 on, as PostgreSQL writes an array.
std::string draw_ids(size_t count) {
  std::string ids = "{";
  for (const int number : draw_distinct(count, kRecords)) {
    if (ids.size() > 1) ids += ',';
    ids += std::to_string(number + 1);
  }
  return ids + '}';
}

}  // namespace

void reply_sql1(const HttpRequestPtr& request, Callback&& callback) {
  query(request, "SELECT CAST(now() AS VARCHAR)", {}, [callback = std::move(callback)](const PGresult* rows) {
    if (!rows) return callback(refuse_unavailable());
    Json::Value reply;
    reply["message"] = "Hello, world!";
    reply["ts"] = PQgetvalue(rows, 0, 0);
    callback(HttpResponse::newHttpJsonResponse(std::move(reply)));
  });
}

void reply_sql2(const HttpRequestPtr& request, Callback&& callback) {
  const auto& given = request->parameters();
  const auto text = given.find("count");
  const auto count = text == given.end() ? kUsualCount : parse_count(text->second);
  if (!count) return callback(refuse(k400BadRequest, "count is a whole number, 1 to 500"));
  query(request, "SELECT id, number, name FROM record WHERE id = ANY($1)", draw_ids(*count),
        [callback = std::move(callback)](const PGresult* rows) {
          if (!rows) return callback(refuse_unavailable());
          Json::Value reply(Json::arrayValue);
          for (int row = 0; row < PQntuples(rows); ++row) {
            Json::Value& record = reply.append(Json::objectValue);
            record["id"] = std::atoi(PQgetvalue(rows, row, 0));
            record["number"] = std::atoi(PQgetvalue(rows, row, 1));
            record["name"] = PQgetvalue(rows, row, 2);
          }
          callback(HttpResponse::newHttpJsonResponse(std::move(reply)));
        });
}
