#include "number.h"

#include <cmath>
#include <cstdlib>

namespace {

bool skip_digits(const char*& text) {
  const char* const start = text;
  while (*text >= '0' && *text <= '9') ++text;
  return text != start;
}

}  // namespace

bool skip_number(const char*& text) {
  if (*text == '-') ++text;
  if (*text == '0') {
    ++text;
  } else if (!skip_digits(text)) {
    return false;
  }
  if (*text == '.' && !skip_digits(++text)) return false;
  if (*text != 'e' && *text != 'E') return true;
  ++text;
  if (*text == '+' || *text == '-') ++text;
  return skip_digits(text);
}

// strtod rounds everything that JSON writes, and would take much that JSON does not (hexadecimals, infinities), which
// the grammar has ruled out by then.
std::optional<double> read_rare_number(const char*& text) {
  const char* const start = text;
  if (!skip_number(text)) return std::nullopt;
  const double number = std::strtod(start, nullptr);
  if (!std::isfinite(number)) return std::nullopt;
  return number;
}
