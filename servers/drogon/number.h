// The numbers at the edge of what a double holds.
#pragma once

#include <optional>

// Moves the text behind the JSON number that it begins with; false if there is none.
bool skip_number(const char*& text);

// Reads the JSON number that a zero-terminated text begins with, for a library that gave up on it: one that underflows
// (to zero) or whose exponent has very many digits is a number like any other. Moves the text behind it. Nothing if
// there is no number, or one that overflows.
std::optional<double> read_rare_number(const char*& text);
