#include "routes.hpp"

#include <charconv>
#include <cstddef>
#include <optional>
#include <ostream>  // which the implementation of status.hpp needs and does not include

namespace http = boost::beast::http;

namespace {

constexpr std::string_view text = "text/plain";
constexpr std::string_view json = "application/json";
constexpr std::size_t max_name_length = 64;

/// Characters (code points) of a path segment after percent-decoding; nothing for a broken escape.
std::optional<std::size_t> count_characters(std::string_view segment) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    auto byte = static_cast<unsigned char>(segment[i]);
    if (byte == '%') {
      if (segment.size() - i < 3) return std::nullopt;
      const char* digits = segment.data() + i + 1;
      if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return std::nullopt;
      i += 2;
    }
    count += (byte & 0xC0) != 0x80;  // every byte of UTF-8 but a continuation starts a character
  }
  return count;
}

bool valid_name(std::string_view segment) {
  const auto length = count_characters(segment);
  return length && *length >= 1 && *length <= max_name_length;
}

Reply method_not_allowed(std::string_view allow) {
  Reply reply = error_reply(http::status::method_not_allowed, "method not allowed");
  reply.allow = allow;
  return reply;
}

Reply ping(http::verb method) {
  if (method != http::verb::get) return method_not_allowed("GET");
  return {http::status::ok, text, "Hello, World!"};
}

Reply discard(http::verb method, std::string_view db, std::string_view table, std::uint64_t body_bytes) {
  if (method != http::verb::post) return method_not_allowed("POST");
  if (!valid_name(db) || !valid_name(table))
    return error_reply(http::status::bad_request, "db and table must have 1 to 64 characters");
  Reply reply{http::status::ok, json, R"({"bytes":)"};
  char digits[20];
  reply.body.append(digits, std::to_chars(digits, digits + sizeof digits, body_bytes).ptr).push_back('}');
  return reply;
}

}  // namespace

Reply error_reply(http::status status, std::string_view message) {
  return {status, json, std::string{R"({"error":")"}.append(message).append(R"("})")};
}

Reply route(http::verb method, std::string_view target, std::uint64_t body_bytes) {
  constexpr std::string_view discard_prefix = "/discard/";
  const std::string_view path = target.substr(0, target.find('?'));
  if (path == "/ping") return ping(method);
  if (path.starts_with(discard_prefix)) {
    const std::string_view names = path.substr(discard_prefix.size());
    const std::size_t slash = names.find('/');
    if (slash != std::string_view::npos && names.find('/', slash + 1) == std::string_view::npos)
      return discard(method, names.substr(0, slash), names.substr(slash + 1), body_bytes);
  }
  return error_reply(http::status::not_found, "not found");
}
