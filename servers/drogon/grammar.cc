#include "grammar.h"

#include <simdjson.h>

#include <cstring>
#include <string_view>

#include "number.h"

namespace {

// The text ends with the zero of the body, which no JSON holds.
class Grammar {
 public:
  explicit Grammar(const Body& body) : at_(body.data()) {
    if (!simdjson::validate_utf8(body.data(), body.size())) throw BadBatch("invalid UTF-8");
    skip_space();
    check_value(1);
    skip_space();
    if (at_ != body.data() + body.size()) fail();
  }

 private:
  [[noreturn]] static void fail() { throw BadBatch("malformed JSON"); }

  void skip_space() {
    while (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t') ++at_;
  }

  void expect(std::string_view word) {
    if (std::strncmp(at_, word.data(), word.size()) != 0) fail();
    at_ += word.size();
  }

  void check_value(int level) {
    switch (*at_) {
      case '{':
        return check_items(level, '}', true);
      case '[':
        return check_items(level, ']', false);
      case '"':
        return check_text();
      case 't':
        return expect("true");
      case 'f':
        return expect("false");
      case 'n':
        return expect("null");
      default:
        if (!skip_number(at_)) fail();
    }
  }

  void check_items(int level, char close, bool named) {
    if (level > kMaxDepth) throw BadBatch("nested too deeply");
    ++at_;
    skip_space();
    if (*at_ == close) return void(++at_);
    for (;;) {
      if (named) {
        if (*at_ != '"') fail();
        check_text();
        skip_space();
        expect(":");
        skip_space();
      }
      check_value(level + 1);
      skip_space();
      if (*at_ == close) return void(++at_);
      expect(",");
      skip_space();
    }
  }

  void check_text() {
    for (++at_; *at_ != '"'; ++at_) {
      if (static_cast<unsigned char>(*at_) < ' ') fail();
      if (*at_ == '\\') check_escape();
    }
    ++at_;
  }

  // Leaves the text at the last character of the escape.
  void check_escape() {
    ++at_;
    if (*at_ == 'u') {
      const unsigned unit = read_unit();
      if (unit < 0xD800 || unit > 0xDFFF) return;
      if (unit > 0xDBFF || at_[1] != '\\' || at_[2] != 'u') fail();
      at_ += 2;
      const unsigned low = read_unit();
      if (low < 0xDC00 || low > 0xDFFF) fail();
    } else if (*at_ == '\0' || std::strchr("\"\\/bfnrt", *at_) == nullptr) {
      fail();
    }
  }

  unsigned read_unit() {
    unsigned unit = 0;
    for (int digit = 0; digit < 4; ++digit) {
      const char letter = *++at_;
      if (letter >= '0' && letter <= '9') {
        unit = unit * 16 + (letter - '0');
      } else if ((letter | 0x20) >= 'a' && (letter | 0x20) <= 'f') {
        unit = unit * 16 + ((letter | 0x20) - 'a' + 10);
      } else {
        fail();
      }
    }
    return unit;
  }

  const char* at_;
};

}  // namespace

void require_well_formed(const Body& body) { const Grammar checked(body); }
