#include "reply.h"

#include <drogon/utils/Utilities.h>

#include <algorithm>
#include <ranges>

using namespace drogon;

namespace {

std::string_view trimmed(std::string_view text) {
  const auto start = text.find_first_not_of(" \t");
  return start == text.npos ? "" : text.substr(start, text.find_last_not_of(" \t") + 1 - start);
}

// Whether gzip is among the codings, with a weight above 0 (RFC 9110, 12.5.3).
bool accepts_gzip(std::string_view accepted) {
  for (const auto part : std::views::split(accepted, ',')) {
    const std::string_view coding(part.begin(), part.end());
    const auto name = coding.substr(0, coding.find(';'));
    if (trimmed(name) != "gzip") continue;
    const auto weight = trimmed(coding.substr(std::min(coding.size(), name.size() + 1)));
    return !weight.starts_with("q=") || weight.find_first_not_of("0.", 2) != weight.npos;
  }
  return false;
}

}  // namespace

HttpResponsePtr reply(HttpStatusCode status, std::string body, ContentType type) {
  auto response = HttpResponse::newHttpResponse(status, type);
  response->setBody(std::move(body));
  return response;
}

HttpResponsePtr reply_packed(const HttpRequestPtr& request, std::string body) {
  const bool packed = accepts_gzip(request->getHeader("accept-encoding"));
  auto response = reply(k200OK, packed ? utils::gzipCompress(body.data(), body.size()) : std::move(body));
  response->addHeader("Vary", "Accept-Encoding");
  if (packed) response->addHeader("Content-Encoding", "gzip");
  return response;
}

HttpResponsePtr refuse(HttpStatusCode status, std::string_view text) {
  std::string body = R"({"error":")";
  for (const char c : text) {
    if (c == '"' || c == '\\') body += '\\';
    body += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  body += R"("})";
  return reply(status, std::move(body));
}

HttpResponsePtr refuse_method(const char* allowed) {
  auto response = refuse(k405MethodNotAllowed, "method not allowed");
  response->addHeader("Allow", allowed);
  return response;
}
