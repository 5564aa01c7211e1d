// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/link_offer.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/rendezvous/node_id.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string to_text(const link_offer& offer) {
  return fmt::format("{} {}", offer.password, elastic::to_text(offer.at));
}

ELASTIC_DECL link_offer parse_link_offer(std::string_view text) {
  constexpr std::size_t letters = link_offer::password_letters;
  constexpr std::size_t most_bytes = limits::host_name_bytes + std::size_t{8};
  const auto is_digit = [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
  };
  const std::string_view place = text.substr(std::min(text.size(), letters + 1));
  const bool has_password = text.size() > letters && text[letters] == ' ' &&
                            std::all_of(text.begin(), text.begin() + letters, is_digit);
  if (has_password && !place.empty() && place.size() <= most_bytes) {
    try {
      link_offer offer{parse_endpoint(place, 0), std::string(text.substr(0, letters))};
      if (offer.at.port != 0 && !offer.at.host.empty()) return offer;
    } catch (const error&) {
      // Said below.
    }
  }
  // What is not understood may have the password in it.
  const std::string content = has_password ? fmt::format("'{:.100}'", place) : "no address";
  throw error(errc::protocol_violation,
              fmt::format("the node of rank 0 told {} as where the agents connect", content));
}

ELASTIC_DECL std::string new_link_password() {
  const node_number number = new_node_number();
  return fmt::format("{:016x}{:016x}", number.high, number.low);
}

}  // namespace elastic::detail
