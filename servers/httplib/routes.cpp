#include "routes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <string>
#include <string_view>

namespace {

using httplib::ContentReader;
using httplib::Request;
using httplib::Response;
using httplib::StatusCode;
using HandlerResponse = httplib::Server::HandlerResponse;

constexpr const char* json = "application/json";
constexpr std::size_t max_name_length = 64;
constexpr std::size_t max_body_bytes = 4 * 1024 * 1024;
// httplib closes the connection on a body over its own limit, and a client that is still sending loses the response to
// the reset. So the handler refuses bodies over 4 MiB, after reading them to their end; this is how far it reads.
constexpr std::size_t max_drained_bytes = 64 * 1024 * 1024;

/// The Date header, formatted once a second and thread.
const char* http_date() {
  thread_local std::time_t formatted_at = -1;
  thread_local std::array<char, sizeof "Thu, 01 Jan 1970 00:00:00 GMT"> date;
  if (const std::time_t now = std::time(nullptr); now != formatted_at) {
    std::tm utc;
    std::strftime(date.data(), date.size(), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
    formatted_at = now;
  }
  return date.data();
}

/// 1 to 64 characters: every byte of UTF-8 but a continuation starts one. httplib has percent-decoded the name.
bool valid_name(std::string_view name) {
  const auto length = std::ranges::count_if(name, [](unsigned char byte) { return (byte & 0xC0) != 0x80; });
  return length >= 1 && static_cast<std::size_t>(length) <= max_name_length;
}

void refuse(Response& response, int status, std::string_view message) {
  response.status = status;
  response.set_content(std::string{R"({"error":")"}.append(message).append(R"("})"), json);
}

/// The method that a path is served for, null for an unknown path.
const char* method_of(std::string_view path) {
  if (path == "/ping") return "GET";
  if (path.starts_with("/discard/") && std::ranges::count(path, '/') == 3) return "POST";
  return nullptr;
}

/// httplib acts on these headers (parses forms, inflates bodies, compresses and cuts responses), where the contract
/// wants every request treated alike. The request is const for handlers only: httplib owns it as a plain variable.
void ignore_content_headers(const Request& request) {
  auto& mutable_request = const_cast<Request&>(request);
  for (const char* name : {"Content-Type", "Content-Encoding", "Accept-Encoding"}) mutable_request.headers.erase(name);
  mutable_request.ranges.clear();
}

/// Left to itself httplib refuses a wrong method with 404 or 400, after storing the request's body.
HandlerResponse check_path_and_method(const Request& request, Response& response) {
  ignore_content_headers(request);
  const char* method = method_of(request.path);
  if (method == nullptr) {
    refuse(response, StatusCode::NotFound_404, "not found");
    return HandlerResponse::Handled;
  }
  if (request.method != method) {
    response.set_header("Allow", method);
    refuse(response, StatusCode::MethodNotAllowed_405, "method not allowed");
    return HandlerResponse::Handled;
  }
  return HandlerResponse::Unhandled;
}

void ping(const Request&, Response& response) { response.set_content("Hello, World!", "text/plain"); }

void discard(const Request& request, Response& response, const ContentReader& read_body) {
  if (!valid_name(request.path_params.at("db")) || !valid_name(request.path_params.at("table")))
    return refuse(response, StatusCode::BadRequest_400, "db and table must have 1 to 64 characters");
  // Refused at once: httplib sends the response first and reads the body to its end afterwards.
  if (request.get_header_value_u64("Content-Length") > max_body_bytes)
    return refuse(response, StatusCode::PayloadTooLarge_413, "body over 4 MiB");
  std::size_t body_bytes = 0;
  const bool complete = read_body([&body_bytes](const char*, std::size_t size) {
    body_bytes += size;
    return true;
  });
  if (!complete) return refuse(response, StatusCode::BadRequest_400, "malformed body");
  if (body_bytes > max_body_bytes) return refuse(response, StatusCode::PayloadTooLarge_413, "body over 4 MiB");
  response.set_content(R"({"bytes":)" + std::to_string(body_bytes) + '}', json);
}

}  // namespace

void add_routes(httplib::Server& server) {
  server.set_payload_max_length(max_drained_bytes);
  server.set_pre_routing_handler(check_path_and_method);
  server.Get("/ping", ping);
  server.Post("/discard/:db/:table", discard);
  server.set_error_handler([](const Request&, Response& response) {  // errors that httplib found by itself
    if (response.body.empty()) refuse(response, response.status, httplib::status_message(response.status));
  });
  server.set_post_routing_handler([](const Request&, Response& response) { response.set_header("Date", http_date()); });
}
