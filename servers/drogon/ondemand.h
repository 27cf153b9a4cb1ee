// What both codecs of simdjson read alike, On-Demand: scalars, the members of an object, and what is ignored.
#pragma once

#include <simdjson.h>

#include "codec.h"
#include "number.h"

namespace reading {

namespace ondemand = simdjson::ondemand;

simdjson_never_inline double read_number(ondemand::value value) {
  double number;
  if (!value.get_double().get(number)) return number;
  const std::string_view token = value.raw_json_token();
  const char* end = token.data();
  const auto rare = read_rare_number(end);
  if (!rare || token.find_first_not_of(" \t\r\n", end - token.data()) != token.npos) throw BadBatch("malformed number");
  return *rare;
}

simdjson_inline void read(ondemand::value value, Text& text) { text = std::string_view(value.get_string()); }

simdjson_inline void read(ondemand::value value, std::optional<Text>& text) {
  text.reset();
  if (!value.is_null()) read(value, text.emplace());
}

simdjson_inline void read(ondemand::value json, Value& value) {
  switch (json.type()) {
    case ondemand::json_type::string:
      return read(json, value.emplace<Text>());
    case ondemand::json_type::number:
      return void(value = read_number(json));
    case ondemand::json_type::boolean:
      return void(value = bool(json.get_bool()));
    case ondemand::json_type::null:
      value = nullptr;
      if (json.is_null()) return;
      [[fallthrough]];
    default:
      throw BadBatch("a string, number, boolean or null was expected");
  }
}

// On-Demand does not check what it skips: an ignored value is walked, so that all of the document is checked.
simdjson_never_inline void ignore(ondemand::value value, int level) {
  const ondemand::json_type type = value.type();
  const bool is_object = type == ondemand::json_type::object;
  if (!is_object && type != ondemand::json_type::array) {
    Value scalar;
    return read(value, scalar);
  }
  if (level > kMaxDepth) throw BadBatch("nested too deeply");
  if (is_object) {
    for (ondemand::field field : value.get_object()) {
      (void)std::string_view(field.unescaped_key());
      ignore(field.value(), level + 1);
    }
  } else {
    for (ondemand::value element : value.get_array()) ignore(element, level + 1);
  }
}

// Calls read(is, value) for each member of an object that stands at this level; is(name) tests the member's name,
// read returns whether it knew it. Names are compared as written; those that stay unknown again, unescaped.
template <class Read>
simdjson_inline void each_member(ondemand::object object, int level, Read read) {
  for (ondemand::field field : object) {
    const ondemand::raw_json_string written = field.key();
    const auto is_written = [written](std::string_view name) { return written.unsafe_is_equal(name); };
    if (read(is_written, field.value())) continue;
    const std::string_view key = field.unescaped_key();
    if (read([key](std::string_view name) { return key == name; }, field.value())) continue;
    ignore(field.value(), level + 1);
  }
}

// Decodes a whole document: reads the members of its root by `read`, as in each_member. Throws BadBatch.
template <class Read>
void read_document(ondemand::parser& parser, const Body& body, Read read) try {
  if (body.text().starts_with("\xEF\xBB\xBF")) throw BadBatch("a byte order mark");  // simdjson skips it
  ondemand::document document = parser.iterate(body.data(), body.size(), body.capacity());
  each_member(document.get_object(), 1, read);
  if (!document.at_end()) throw BadBatch("text behind the document");
} catch (const simdjson::simdjson_error& error) {
  throw BadBatch(error.what());
}

}  // namespace reading

namespace writing {

using Builder = simdjson::builder::string_builder;

// Each thread has one builder, so that only the finished text is allocated.
template <class Write>
std::string build(Write write) {
  thread_local Builder out;
  out.clear();
  write(out);
  return std::string(std::string_view(out));
}

inline void append_value(Builder& out, const Value& value) {
  if (const auto* text = std::get_if<Text>(&value)) {
    out.escape_and_append_with_quotes(*text);
  } else if (const auto* number = std::get_if<double>(&value)) {
    out.append(*number);
  } else if (const auto* boolean = std::get_if<bool>(&value)) {
    out.append(*boolean);
  } else {
    out.append_null();
  }
}

}  // namespace writing
