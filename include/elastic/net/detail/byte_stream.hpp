// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <string>

namespace elastic::detail {

/// A connection that carries bytes in both directions.
///
/// Errors of every member that waits: `errc::connection_failed`, also after `close`.
/// Cancellation of every member that waits: all types; the connection is unusable then.
/// Thread-safety: one strand at a time; one read and one write at a time.
class byte_stream {
 public:
  virtual ~byte_stream() = default;

  /// Waits until bytes have arrived. Result: how many; 0 after the last byte of the other side.
  virtual task<std::size_t> read_some(asio::mutable_buffer buffer) = 0;

  /// Sends all of the bytes.
  virtual task<void> write(std::string bytes) = 0;

  /// Ends the connection at once; pending operations end with an error.
  virtual void close() = 0;
};

}  // namespace elastic::detail
