#include "reply.h"

using namespace drogon;

HttpResponsePtr reply(HttpStatusCode status, std::string body, ContentType type) {
  auto response = HttpResponse::newHttpResponse(status, type);
  response->setBody(std::move(body));
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
