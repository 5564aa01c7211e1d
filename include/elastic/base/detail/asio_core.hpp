// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Which Asio is under the library: the standalone one, or Boost's with ELASTIC_USE_BOOST_ASIO. Only
// <elastic/base/asio.hpp> and the headers base/detail/asio_*.hpp include parts of it; all others
// include these, and say `asio::` for either.

#include <elastic/base/config.hpp>

// Before Asio: if no header of the standard library came first, Asio takes its memory from another
// place, and must do so in all translation units or in none.
#include <cstddef>

#if defined(ELASTIC_USE_BOOST_ASIO)
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/this_coro.hpp>
#else
#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/awaitable.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/error.hpp>
#include <asio/execution_context.hpp>
#include <asio/this_coro.hpp>
#endif

#include <elastic/base/detail/asio_agreement.hpp>

#if defined(ELASTIC_USE_BOOST_ASIO) && !defined(BOOST_ASIO_HAS_CO_AWAIT)
#error "elastic needs Asio's coroutines: for clang define BOOST_ASIO_HAS_CO_AWAIT=1"
#elif !defined(ELASTIC_USE_BOOST_ASIO) && !defined(ASIO_HAS_CO_AWAIT)
#error "elastic needs Asio's coroutines: compile as C++20; for clang define ASIO_HAS_CO_AWAIT=1"
#endif

// For what has to be specialized there.
#if defined(ELASTIC_USE_BOOST_ASIO)
#define ELASTIC_ASIO_NAMESPACE boost::asio
#else
#define ELASTIC_ASIO_NAMESPACE asio
#endif

namespace elastic {

namespace asio = ::ELASTIC_ASIO_NAMESPACE;

namespace detail {

// What operations of Asio report and throw: with Boost these are not the types of `std`.
#if defined(ELASTIC_USE_BOOST_ASIO)
using asio_error_code = boost::system::error_code;
using asio_system_error = boost::system::system_error;
#else
using asio_error_code = asio::error_code;
using asio_system_error = asio::system_error;
#endif

}  // namespace detail

}  // namespace elastic
