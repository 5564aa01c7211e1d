// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The one place that knows which Asio is under us. Everything else includes this header and
// writes `asio::`, so that a change in a newer Asio is answered here and nowhere else.

// Before Asio: where no header of the standard library came first, it takes its memory from another
// place, and must do so in all translation units or in none.
#include <cstddef>

#include <asio/version.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
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

// Asio moved these two out of `experimental` after 1.22.
#if __has_include(<asio/as_tuple.hpp>)
#include <asio/as_tuple.hpp>
#else
#include <asio/experimental/as_tuple.hpp>
#endif
#if __has_include(<asio/deferred.hpp>)
#include <asio/deferred.hpp>
#else
#include <asio/experimental/deferred.hpp>
#endif

#if !defined(ASIO_HAS_CO_AWAIT)
#error "elastic needs Asio's coroutines: compile as C++20 and define ASIO_HAS_CO_AWAIT=1 for clang"
#endif

namespace elastic::detail {

// How an operation is awaited when its error is an expected outcome: the result is a tuple that
// starts with the error code, and nothing is thrown.
#if __has_include(<asio/as_tuple.hpp>)
inline constexpr asio::as_tuple_t<asio::use_awaitable_t<>> as_result{asio::use_awaitable};
using asio::deferred;
#else
inline constexpr asio::experimental::as_tuple_t<asio::use_awaitable_t<>> as_result{
    asio::use_awaitable};
using asio::experimental::deferred;
#endif

}  // namespace elastic::detail
