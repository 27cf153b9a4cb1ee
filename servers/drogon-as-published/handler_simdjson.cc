// simdjson's On-Demand: every field is read and dropped. Strings are views of the parser's buffer; `value` and
// `dataReturnType` are raw tokens, neither unescaped nor checked.
#include <simdjson.h>

#include <cstring>
#include <sstream>
#include <stdexcept>

#include "handlers.h"

namespace {

namespace ondemand = simdjson::ondemand;

constexpr size_t kMaxBodyBytes = size_t{1} << 20;

// The published buffers were a static array, one row for each of 16 threads by the thread's index. This is one per
// thread too, for any number of threads.
char* thread_buffer() {
  thread_local std::vector<char> buffer(kMaxBodyBytes + simdjson::SIMDJSON_PADDING);
  return buffer.data();
}

// A required text: the handler refuses the request without it.
void read_text(ondemand::object& object, std::string_view name) {
  [[maybe_unused]] std::string_view text = object[name];
}

// A text that the handler ignored when it was missing, or no string.
void try_text(ondemand::object& object, std::string_view name) {
  std::string_view text;
  (void)object[name].get(text);
}

void try_token(ondemand::object& object, std::string_view name) {
  std::string_view token;
  (void)object[name].raw_json_token().get(token);
}

void read_body(ondemand::object body) {
  for (ondemand::object filter : body["filters"].get_array()) {
    try_text(filter, "column");
    try_token(filter, "value");
  }
  ondemand::array columns;
  if (body["readColumns"].get_array().get(columns) == simdjson::SUCCESS) {
    for (ondemand::object column : columns) {
      try_text(column, "column");
      try_token(column, "dataReturnType");
    }
  }
  try_text(body, "operationId");
}

}  // namespace

// The published handler counted with `opCount++` on an `int*`: the pointer advanced and the count stayed 0.
size_t decode_simdjson(std::string_view text) {
  if (text.size() >= kMaxBodyBytes) throw std::invalid_argument("the body does not fit into the buffer");
  char* const buffer = thread_buffer();
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = 0;

  ondemand::parser parser;  // a new one for each request
  ondemand::document document = parser.iterate(buffer, text.size(), kMaxBodyBytes + simdjson::SIMDJSON_PADDING);
  for (ondemand::object operation : document["operations"].get_array()) {
    read_text(operation, "method");
    read_text(operation, "relative-url");
    read_body(operation["body"]);
  }
  return 0;
}

std::string encode_dummy_by_hand(size_t operations) {
  const Batch batch = dummy_batch(operations);
  std::stringstream out;
  out << "{'operations':[";
  for (const Operation operation : batch.operations) {  // a copy, as published
    out << "{'method':'" << operation.method << "','relative-url':'" << operation.relative_url << "'},";
  }
  out << "]}";
  return out.str();
}
