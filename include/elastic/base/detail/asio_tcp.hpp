// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/asio_core.hpp>

#if defined(ELASTIC_USE_BOOST_ASIO)
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#else
#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#endif
