// jsoncpp, as Drogon's req->getJsonObject() parses: a reader for each request, and a tree of the whole document.
// getJsonObject() itself is not called, since it inspects the content type, which the contract ignores.
#include <json/json.h>

#include <memory>

#include "codec.h"
#include "grammar.h"

namespace {

// Null, where the object has no such member.
const Json::Value* find(const Json::Value& object, std::string_view name) {
  return object.find(name.data(), name.data() + name.size());
}

const Json::Value& require(const Json::Value& object, std::string_view name) {
  const Json::Value* value = find(object, name);
  if (!value) throw BadBatch("a member is missing");
  return *value;
}

Text text_of(const Json::Value& value) {
  const char *begin, *end;
  if (!value.isString() || !value.getString(&begin, &end)) throw BadBatch("a string was expected");
  return std::string_view(begin, end - begin);
}

std::optional<Text> optional_text(const Json::Value& object, std::string_view name) {
  const Json::Value* value = find(object, name);
  if (!value || value->isNull()) return std::nullopt;
  return text_of(*value);
}

Value scalar_of(const Json::Value& value) {
  switch (value.type()) {
    case Json::nullValue:
      return nullptr;
    case Json::booleanValue:
      return value.asBool();
    case Json::stringValue:
      return text_of(value);
    case Json::intValue:
    case Json::uintValue:
    case Json::realValue:
      return value.asDouble();
    default:
      throw BadBatch("a string, number, boolean or null was expected");
  }
}

// Decodes the objects of an array onto the end of a table.
template <class Row, class ReadRow>
Rows<Row> read_rows(const Json::Value& array, std::vector<Row>& table, ReadRow read_row) {
  if (!array.isArray()) throw BadBatch("an array was expected");
  const auto first = static_cast<uint32_t>(table.size());
  for (const Json::Value& object : array) {
    if (!object.isObject()) throw BadBatch("an object was expected");
    table.push_back(read_row(object));
  }
  return {first, static_cast<uint32_t>(table.size()) - first};
}

Filter read_filter(const Json::Value& object) {
  return {text_of(require(object, "column")), scalar_of(require(object, "value"))};
}

ReadColumn read_read_column(const Json::Value& object) {
  return {text_of(require(object, "column")), optional_text(object, "dataReturnType")};
}

Operation read_operation(const Json::Value& object, Batch& batch) {
  const Json::Value& body = require(object, "body");
  if (!body.isObject()) throw BadBatch("body: has to be an object");
  Operation operation{text_of(require(object, "method")), text_of(require(object, "relative-url")), {}};
  operation.body.filters = read_rows(require(body, "filters"), batch.filters, read_filter);
  if (const Json::Value* columns = find(body, "readColumns"); columns && !columns->isNull()) {
    operation.body.read_columns = read_rows(*columns, batch.read_columns, read_read_column);
  }
  operation.body.operation_id = optional_text(body, "operationId");
  return operation;
}

// The tree lives as long as the batch that borrows its text: until the thread decodes again.
void decode(const Body& body, Batch& batch) {
  static const Json::CharReaderBuilder builder = [] {
    Json::CharReaderBuilder made;
    made["collectComments"] = false;  // as Drogon's parser
    return made;
  }();
  thread_local Json::Value root;
  root = Json::Value();
  // jsoncpp takes comments, numbers like 01, control characters and invalid UTF-8, even in its strict mode.
  require_well_formed(body);
  const std::unique_ptr<Json::CharReader> reader(builder.newCharReader());
  if (!reader->parse(body.data(), body.data() + body.size(), &root, nullptr)) throw BadBatch("jsoncpp refuses it");
  if (!root.isObject()) throw BadBatch("the root has to be an object");
  read_rows(require(root, "operations"), batch.operations,
            [&](const Json::Value& object) { return read_operation(object, batch); });
}

Json::Value to_json(std::string_view text) { return Json::Value(text.data(), text.data() + text.size()); }

Json::Value to_json(const Value& value) {
  if (const auto* text = std::get_if<Text>(&value)) return to_json(*text);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean;
  return Json::nullValue;
}

// As newHttpJsonResponse() writes: compact, UTF-8 as it is.
std::string write(const Json::Value& tree) {
  static const Json::StreamWriterBuilder builder = [] {
    Json::StreamWriterBuilder made;
    made["commentStyle"] = "None";
    made["indentation"] = "";
    made["emitUTF8"] = true;
    return made;
  }();
  return Json::writeString(builder, tree);
}

std::string encode_receipt(const Receipt& receipt) {
  Json::Value tree;
  tree["operations"] = static_cast<Json::UInt64>(receipt.operations);
  tree["filters"] = static_cast<Json::UInt64>(receipt.filters);
  tree["readColumns"] = static_cast<Json::UInt64>(receipt.read_columns);
  tree["nulls"] = static_cast<Json::UInt64>(receipt.nulls);
  tree["textBytes"] = static_cast<Json::UInt64>(receipt.text_bytes);
  tree["numberSum"] = receipt.number_sum;
  return write(tree);
}

std::string encode_batch(const Batch& batch) {
  Json::Value tree;
  Json::Value& operations = tree["operations"] = Json::arrayValue;
  for (const Operation& operation : batch.operations) {
    Json::Value& written = operations.append(Json::objectValue);
    written["method"] = to_json(operation.method);
    written["relative-url"] = to_json(operation.relative_url);
    Json::Value& body = written["body"];
    Json::Value& filters = body["filters"] = Json::arrayValue;
    for (const Filter& filter : batch.rows(operation.body.filters)) {
      Json::Value& row = filters.append(Json::objectValue);
      row["column"] = to_json(filter.column);
      row["value"] = to_json(filter.value);
    }
    if (operation.body.read_columns) {
      Json::Value& columns = body["readColumns"] = Json::arrayValue;
      for (const ReadColumn& column : batch.rows(*operation.body.read_columns)) {
        Json::Value& row = columns.append(Json::objectValue);
        row["column"] = to_json(column.column);
        if (column.data_return_type) row["dataReturnType"] = to_json(*column.data_return_type);
      }
    }
    if (operation.body.operation_id) body["operationId"] = to_json(*operation.body.operation_id);
  }
  return write(tree);
}

}  // namespace

const Codec jsoncpp_codec{decode, encode_receipt, encode_batch};
