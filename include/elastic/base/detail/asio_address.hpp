// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/asio_core.hpp>

#if defined(ELASTIC_USE_BOOST_ASIO)
#include <boost/asio/ip/address.hpp>
#else
#include <asio/ip/address.hpp>
#endif
