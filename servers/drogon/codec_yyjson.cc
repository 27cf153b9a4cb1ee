// yyjson: reads the text into a compact immutable tree, which points into the body.
#include <yyjson.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "codec.h"

namespace {

using Document = std::unique_ptr<yyjson_doc, decltype(&yyjson_doc_free)>;
using Draft = std::unique_ptr<yyjson_mut_doc, decltype(&yyjson_mut_doc_free)>;

// yyjson reads without recursion and knows no limit. The batch itself has six levels, so that only ignored values can
// reach below it.
void ignore(yyjson_val* value, int level) {
  if (!yyjson_is_ctn(value)) return;
  if (level > kMaxDepth) throw BadBatch("nested too deeply");
  size_t index, count;
  yyjson_val *key, *element;
  if (yyjson_is_obj(value)) {
    yyjson_obj_foreach(value, index, count, key, element) ignore(element, level + 1);
  } else {
    yyjson_arr_foreach(value, index, count, element) ignore(element, level + 1);
  }
}

// Calls read(is, value) for each member of an object that stands at this level; `is(name)` tests the member's name,
// and read returns whether it knew it.
template <class Read>
void each_member(yyjson_val* object, int level, Read read) {
  if (!yyjson_is_obj(object)) throw BadBatch("an object was expected");
  size_t index, count;
  yyjson_val *key, *value;
  yyjson_obj_foreach(object, index, count, key, value) {
    const auto is = [key](std::string_view name) { return unsafe_yyjson_equals_strn(key, name.data(), name.size()); };
    if (!read(is, value)) ignore(value, level + 1);
  }
}

void read(yyjson_val* value, Text& text) {
  if (!yyjson_is_str(value)) throw BadBatch("a string was expected");
  text = {unsafe_yyjson_get_str(value), unsafe_yyjson_get_len(value)};
}

void read(yyjson_val* value, std::optional<Text>& text) {
  text.reset();
  if (!yyjson_is_null(value)) read(value, text.emplace());
}

void read(yyjson_val* json, Value& value) {
  switch (yyjson_get_type(json)) {
    case YYJSON_TYPE_STR:
      return read(json, value.emplace<Text>());
    case YYJSON_TYPE_NUM:
      return void(value = yyjson_get_num(json));
    case YYJSON_TYPE_BOOL:
      return void(value = yyjson_get_bool(json));
    case YYJSON_TYPE_NULL:
      return void(value = nullptr);
    default:
      throw BadBatch("a string, number, boolean or null was expected");
  }
}

// Decodes the objects of an array onto the end of a table.
template <class Row, class ReadRow>
Rows<Row> read_rows(yyjson_val* array, std::vector<Row>& table, ReadRow read_row) {
  if (!yyjson_is_arr(array)) throw BadBatch("an array was expected");
  const auto first = static_cast<uint32_t>(table.size());
  size_t index, count;
  yyjson_val* element;
  yyjson_arr_foreach(array, index, count, element) read_row(element, table.emplace_back());
  return {first, static_cast<uint32_t>(count)};
}

void read_filter(yyjson_val* object, Filter& filter) {
  each_member(object, 6, [&](auto is, yyjson_val* value) {
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

void read_read_column(yyjson_val* object, ReadColumn& column) {
  each_member(object, 6, [&](auto is, yyjson_val* value) {
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

void read_operation_body(yyjson_val* object, OperationBody& body, Batch& batch) {
  each_member(object, 4, [&](auto is, yyjson_val* value) {
    if (is("filters")) {
      body.filters = read_rows(value, batch.filters, read_filter);
    } else if (is("readColumns")) {
      body.read_columns.reset();
      if (!yyjson_is_null(value)) body.read_columns = read_rows(value, batch.read_columns, read_read_column);
    } else if (is("operationId")) {
      read(value, body.operation_id);
    } else {
      return false;
    }
    return true;
  });
}

void read_operation(yyjson_val* object, Operation& operation, Batch& batch) {
  each_member(object, 3, [&](auto is, yyjson_val* value) {
    if (is("method")) {
      read(value, operation.method);
    } else if (is("relative-url")) {
      read(value, operation.relative_url);
    } else if (is("body")) {
      read_operation_body(value, operation.body, batch);
    } else {
      return false;
    }
    return true;
  });
}

void decode(const Body& body, Batch& batch) {
  thread_local Document document{nullptr, yyjson_doc_free};  // the batch borrows from it
  yyjson_read_err error;
  document.reset(yyjson_read_opts(body.data(), body.size(), YYJSON_READ_INSITU, nullptr, &error));
  if (!document) throw BadBatch(error.msg);
  each_member(yyjson_doc_get_root(document.get()), 1, [&](auto is, yyjson_val* value) {
    if (!is("operations")) return false;
    batch.clear();  // given twice, the last counts
    read_rows(value, batch.operations,
              [&](yyjson_val* object, Operation& operation) { read_operation(object, operation, batch); });
    return true;
  });
}

void add_text(yyjson_mut_doc* draft, yyjson_mut_val* object, const char* name, std::string_view text) {
  yyjson_mut_obj_add_strn(draft, object, name, text.data(), text.size());
}

std::string encode_receipt(const Receipt& receipt) {
  char memory[4096];  // plenty for six numbers
  yyjson_alc allocator;
  yyjson_alc_pool_init(&allocator, memory, sizeof memory);
  yyjson_mut_doc* draft = yyjson_mut_doc_new(&allocator);
  yyjson_mut_val* root = yyjson_mut_obj(draft);
  yyjson_mut_doc_set_root(draft, root);
  yyjson_mut_obj_add_uint(draft, root, "operations", receipt.operations);
  yyjson_mut_obj_add_uint(draft, root, "filters", receipt.filters);
  yyjson_mut_obj_add_uint(draft, root, "readColumns", receipt.read_columns);
  yyjson_mut_obj_add_uint(draft, root, "nulls", receipt.nulls);
  yyjson_mut_obj_add_uint(draft, root, "textBytes", receipt.text_bytes);
  yyjson_mut_obj_add_real(draft, root, "numberSum", receipt.number_sum);
  size_t size = 0;
  const char* text = yyjson_mut_write_opts(draft, YYJSON_WRITE_NOFLAG, &allocator, &size, nullptr);
  if (!text) throw std::bad_alloc();
  return {text, size};
}

void add_value(yyjson_mut_doc* draft, yyjson_mut_val* object, const Value& value) {
  if (const auto* text = std::get_if<Text>(&value)) {
    add_text(draft, object, "value", *text);
  } else if (const auto* number = std::get_if<double>(&value)) {
    yyjson_mut_obj_add_real(draft, object, "value", *number);
  } else if (const auto* boolean = std::get_if<bool>(&value)) {
    yyjson_mut_obj_add_bool(draft, object, "value", *boolean);
  } else {
    yyjson_mut_obj_add_null(draft, object, "value");
  }
}

void add_operation(yyjson_mut_doc* draft, yyjson_mut_val* operations, const Batch& batch, const Operation& operation) {
  yyjson_mut_val* object = yyjson_mut_arr_add_obj(draft, operations);
  add_text(draft, object, "method", operation.method);
  add_text(draft, object, "relative-url", operation.relative_url);
  yyjson_mut_val* body = yyjson_mut_obj_add_obj(draft, object, "body");
  yyjson_mut_val* filters = yyjson_mut_obj_add_arr(draft, body, "filters");
  for (const Filter& filter : batch.rows(operation.body.filters)) {
    yyjson_mut_val* row = yyjson_mut_arr_add_obj(draft, filters);
    add_text(draft, row, "column", filter.column);
    add_value(draft, row, filter.value);
  }
  if (operation.body.read_columns) {
    yyjson_mut_val* columns = yyjson_mut_obj_add_arr(draft, body, "readColumns");
    for (const ReadColumn& column : batch.rows(*operation.body.read_columns)) {
      yyjson_mut_val* row = yyjson_mut_arr_add_obj(draft, columns);
      add_text(draft, row, "column", column.column);
      if (column.data_return_type) add_text(draft, row, "dataReturnType", *column.data_return_type);
    }
  }
  if (operation.body.operation_id) add_text(draft, body, "operationId", *operation.body.operation_id);
}

std::string encode_batch(const Batch& batch) {
  const Draft owner(yyjson_mut_doc_new(nullptr), yyjson_mut_doc_free);
  yyjson_mut_doc* draft = owner.get();
  yyjson_mut_val* root = yyjson_mut_obj(draft);
  yyjson_mut_doc_set_root(draft, root);
  yyjson_mut_val* operations = yyjson_mut_obj_add_arr(draft, root, "operations");
  for (const Operation& operation : batch.operations) add_operation(draft, operations, batch, operation);
  size_t size = 0;
  const std::unique_ptr<char, decltype(&free)> text(yyjson_mut_write(draft, YYJSON_WRITE_NOFLAG, &size), free);
  if (!text) throw std::bad_alloc();
  return {text.get(), size};
}

}  // namespace

const Codec yyjson_codec{decode, encode_receipt, encode_batch};
