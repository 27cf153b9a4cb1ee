// The batch of the contract, decoded, and what the contract requires of it whatever library decoded it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <variant>
#include <vector>

inline constexpr int kMaxDepth = 128;  // the root is level 1

// A body that is not a batch; the text is for the client.
struct BadBatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Decoded text, borrowed from the body or from the codec's buffers. A type of its own, which lets a codec teach its
// library how to read it.
struct Text : std::string_view {
  using std::string_view::string_view;
  Text(std::string_view text) : std::string_view(text) {}
};

// A stretch of one of the batch's tables. Positions, not pointers: a table moves while it grows.
template <class Row>
struct Rows {
  uint32_t first = 0;
  uint32_t count = 0;
};

// std::monostate: the member was missing.
using Value = std::variant<std::monostate, std::nullptr_t, bool, double, Text>;

struct Filter {
  Text column;
  Value value;
};

struct ReadColumn {
  Text column;
  std::optional<Text> data_return_type;
};

// A required member that is missing leaves its empty value, which audit() refuses.
struct OperationBody {
  Rows<Filter> filters;
  std::optional<Rows<ReadColumn>> read_columns;
  std::optional<Text> operation_id;
};

struct Operation {
  Text method;
  Text relative_url;
  OperationBody body;
};

// The rows of all operations stand together in one table per kind. Each thread reuses its batch, so that decoding
// allocates nothing once the tables have grown, and what they hold is bounded by the largest body, not by the sum of
// what each operation ever held.
struct Batch {
  std::vector<Operation> operations;
  std::vector<Filter> filters;
  std::vector<ReadColumn> read_columns;

  std::span<const Operation> rows(Rows<Operation> r) const { return {operations.data() + r.first, r.count}; }
  std::span<const Filter> rows(Rows<Filter> r) const { return {filters.data() + r.first, r.count}; }
  std::span<const ReadColumn> rows(Rows<ReadColumn> r) const { return {read_columns.data() + r.first, r.count}; }

  void clear() {
    operations.clear();
    filters.clear();
    read_columns.clear();
  }
};

struct Receipt {
  uint64_t operations = 0;
  uint64_t filters = 0;
  uint64_t read_columns = 0;
  uint64_t nulls = 0;
  uint64_t text_bytes = 0;
  double number_sum = 0;
};

// Holds the batch against the contract's bounds and counts what is in it. Throws BadBatch.
Receipt audit(const Batch& batch);

// The number of code points in UTF-8 text.
size_t count_characters(std::string_view text);
