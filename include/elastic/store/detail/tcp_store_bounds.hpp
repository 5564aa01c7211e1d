// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/limits.hpp>

#include <cstddef>

namespace elastic::detail {

/// What a TCPStore server accepts from a client. Beyond that it disconnects the client.
struct tcp_store_bounds {
  std::size_t key_bytes = limits::store_key_bytes;
  std::size_t value_bytes = limits::store_value_bytes;
  /// Keys, or pairs of key and value, in one request.
  std::size_t keys_per_request = limits::store_keys_per_request;
  /// One request with all of its keys and values.
  std::size_t request_bytes = limits::store_request_bytes;
  /// Everything that the server holds for all clients together, besides the table. Above this, it
  /// disconnects the clients for which it holds most.
  std::size_t clients_bytes = limits::store_clients_bytes;
};

}  // namespace elastic::detail
