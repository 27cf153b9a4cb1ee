#pragma once

#include <boost/beast/http/status.hpp>
#include <boost/beast/http/verb.hpp>
#include <cstdint>
#include <string>
#include <string_view>

/// The status and body of a response, before HTTP is put around it.
struct Reply {
  boost::beast::http::status status;
  std::string_view content_type;
  std::string body;             // all but the error texts fit into the string object itself
  std::string_view allow = {};  // the methods of the path, for 405
};

Reply error_reply(boost::beast::http::status status, std::string_view message);

/// Returns the reply to a request whose body of `body_bytes` bytes has been read.
Reply route(boost::beast::http::verb method, std::string_view target, std::uint64_t body_bytes);
