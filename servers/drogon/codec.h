// What a JSON library does here: each has one file, codec_<library>.cc.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "batch.h"

// A request body that the codec may read past and write to: the libraries' fastest roads require readable bytes behind
// the text, a terminating zero, or leave to unescape strings in place. HTTP buffers promise none of it; one copy per
// request, into memory that the thread already has in its cache, buys all three.
class Body {
 public:
  static constexpr size_t kPadding = 64;  // the most that any of them requires (simdjson)

  explicit Body(std::string_view text) : size_(text.size()) {
    if (buffer.size() < text.size() + kPadding) buffer.resize(text.size() + kPadding);
    std::memcpy(buffer.data(), text.data(), text.size());
    std::memset(buffer.data() + text.size(), 0, kPadding);
  }

  char* data() const { return buffer.data(); }
  size_t size() const { return size_; }
  size_t capacity() const { return size_ + kPadding; }
  std::string_view text() const { return {buffer.data(), size_}; }

 private:
  static inline thread_local std::vector<char> buffer;
  size_t size_;
};

struct Codec {
  // Fills the empty batch. Its text borrows from the body and from buffers of this thread: it is valid until the
  // thread decodes again. Throws BadBatch.
  void (*decode)(const Body& body, Batch& batch);
  std::string (*encode_receipt)(const Receipt& receipt);
  std::string (*encode_batch)(const Batch& batch);
};

extern const Codec simdjson_codec;
extern const Codec reflection_codec;
extern const Codec glaze_codec;
extern const Codec yyjson_codec;
extern const Codec jsoncpp_codec;
