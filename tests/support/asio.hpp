// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The Asio that the library uses, with the parts that only tests need.

#include <elastic/base/asio.hpp>

#if defined(ELASTIC_USE_BOOST_ASIO)
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

// The name that tests use outside of namespace elastic.
namespace asio = boost::asio;
#else
#include <asio/bind_allocator.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_future.hpp>
#endif

// Asio moved this out of `experimental` after 1.22.
#if defined(ELASTIC_USE_BOOST_ASIO)
#include <boost/asio/deferred.hpp>
#elif __has_include(<asio/deferred.hpp>)
#include <asio/deferred.hpp>
#else
#include <asio/experimental/deferred.hpp>
#endif

namespace elastic::test {

#if defined(ELASTIC_USE_BOOST_ASIO) || __has_include(<asio/deferred.hpp>)
using asio::deferred;
#else
using asio::experimental::deferred;
#endif

}  // namespace elastic::test
