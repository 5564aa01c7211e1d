// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/status_address.hpp>

#include <elastic/base/detail/asio_address.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>

#include <charconv>
#include <cstdint>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

namespace detail {

[[noreturn]] inline void refuse_status_address(std::string_view text) {
  throw error(errc::invalid_argument,
              fmt::format("'{}': [ADDRESS:]PORT with an IP address of this host and a port from 0 "
                          "to 65535, or unix:PATH is needed",
                          printable_text(text.substr(0, 200))));
}

}  // namespace detail

ELASTIC_DECL bool status_address::is_local() const {
  if (is_unix()) return true;
  detail::asio_error_code failure;
  const asio::ip::address address = asio::ip::make_address(tcp.host, failure);
  return !failure && address.is_loopback();
}

ELASTIC_DECL status_address parse_status_address(std::string_view text) {
  constexpr std::string_view unix_prefix = "unix:";
  status_address address;
  if (text.starts_with(unix_prefix)) {
    address.path = text.substr(unix_prefix.size());
    if (address.path.empty() || address.path.find('\0') != std::string::npos) {
      detail::refuse_status_address(text);
    }
    return address;
  }
  const std::size_t colon = text.rfind(':');
  const std::string_view digits = colon == text.npos ? text : text.substr(colon + 1);
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, address.tcp.port);
  if (failure != std::errc() || stop != end) detail::refuse_status_address(text);
  if (colon == text.npos) return address;
  std::string_view host = text.substr(0, colon);
  const bool has_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (has_brackets) host = host.substr(1, host.size() - 2);
  if (host == "localhost") return address;
  detail::asio_error_code problem;
  const auto parsed = asio::ip::make_address(std::string(host), problem);
  if (problem || parsed.is_v6() != has_brackets) detail::refuse_status_address(text);
  address.tcp.host = parsed.to_string();
  return address;
}

ELASTIC_DECL std::string to_text(const status_address& address) {
  return address.is_unix() ? "unix:" + address.path : to_text(address.tcp);
}

}  // namespace elastic
