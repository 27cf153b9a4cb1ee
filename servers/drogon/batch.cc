#include "batch.h"

#include <algorithm>
#include <cmath>

namespace {

constexpr size_t kMaxRows = 4096;
constexpr size_t kMaxColumnCharacters = 64;

// A character has at least one byte, so that only text of more bytes than characters allowed has to be counted.
bool is_column(std::string_view text) {
  return !text.empty() && (text.size() <= kMaxColumnCharacters || count_characters(text) <= kMaxColumnCharacters);
}

void count_filter(const Filter& filter, Receipt& receipt) {
  if (!is_column(filter.column)) throw BadBatch("filters: a column has 1 to 64 characters");
  receipt.text_bytes += filter.column.size();
  if (const auto* text = std::get_if<Text>(&filter.value)) {
    receipt.text_bytes += text->size();
  } else if (const auto* number = std::get_if<double>(&filter.value)) {
    receipt.number_sum += *number;
  } else if (std::holds_alternative<std::nullptr_t>(filter.value)) {
    ++receipt.nulls;
  } else if (std::holds_alternative<std::monostate>(filter.value)) {
    throw BadBatch("filters: the value is missing");
  }
}

void count_read_column(const ReadColumn& column, Receipt& receipt) {
  if (!is_column(column.column)) throw BadBatch("readColumns: a column has 1 to 64 characters");
  receipt.text_bytes += column.column.size() + column.data_return_type.value_or("").size();
}

}  // namespace

Receipt audit(const Batch& batch) {
  Receipt receipt;
  if (batch.operations.empty() || batch.operations.size() > kMaxRows) throw BadBatch("operations: 1 to 4096 objects");
  receipt.operations = batch.operations.size();
  for (const Operation& operation : batch.operations) {
    if (operation.method != "POST") throw BadBatch("method: has to be POST");
    if (operation.relative_url.empty()) throw BadBatch("relative-url: at least 1 character");
    receipt.text_bytes += operation.method.size() + operation.relative_url.size();

    const auto filters = batch.rows(operation.body.filters);
    if (filters.empty() || filters.size() > kMaxRows) throw BadBatch("filters: 1 to 4096 objects");
    receipt.filters += filters.size();
    for (const Filter& filter : filters) count_filter(filter, receipt);

    const auto columns = batch.rows(operation.body.read_columns.value_or(Rows<ReadColumn>{}));
    if (columns.size() > kMaxRows) throw BadBatch("readColumns: at most 4096 objects");
    receipt.read_columns += columns.size();
    for (const ReadColumn& column : columns) count_read_column(column, receipt);

    receipt.text_bytes += operation.body.operation_id.value_or("").size();
  }
  if (!std::isfinite(receipt.number_sum)) throw BadBatch("value: the sum of the numbers overflows a double");
  return receipt;
}

// Every byte but a continuation byte (10xxxxxx) begins a character.
size_t count_characters(std::string_view text) {
  return std::ranges::count_if(text, [](unsigned char byte) { return (byte & 0xC0) != 0x80; });
}
