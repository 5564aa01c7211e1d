// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/message_frame.hpp>

#include <elastic/base/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void append_frame(std::string& out, std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  for (int shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<char>((size >> shift) & 0xff));
  }
  out.append(message);
}

ELASTIC_DECL void frame_reader::append(std::string_view bytes) {
  if (taken_ > 0) bytes_.erase(0, std::exchange(taken_, 0));
  bytes_.append(bytes);
}

/// A peer of another protocol mostly begins with a word, which would be an absurd size.
inline error oversize_error(std::string_view head, std::size_t size, std::size_t bound) {
  const bool is_word =
      std::all_of(head.begin(), head.end(), [](char each) { return each > ' ' && each <= '~'; });
  const std::string what =
      is_word ? fmt::format("the peer speaks another protocol: its message begins with '{}'", head)
              : fmt::format("a message of {} bytes was announced; up to {} are taken", size, bound);
  return error(errc::protocol_violation, what);
}

ELASTIC_DECL std::optional<std::string_view> frame_reader::next() {
  const std::string_view rest = std::string_view(bytes_).substr(taken_);
  if (rest.empty()) release();
  if (rest.size() < header) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = header; i-- > 0;) {
    size = size << 8 | static_cast<unsigned char>(rest[i]);
  }
  if (size > bound_) throw oversize_error(rest.substr(0, header), size, bound_);
  if (rest.size() < header + size) return std::nullopt;
  taken_ += header + size;
  return rest.substr(header, size);
}

// Does not keep the memory of a long message.
ELASTIC_DECL void frame_reader::release() {
  constexpr std::size_t bytes_kept = 1024;
  taken_ = 0;
  bytes_.clear();
  if (bytes_.capacity() > bytes_kept) bytes_.shrink_to_fit();
}

}  // namespace elastic::detail
