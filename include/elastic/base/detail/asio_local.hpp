// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/asio_core.hpp>

#if defined(ELASTIC_USE_BOOST_ASIO)
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#else
#include <asio/generic/stream_protocol.hpp>
#include <asio/local/stream_protocol.hpp>
#endif
