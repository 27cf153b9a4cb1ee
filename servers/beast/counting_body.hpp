#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional/optional.hpp>
#include <cstddef>
#include <cstdint>

/// A Beast body whose value is the number of bytes that were read. The bytes themselves stay
/// in the connection's buffer and are overwritten by the next read: no second copy, no allocation.
struct counting_body {
  struct value_type {
    std::uint64_t bytes = 0;  // Beast calls init() only for a request that has a body
  };

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>&, value_type& body) : body_{body} {}

    void init(const boost::optional<std::uint64_t>&, boost::beast::error_code& error) { error = {}; }

    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::beast::error_code& error) {
      error = {};
      const std::size_t size = boost::asio::buffer_size(buffers);
      body_.bytes += size;
      return size;
    }

    void finish(boost::beast::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};
