// glaze, from a copy of the body into structures that own every string. The handler copied the whole batch once more.
#include <glaze/json.hpp>
#include <stdexcept>

#include "handlers.h"

template <>
struct glz::meta<Filter> {
  static constexpr auto value = object("column", &Filter::column, "value", &Filter::value);
};

template <>
struct glz::meta<ReadColumn> {
  static constexpr auto value = object("column", &ReadColumn::column, "dataReturnType", &ReadColumn::data_return_type);
};

template <>
struct glz::meta<OperationBody> {
  using T = OperationBody;
  static constexpr auto value =
      object("filters", &T::filters, "readColumns", &T::read_columns, "operationId", &T::operation_id);
};

template <>
struct glz::meta<Operation> {
  using T = Operation;
  static constexpr auto value = object("method", &T::method, "relative-url", &T::relative_url, "body", &T::body);
};

template <>
struct glz::meta<Batch> {
  static constexpr auto value = object("operations", &Batch::operations);
};

size_t decode_glaze(std::string_view text) {
  const std::string body(text);
  const auto read = glz::read_json<Batch>(body);
  if (!read) throw std::invalid_argument(glz::format_error(read.error(), body));
  const Batch batch = read.value();
  if (batch.operations.empty()) throw std::invalid_argument("no operations");
  return batch.operations.size();
}

Batch dummy_batch(size_t operations) {
  Batch batch;
  for (size_t i = 0; i < operations; ++i) {
    Operation operation{"POST", "/db/the_table", {}};
    operation.body.operation_id = "op_1";
    operation.body.filters.push_back({"the_filter", "some_value"});
    operation.body.read_columns.push_back({"a_column", "default"});
    batch.operations.push_back(operation);  // a copy, as published
  }
  return batch;
}

std::string encode_dummy_glaze(size_t operations) { return glz::write_json(dummy_batch(operations)).value_or(""); }
