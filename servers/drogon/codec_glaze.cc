// glaze: parses straight into the batch's own types, guided by what glz::meta says of them at compile time.
#include <algorithm>
#include <glaze/json.hpp>

#include "codec.h"
#include "number.h"

namespace {

struct Document {
  Rows<Operation> operations;
};

// glaze hands its context down to every reader and writer: it brings the batch's tables.
struct ReadContext : glz::context {
  ReadContext(Batch& target, std::string& text, bool escapes) : batch(target), unescaped(text), has_escapes(escapes) {
    depth = glz::max_recursive_depth_limit - kMaxDepth;  // glaze goes twice as deep as the contract
  }

  std::vector<Filter>& table(Rows<Filter>&) { return batch.filters; }
  std::vector<ReadColumn>& table(Rows<ReadColumn>&) { return batch.read_columns; }
  std::vector<Operation>& table(Rows<Operation>&) {
    batch.clear();  // given twice, the last counts
    return batch.operations;
  }

  Batch& batch;
  std::string& unescaped;  // the text of strings that were written with escapes; never moves
  bool has_escapes;        // whether the document has any
};

struct WriteContext : glz::context {
  explicit WriteContext(const Batch& source) : batch(source) {}
  const Batch& batch;
};

}  // namespace

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
struct glz::meta<Document> {
  static constexpr auto value = object("operations", &Document::operations);
};

template <>
struct glz::meta<Receipt> {
  using T = Receipt;
  static constexpr auto value =
      object("operations", &T::operations, "filters", &T::filters, "readColumns", &T::read_columns, "nulls", &T::nulls,
             "textBytes", &T::text_bytes, "numberSum", &T::number_sum);
};

namespace glz {

// glaze's reader of string views keeps escapes as they are and lets control characters pass. This one scans the string
// once, with glaze's strict scanner, borrows it, and has glaze unescape it only if there is something to unescape.
template <>
struct from<JSON, Text> {
  template <auto Options>
  static void op(Text& value, is_context auto&& ctx, auto&& it, auto end) {
    static constexpr auto Opts = ws_handled_off<Options>();
    if constexpr (!check_ws_handled(Options)) {
      if (skip_ws<Opts>(ctx, it, end)) return;
    }
    if (*it != '"') {
      ctx.error = error_code::expected_quote;
      return;
    }
    auto start = it;
    skip_string<Opts>(ctx, it, end);
    if (bool(ctx.error)) return;
    value = std::string_view(start + 1, it - 1);
    if (ctx.has_escapes && value.contains('\\')) {
      std::string text;
      parse<JSON>::op<Opts>(text, ctx, start, end);
      value = std::string_view(ctx.unescaped.data() + ctx.unescaped.size(), text.size());
      ctx.unescaped += text;
    }
  }
};

template <>
struct from<JSON, Value> {
  template <auto Options>
  static void op(Value& value, is_context auto&& ctx, auto&& it, auto end) {
    static constexpr auto Opts = ws_handled_off<Options>();
    if constexpr (!check_ws_handled(Options)) {
      if (skip_ws<Opts>(ctx, it, end)) return;
    }
    switch (*it) {
      case '"':
        return parse<JSON>::op<Opts>(value.emplace<Text>(), ctx, it, end);
      case 't':
      case 'f':
        return parse<JSON>::op<Opts>(value.emplace<bool>(), ctx, it, end);
      case 'n':
        value = nullptr;
        return match<"null", Opts>(ctx, it, end);
      default:
        const char* start = it;
        parse<JSON>::op<Opts>(value.emplace<double>(), ctx, it, end);
        if (ctx.error != error_code::parse_number_failure) return;
        if (const auto rare = read_rare_number(start)) {
          value = *rare;
          it = start;
          ctx.error = error_code::none;
        }
    }
  }
};

template <class Row>
struct from<JSON, Rows<Row>> {
  template <auto Opts>
  static void op(Rows<Row>& rows, is_context auto&& ctx, auto&& it, auto end) {
    std::vector<Row>& table = ctx.table(rows);
    rows.first = static_cast<uint32_t>(table.size());
    parse<JSON>::op<Opts>(table, ctx, it, end);
    rows.count = static_cast<uint32_t>(table.size()) - rows.first;
  }
};

template <class Row>
struct to<JSON, Rows<Row>> {
  template <auto Opts>
  static void op(const Rows<Row>& rows, is_context auto&& ctx, auto&&... args) {
    serialize<JSON>::op<Opts>(ctx.batch.rows(rows), ctx, args...);
  }
};

}  // namespace glz

namespace {

struct ReadOptions : glz::opts {
  bool validate_skipped = true;  // makes its string scanner strict
  bool validate_utf8 = false;    // the document is validated at once, see decode
  bool validate_trailing_whitespace = true;
  bool append_arrays = true;  // rows go to the end of their table
};

constexpr ReadOptions kKnownMembers{{.internal = static_cast<uint32_t>(glz::opts_internal::is_padded)}};
constexpr ReadOptions kAnyMembers{
    {.error_on_unknown_keys = false, .internal = static_cast<uint32_t>(glz::opts_internal::is_padded)}};

struct WriteOptions : glz::opts {
  bool escape_control_characters = true;
};

constexpr WriteOptions kWriteOptions{};

template <auto Options>
glz::error_ctx read(const Body& body, Batch& batch) {
  thread_local std::string unescaped;
  const bool has_escapes = body.text().contains('\\');
  unescaped.clear();
  if (has_escapes) unescaped.reserve(body.size());  // unescaping only shortens
  ReadContext context(batch, unescaped, has_escapes);
  Document document;
  return glz::read<Options>(document, body.text(), context);
}

void require(const glz::error_ctx& error) {
  if (error) throw BadBatch(glz::format_error(error));
}

// The document with the names of its members unescaped, as far as that makes a difference. Reads every string on the
// way, of which glaze lets pass what is wrong in the name of a member that it skips.
std::string with_plain_names(std::string_view document) {
  glz::context context;
  std::string plain, name, written;
  const char* it = document.data();
  const char* const end = it + document.size();
  while (it != end) {
    const char* const quote = std::find(it, end, '"');
    plain.append(it, quote);
    it = quote;
    if (quote == end) break;
    glz::skip_string<kAnyMembers>(context, it, end);
    require({0, context.error});
    const std::string_view string(quote, it);
    const size_t next = document.find_first_not_of(" \t\r\n", it - document.data());
    if (string.contains('\\') && next != document.npos && document[next] == ':') {
      require(glz::read<kAnyMembers>(name, string));
      require(glz::write<kWriteOptions>(name, written));
      plain += written;
    } else {
      plain += string;
    }
  }
  return plain;
}

// glaze compares names as they are written, and does not parse those that it does not know. A document of known
// members takes the straight road; one with others goes on to a stricter one.
void decode(const Body& body, Batch& batch) {
  if (!glz::validate_utf8(body.data(), body.size())) throw BadBatch("invalid UTF-8");
  auto error = read<kKnownMembers>(body, batch);
  if (error == glz::error_code::unknown_key) {
    const Body plain(with_plain_names(body.text()));
    batch.clear();
    error = read<kAnyMembers>(plain, batch);
  }
  require(error);
}

std::string encode_receipt(const Receipt& receipt) {
  std::string text;
  require(glz::write<kWriteOptions>(receipt, text));
  return text;
}

std::string encode_batch(const Batch& batch) {
  std::string text;
  const Document document{{0, static_cast<uint32_t>(batch.operations.size())}};
  WriteContext context(batch);
  require(glz::write<kWriteOptions>(document, text, context));
  return text;
}

}  // namespace

const Codec glaze_codec{decode, encode_receipt, encode_batch};
