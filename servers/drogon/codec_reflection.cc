// simdjson, On-Demand, with static reflection of C++26: which members a type has, and their names, is read from the
// type itself, where codec_simdjson.cc has a line for each.
//
// simdjson's own get<T>() does the same, but cannot keep the contract: it has no names such as relative-url, compares
// names as they are written, takes the first of two equal members, and does not check what it skips.
#include <meta>

#include "ondemand.h"

namespace {

using namespace reading;
using namespace writing;

thread_local ondemand::parser parser;

// The name of a member in JSON: relative_url is relative-url, others are in camel case.
consteval std::string_view name_of(std::meta::info member) {
  std::string name;
  const bool is_url = member == ^^Operation::relative_url;
  bool raised = false;
  for (const char letter : std::meta::identifier_of(member)) {
    if (letter == '_' && !is_url) {
      raised = true;
      continue;
    }
    name += letter == '_' ? '-' : raised ? static_cast<char>(letter - 'a' + 'A') : letter;
    raised = false;
  }
  return std::define_static_string(name);
}

// The name of a member as JSON has it before the value. Letter by letter: the compiler of a build with sanitizers takes
// no string from a pointer at compile time.
consteval std::string_view quoted_name_of(std::meta::info member) {
  std::string text;
  text += '"';
  for (const char letter : name_of(member)) text += letter;
  text += '"';
  text += ':';
  return std::define_static_string(text);
}

template <class T>
consteval auto members() {
  return std::define_static_array(std::meta::nonstatic_data_members_of(^^T, std::meta::access_context::unchecked()));
}

std::vector<Filter>& table_of(Batch& batch, const Rows<Filter>&) { return batch.filters; }
std::vector<ReadColumn>& table_of(Batch& batch, const Rows<ReadColumn>&) { return batch.read_columns; }

// The level of an array is that of its object and one more.
template <class T>
void read_object(ondemand::object object, T& target, int level, Batch& batch);

template <class T>
simdjson_inline void read_member(ondemand::value value, T& target, int, Batch&) {
  read(value, target);
}

template <class Row>
void read_member(ondemand::value value, Rows<Row>& rows, int level, Batch& batch) {
  std::vector<Row>& table = table_of(batch, rows);
  rows.first = static_cast<uint32_t>(table.size());
  for (ondemand::object object : value.get_array()) read_object(object, table.emplace_back(), level + 2, batch);
  rows.count = static_cast<uint32_t>(table.size()) - rows.first;
}

template <class Row>
void read_member(ondemand::value value, std::optional<Rows<Row>>& rows, int level, Batch& batch) {
  rows.reset();
  if (!value.is_null()) read_member(value, rows.emplace(), level, batch);
}

void read_member(ondemand::value value, OperationBody& body, int level, Batch& batch) {
  read_object(value.get_object(), body, level + 1, batch);
}

template <class T>
void read_object(ondemand::object object, T& target, int level, Batch& batch) {
  each_member(object, level, [&](auto is, ondemand::value value) {
    template for (constexpr auto member : members<T>()) {
      if (is(name_of(member))) {
        read_member(value, target.[:member:], level, batch);
        return true;
      }
    }
    return false;
  });
}

void decode(const Body& body, Batch& batch) {
  read_document(parser, body, [&](auto is, ondemand::value value) {
    if (!is("operations")) return false;
    batch.clear();  // given twice, the last counts
    for (ondemand::object object : value.get_array()) read_object(object, batch.operations.emplace_back(), 3, batch);
    return true;
  });
}

template <class T>
void append_object(Builder& out, const T& object, const Batch& batch);

template <class T>
void append_member(Builder& out, const T& value, const Batch& batch) {
  if constexpr (std::is_same_v<T, Text>) {
    out.escape_and_append_with_quotes(value);
  } else if constexpr (std::is_same_v<T, Value>) {
    append_value(out, value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    out.append(value);
  } else {
    append_object(out, value, batch);
  }
}

template <class Row>
void append_rows(Builder& out, std::span<const Row> rows, const Batch& batch) {
  out.start_array();
  for (const Row& row : rows) {
    if (&row != rows.data()) out.append_comma();
    append_object(out, row, batch);
  }
  out.end_array();
}

template <class Row>
void append_member(Builder& out, const Rows<Row>& rows, const Batch& batch) {
  append_rows(out, batch.rows(rows), batch);
}

template <class T>
void append_object(Builder& out, const T& object, const Batch& batch) {
  const auto append_named = [&](std::string_view quoted, const auto& value) {
    out.append_raw(quoted);
    append_member(out, value, batch);
  };
  out.start_object();
  bool first = true;
  template for (constexpr auto member : members<T>()) {
    // Of a member after the first, the comma is part of its name; the first one of each type is required.
    constexpr std::string_view quoted = quoted_name_of(member);
    const auto& value = object.[:member:];
    if constexpr (requires { value.has_value(); }) {
      if (value) {
        out.append_comma();
        append_named(quoted, *value);
      }
    } else {
      if (!first) out.append_comma();
      append_named(quoted, value);
    }
    first = false;
  }
  out.end_object();
}

std::string encode_receipt(const Receipt& receipt) {
  return build([&](Builder& out) { append_object(out, receipt, Batch()); });
}

std::string encode_batch(const Batch& batch) {
  return build([&](Builder& out) {
    out.append_raw(R"({"operations":)");
    append_rows(out, std::span<const Operation>(batch.operations), batch);
    out.end_object();
  });
}

}  // namespace

const Codec reflection_codec{decode, encode_receipt, encode_batch};
