// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// What this library uses of Asio, whichever is under it: see base/detail/asio_core.hpp.
// Opt-in: a header that declares tasks needs base/task.hpp alone; code that runs them includes this
// or the headers of Asio that it uses.

#include <elastic/base/task.hpp>

#if defined(ELASTIC_USE_BOOST_ASIO)
#include <boost/asio/version.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <boost/asio/as_tuple.hpp>
#else
#include <asio/version.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/connect.hpp>
#include <asio/detached.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/experimental/parallel_group.hpp>

// Asio moved this out of `experimental` after 1.22.
#if __has_include(<asio/as_tuple.hpp>)
#include <asio/as_tuple.hpp>
#else
#include <asio/experimental/as_tuple.hpp>
#endif
#endif

namespace elastic::detail {

// How an operation is awaited when its error is an expected outcome: the result is a tuple that
// starts with the error code, and nothing is thrown.
#if defined(ELASTIC_USE_BOOST_ASIO) || __has_include(<asio/as_tuple.hpp>)
inline constexpr asio::as_tuple_t<asio::use_awaitable_t<>> as_result{asio::use_awaitable};
#else
inline constexpr asio::experimental::as_tuple_t<asio::use_awaitable_t<>> as_result{
    asio::use_awaitable};
#endif

}  // namespace elastic::detail
