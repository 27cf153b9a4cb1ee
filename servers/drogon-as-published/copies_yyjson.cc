// yyjson, which copies the text before it parses it; the handler takes each string out of the tree into one of its own,
// and copies once more what a lookup of a key needs: url and filters.
#include <yyjson.h>

#include <memory>
#include <stdexcept>

#include "handlers.h"

namespace {

using Document = std::unique_ptr<yyjson_doc, decltype(&yyjson_doc_free)>;

std::string text_of(yyjson_val* value) {
  return yyjson_is_str(value) ? std::string(yyjson_get_str(value), yyjson_get_len(value)) : std::string();
}

Scalar scalar_of(yyjson_val* value) {
  if (yyjson_is_str(value)) return text_of(value);
  if (yyjson_is_num(value)) return yyjson_get_num(value);
  if (yyjson_is_bool(value)) return yyjson_get_bool(value);
  return nullptr;
}

void add_filter(OwnOperation& operation, yyjson_val* object) {
  const std::string column = text_of(yyjson_obj_get(object, "column"));
  const Scalar value = scalar_of(yyjson_obj_get(object, "value"));
  operation.filters.push_back({column, value});
}

void add_read_column(OwnOperation& operation, yyjson_val* object) {
  operation.read_columns.push_back(
      {text_of(yyjson_obj_get(object, "column")), text_of(yyjson_obj_get(object, "dataReturnType"))});
}

OwnOperation read_operation(yyjson_val* object) {
  const std::string url = text_of(yyjson_obj_get(object, "relative-url"));
  yyjson_val* body = yyjson_obj_get(object, "body");
  OwnOperation operation{
      text_of(yyjson_obj_get(object, "method")), url, text_of(yyjson_obj_get(body, "operationId")), {}, {}};
  size_t index, count;
  yyjson_val* element;
  yyjson_arr_foreach(yyjson_obj_get(body, "filters"), index, count, element) add_filter(operation, element);
  yyjson_arr_foreach(yyjson_obj_get(body, "readColumns"), index, count, element) add_read_column(operation, element);
  return operation;
}

}  // namespace

std::string decode_copies_yyjson(std::string_view text) {
  const Document document(yyjson_read(text.data(), text.size(), YYJSON_READ_NOFLAG), yyjson_doc_free);
  if (!document) throw std::invalid_argument("no JSON");
  // Kept until the next request, so that no compiler leaves the copies out.
  thread_local std::vector<OwnOperation> operations;
  operations.clear();
  size_t index, count;
  yyjson_val* element;
  yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(document.get()), "operations"), index, count, element) {
    operations.push_back(read_operation(element));
  }
  return kAnswer;
}
