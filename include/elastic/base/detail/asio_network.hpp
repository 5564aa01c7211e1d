// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/asio_core.hpp>

#if defined(ELASTIC_USE_BOOST_ASIO)
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#else
#include <asio/ip/network_v4.hpp>
#include <asio/ip/network_v6.hpp>
#endif
