// yyjson, from a copy of the body, which yyjson copies again. Each string becomes one of its own; each element is then
// copied into its list, and each operation with all its elements once more.
#include <yyjson.h>

#include <cstring>
#include <memory>
#include <stdexcept>

#include "handlers.h"

namespace {

// The published handler never freed its documents. That would fill the memory here, so the cost of new pages for each
// request is missing.
using Document = std::unique_ptr<yyjson_doc, decltype(&yyjson_doc_free)>;

// The published handler made a std::string of a null pointer here, which ended in 500.
std::string text_of(yyjson_val* object, const char* name) {
  const char* const text = yyjson_get_str(yyjson_obj_get(object, name));
  if (!text) throw std::invalid_argument(std::string(name) + " is no string");
  return std::string(text);
}

void add_filter(Operation& operation, yyjson_val* object) {
  const Filter filter{text_of(object, "column"), text_of(object, "value")};
  operation.body.filters.push_back(filter);
}

void add_read_column(Operation& operation, yyjson_val* object) {
  const ReadColumn column{text_of(object, "column"), text_of(object, "dataReturnType")};
  operation.body.read_columns.push_back(column);
}

void add_operation(Batch& batch, yyjson_val* object) {
  yyjson_val* const body = yyjson_obj_get(object, "body");
  Operation operation{text_of(object, "method"), text_of(object, "relative-url"), {}};
  size_t index, count;
  yyjson_val* element;
  yyjson_arr_foreach(yyjson_obj_get(body, "filters"), index, count, element) add_filter(operation, element);
  yyjson_arr_foreach(yyjson_obj_get(body, "readColumns"), index, count, element) add_read_column(operation, element);
  operation.body.operation_id = text_of(body, "operationId");
  batch.operations.push_back(operation);
}

}  // namespace

size_t decode_yyjson(std::string_view text) {
  const std::string body(text);
  const Document document(yyjson_read(body.c_str(), std::strlen(body.c_str()), YYJSON_READ_NOFLAG), yyjson_doc_free);
  Batch batch;
  size_t index, count;
  yyjson_val* element;
  yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(document.get()), "operations"), index, count, element) {
    add_operation(batch, element);
  }
  if (batch.operations.empty()) throw std::invalid_argument("no operations");
  return batch.operations.size();
}
