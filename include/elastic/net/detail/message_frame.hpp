// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// Appends a message in the form in which it is sent over a stream: its length, 4 bytes in
/// little-endian order, and its bytes.
ELASTIC_DECL void append_frame(std::string& out, std::string_view message);

/// Extracts messages from a stream that arrives in pieces.
class frame_reader {
 public:
  /// @param bound  the maximum length of a message in bytes
  explicit frame_reader(std::size_t bound) : bound_(bound) {}

  /// Raises the maximum length of a message to this many bytes; never lowers it.
  void raise_bound(std::size_t bound) { bound_ = std::max(bound_, bound); }

  ELASTIC_DECL void append(std::string_view bytes);

  /// The next complete message, valid until the next call of a non-const member.
  /// Errors: `errc::protocol_violation` if it is longer than the bound.
  ELASTIC_DECL std::optional<std::string_view> next();

  /// Whether a part of a message has arrived.
  bool is_midway() const { return taken_ < bytes_.size(); }

  /// The memory that it uses, in bytes.
  std::size_t held() const { return bytes_.capacity(); }

 private:
  static constexpr std::size_t header = 4;

  ELASTIC_DECL void release();

  std::size_t bound_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/message_frame.ipp>
#endif
