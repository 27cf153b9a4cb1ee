// simdjson, On-Demand: one pass over the text's structure; each member is decoded when it is reached.
#include <simdjson.h>

#include "codec.h"
#include "number.h"

namespace {

namespace ondemand = simdjson::ondemand;

thread_local ondemand::parser parser;

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

// On-Demand does not look into what it skips: an ignored value is walked, so that all of the document is checked.
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

// Calls read(is, value) for each member of an object that stands at this level; is(name) asks for the member's name,
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

// Decodes the objects of an array onto the end of a table.
template <class Row, class ReadRow>
simdjson_inline Rows<Row> read_rows(ondemand::array array, std::vector<Row>& table, ReadRow read_row) {
  const auto first = static_cast<uint32_t>(table.size());
  for (ondemand::object object : array) read_row(object, table.emplace_back());
  return {first, static_cast<uint32_t>(table.size()) - first};
}

simdjson_inline void read_filter(ondemand::object object, Filter& filter) {
  each_member(object, 6, [&](auto is, ondemand::value value) {
    if (is("column")) {
      read(value, filter.column);
    } else if (is("value")) {
      read(value, filter.value);
    } else {
      return false;
    }
    return true;
  });
}

simdjson_inline void read_read_column(ondemand::object object, ReadColumn& column) {
  each_member(object, 6, [&](auto is, ondemand::value value) {
    if (is("column")) {
      read(value, column.column);
    } else if (is("dataReturnType")) {
      read(value, column.data_return_type);
    } else {
      return false;
    }
    return true;
  });
}

void read_operation_body(ondemand::object object, OperationBody& body, Batch& batch) {
  each_member(object, 4, [&](auto is, ondemand::value value) {
    if (is("filters")) {
      body.filters = read_rows(value.get_array(), batch.filters, read_filter);
    } else if (is("readColumns")) {
      body.read_columns.reset();
      if (!value.is_null()) body.read_columns = read_rows(value.get_array(), batch.read_columns, read_read_column);
    } else if (is("operationId")) {
      read(value, body.operation_id);
    } else {
      return false;
    }
    return true;
  });
}

void read_operation(ondemand::object object, Operation& operation, Batch& batch) {
  each_member(object, 3, [&](auto is, ondemand::value value) {
    if (is("method")) {
      read(value, operation.method);
    } else if (is("relative-url")) {
      read(value, operation.relative_url);
    } else if (is("body")) {
      read_operation_body(value.get_object(), operation.body, batch);
    } else {
      return false;
    }
    return true;
  });
}

void decode(const Body& body, Batch& batch) try {
  if (body.text().starts_with("\xEF\xBB\xBF")) throw BadBatch("a byte order mark");  // simdjson skips it
  ondemand::document document = parser.iterate(body.data(), body.size(), body.capacity());
  each_member(document.get_object(), 1, [&](auto is, ondemand::value value) {
    if (!is("operations")) return false;
    batch.clear();  // given twice, the last counts
    read_rows(value.get_array(), batch.operations,
              [&](ondemand::object object, Operation& operation) { read_operation(object, operation, batch); });
    return true;
  });
  if (!document.at_end()) throw BadBatch("text behind the document");
} catch (const simdjson::simdjson_error& error) {
  throw BadBatch(error.what());
}

using Builder = simdjson::builder::string_builder;

void append_text(Builder& out, std::string_view begin, std::string_view text) {
  out.append_raw(begin);
  out.escape_and_append_with_quotes(text);
}

void append(Builder& out, const Filter& filter) {
  append_text(out, R"({"column":)", filter.column);
  out.append_raw(R"(,"value":)");
  if (const auto* text = std::get_if<Text>(&filter.value)) {
    out.escape_and_append_with_quotes(*text);
  } else if (const auto* number = std::get_if<double>(&filter.value)) {
    out.append(*number);
  } else if (const auto* boolean = std::get_if<bool>(&filter.value)) {
    out.append(*boolean);
  } else {
    out.append_null();
  }
  out.append_raw("}");
}

void append(Builder& out, const ReadColumn& column) {
  append_text(out, R"({"column":)", column.column);
  if (column.data_return_type) append_text(out, R"(,"dataReturnType":)", *column.data_return_type);
  out.append_raw("}");
}

template <class Row>
void append_rows(Builder& out, std::span<const Row> rows) {
  out.start_array();
  for (const Row& row : rows) {
    if (&row != rows.data()) out.append_comma();
    append(out, row);
  }
  out.end_array();
}

void append(Builder& out, const Batch& batch, const Operation& operation) {
  append_text(out, R"({"method":)", operation.method);
  append_text(out, R"(,"relative-url":)", operation.relative_url);
  out.append_raw(R"(,"body":{"filters":)");
  append_rows(out, batch.rows(operation.body.filters));
  if (operation.body.read_columns) {
    out.append_raw(R"(,"readColumns":)");
    append_rows(out, batch.rows(*operation.body.read_columns));
  }
  if (operation.body.operation_id) append_text(out, R"(,"operationId":)", *operation.body.operation_id);
  out.append_raw("}}");
}

// Each thread has one builder, so that only the finished text is allocated.
template <class Write>
std::string build(Write write) {
  thread_local Builder out;
  out.clear();
  write(out);
  return std::string(std::string_view(out));
}

std::string encode_receipt(const Receipt& receipt) {
  return build([&](Builder& out) {
    const auto append_member = [&](const char* begin, auto number) {
      out.append_raw(begin);
      out.append(number);
    };
    append_member(R"({"operations":)", receipt.operations);
    append_member(R"(,"filters":)", receipt.filters);
    append_member(R"(,"readColumns":)", receipt.read_columns);
    append_member(R"(,"nulls":)", receipt.nulls);
    append_member(R"(,"textBytes":)", receipt.text_bytes);
    append_member(R"(,"numberSum":)", receipt.number_sum);
    out.append_raw("}");
  });
}

std::string encode_batch(const Batch& batch) {
  return build([&](Builder& out) {
    out.append_raw(R"({"operations":[)");
    for (const Operation& operation : batch.operations) {
      if (&operation != batch.operations.data()) out.append_comma();
      append(out, batch, operation);
    }
    out.append_raw("]}");
  });
}

}  // namespace

const Codec simdjson_codec{decode, encode_receipt, encode_batch};
