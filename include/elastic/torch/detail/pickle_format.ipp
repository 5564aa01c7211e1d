// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/pickle_format.hpp>

#include <elastic/base/error.hpp>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void refuse_state(const std::string& why) {
  throw error(errc::rendezvous_state, "the state of the rendezvous is refused: " + why);
}

ELASTIC_DECL std::string shown(std::string_view text) {
  constexpr std::size_t most = 80;
  return text.size() <= most ? fmt::format("{:?}", text)
                             : fmt::format("{:?}…", text.substr(0, most));
}

ELASTIC_DECL bool is_pickle_text(std::string_view bytes) {
  std::size_t index = 0;
  const auto follows = [&](unsigned low, unsigned high) {
    if (index == bytes.size()) return false;
    const auto byte = static_cast<unsigned char>(bytes[index++]);
    return byte >= low && byte <= high;
  };
  while (index < bytes.size()) {
    const auto first = static_cast<unsigned char>(bytes[index++]);
    if (first < 0x80) continue;
    if (first < 0xc2 || first > 0xf4) return false;
    // The second byte reveals overlong encodings, and values over U+10FFFF.
    const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    if (!follows(low, first == 0xf4 ? 0x8f : 0xbf)) return false;
    if (first >= 0xe0 && !follows(0x80, 0xbf)) return false;
    if (first >= 0xf0 && !follows(0x80, 0xbf)) return false;
  }
  return true;
}

}  // namespace elastic::detail
