// What the published handlers did with a batch, one function each. A decoder returns the number of operations that its
// handler passed on; it throws where the handler refused the request. None of them validates a value.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Every text is owned, as in the published structures. Values of other types than string have no place in them.
struct Filter {
  std::string column;
  std::string value;
};

struct ReadColumn {
  std::string column;
  std::string data_return_type;
};

struct OperationBody {
  std::vector<Filter> filters;
  std::vector<ReadColumn> read_columns;
  std::string operation_id;
};

struct Operation {
  std::string method;
  std::string relative_url;
  OperationBody body;
};

struct Batch {
  std::vector<Operation> operations;
};

size_t decode_simdjson(std::string_view text);
size_t decode_glaze(std::string_view text);
size_t decode_yyjson(std::string_view text);

// The round trips encoded a dummy batch of as many operations as were passed on, never the decoded values, and dropped
// the text.
std::string encode_dummy_by_hand(size_t operations);
std::string encode_dummy_glaze(size_t operations);

// A batch of that many equal operations.
Batch dummy_batch(size_t operations);
