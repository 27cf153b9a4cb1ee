// What the published handlers did with a batch, one function each. Each returns the answer's body and throws where its
// library refuses the text; none of them checks anything beyond that.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

inline constexpr const char* kAnswer = R"({"message":"OK"})";

// simdjson: views of some fields.
std::string decode_views(std::string_view text);
// simdjson again, then a serializer whose count of operations was never advanced.
std::string decode_views_and_encode_nothing(std::string_view text);
// glaze and yyjson: a string of its own for every string.
std::string decode_copies_glaze(std::string_view text);
std::string decode_copies_yyjson(std::string_view text);

using Scalar = std::variant<std::nullptr_t, std::string, double, bool>;

struct OwnFilter {
  std::string column;
  Scalar value;
};

struct OwnReadColumn {
  std::string column;
  std::string data_return_type;
};

// An operation that owns all its text: what a handler makes of the library's, which is a second copy.
struct OwnOperation {
  std::string method;
  std::string relative_url;
  std::string operation_id;
  std::vector<OwnFilter> filters;
  std::vector<OwnReadColumn> read_columns;
};
