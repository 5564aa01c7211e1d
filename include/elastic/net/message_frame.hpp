// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// Appends a message as it goes over a stream: its length, 4 bytes with the least first, and its
/// bytes.
inline void append_frame(std::string& out, std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  for (int shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<char>((size >> shift) & 0xff));
  }
  out.append(message);
}

/// Takes messages out of a stream that comes in pieces.
class frame_reader {
 public:
  /// @param bound  the most bytes of a message
  explicit frame_reader(std::size_t bound) : bound_(bound) {}

  void append(std::string_view bytes) {
    if (taken_ > 0) bytes_.erase(0, std::exchange(taken_, 0));
    bytes_.append(bytes);
  }

  /// The next whole message, which stays valid until the next call of `append`.
  /// Errors: `errc::protocol_violation` where it is longer than the bound.
  std::optional<std::string_view> next() {
    const std::string_view rest = std::string_view(bytes_).substr(taken_);
    if (rest.size() < header) return std::nullopt;
    std::size_t size = 0;
    for (std::size_t i = header; i-- > 0;) {
      size = size << 8 | static_cast<unsigned char>(rest[i]);
    }
    if (size > bound_) {
      throw error(errc::protocol_violation,
                  fmt::format("a message of {} bytes was announced; up to {} are taken", size,
                              bound_));
    }
    if (rest.size() < header + size) return std::nullopt;
    taken_ += header + size;
    return rest.substr(header, size);
  }

 private:
  static constexpr std::size_t header = 4;

  std::size_t bound_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

}  // namespace elastic
