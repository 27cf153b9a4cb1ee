// glaze, straight into types of the C++ library, which own every string; the handler then makes its own operations of
// them and copies once more what a lookup of a key needs: url and filters.
#include <glaze/json.hpp>
#include <optional>
#include <stdexcept>

#include "handlers.h"

namespace {

struct Filter {
  std::string column;
  std::optional<std::variant<std::string, double, bool>> value;
};

struct ReadColumn {
  std::string column;
  std::optional<std::string> dataReturnType;
};

struct Body {
  std::vector<Filter> filters;
  std::optional<std::vector<ReadColumn>> readColumns;
  std::optional<std::string> operationId;
};

struct Operation {
  std::string method;
  std::string relative_url;
  Body body;
};

struct Batch {
  std::vector<Operation> operations;
};

}  // namespace

template <>
struct glz::meta<Operation> {
  using T = Operation;
  static constexpr auto value = object("method", &T::method, "relative-url", &T::relative_url, "body", &T::body);
};

namespace {

constexpr glz::opts kOptions{.error_on_unknown_keys = false};

Scalar copy(const Filter& filter) {
  if (!filter.value) return nullptr;
  return std::visit([](const auto& value) -> Scalar { return value; }, *filter.value);
}

OwnOperation copy(Operation&& read) {
  OwnOperation own{std::move(read.method), read.relative_url, std::move(read.body.operationId).value_or(""), {}, {}};
  for (const Filter& filter : read.body.filters) own.filters.push_back({filter.column, copy(filter)});
  if (read.body.readColumns) {
    for (ReadColumn& column : *read.body.readColumns) {
      own.read_columns.push_back({std::move(column.column), std::move(column.dataReturnType).value_or("")});
    }
  }
  return own;
}

}  // namespace

std::string decode_copies_glaze(std::string_view text) {
  Batch batch;
  if (const auto error = glz::read<kOptions>(batch, text)) throw std::invalid_argument(glz::format_error(error));
  // Kept until the next request, so that no compiler leaves the copies out.
  thread_local std::vector<OwnOperation> operations;
  operations.clear();
  for (Operation& operation : batch.operations) operations.push_back(copy(std::move(operation)));
  return kAnswer;
}
