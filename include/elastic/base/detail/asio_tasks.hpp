// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// What definitions need that run tasks, wait for time and watch descriptors, but open no socket:
// the rest of <elastic/base/asio.hpp> takes as long to read.

#include <elastic/base/detail/asio_core.hpp>

#if defined(ELASTIC_USE_BOOST_ASIO)
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#else
#include <asio/bind_cancellation_slot.hpp>
#include <asio/co_spawn.hpp>
#include <asio/dispatch.hpp>
#include <asio/io_context.hpp>
#include <asio/multiple_exceptions.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>

// Asio moved this out of `experimental` after 1.22.
#if __has_include(<asio/as_tuple.hpp>)
#include <asio/as_tuple.hpp>
#else
#include <asio/experimental/as_tuple.hpp>
#endif
#endif

namespace elastic::detail {

#if defined(ELASTIC_USE_BOOST_ASIO) || __has_include(<asio/as_tuple.hpp>)
inline constexpr asio::as_tuple_t<asio::use_awaitable_t<>> as_result{asio::use_awaitable};
#else
inline constexpr asio::experimental::as_tuple_t<asio::use_awaitable_t<>> as_result{
    asio::use_awaitable};
#endif

}  // namespace elastic::detail
