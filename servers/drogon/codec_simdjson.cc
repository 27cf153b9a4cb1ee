// simdjson, On-Demand: one pass over the text's structure; each member is decoded when it is reached.
#include "ondemand.h"

namespace {

using namespace reading;

thread_local ondemand::parser parser;

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

void decode(const Body& body, Batch& batch) {
  read_document(parser, body, [&](auto is, ondemand::value value) {
    if (!is("operations")) return false;
    batch.clear();  // given twice, the last counts
    read_rows(value.get_array(), batch.operations,
              [&](ondemand::object object, Operation& operation) { read_operation(object, operation, batch); });
    return true;
  });
}

using namespace writing;

void append_text(Builder& out, std::string_view begin, std::string_view text) {
  out.append_raw(begin);
  out.escape_and_append_with_quotes(text);
}

void append(Builder& out, const Filter& filter) {
  append_text(out, R"({"column":)", filter.column);
  out.append_raw(R"(,"value":)");
  append_value(out, filter.value);
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
