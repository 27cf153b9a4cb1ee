#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

// The concrete executor instead of any_io_executor: no type erasure on every operation.
using Executor = boost::asio::io_context::executor_type;
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
using Endpoint = boost::asio::ip::tcp::endpoint;
using Task = boost::asio::awaitable<void, Executor>;

/// Relays between `client` and a new connection to `backend` until both have ended, or one has failed. Without a
/// backend the client's connection is closed at once.
Task relay(Socket client, Endpoint backend);
