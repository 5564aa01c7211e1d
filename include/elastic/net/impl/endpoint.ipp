// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/endpoint.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL std::string to_text(const endpoint& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", address.host, address.port)
               : fmt::format("{}:{}", address.host, address.port);
}

namespace detail {

ELASTIC_DECL std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char letter) { return letter == ' ' || (letter >= 9 && letter <= 13); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// The longest name that the DNS allows.
inline constexpr std::size_t longest_host = 253;

[[noreturn]] inline void refuse_endpoint(std::string_view whole, std::string_view why) {
  throw error(errc::invalid_argument,
              fmt::format("endpoint '{:.300}'{}", printable_line(whole), why));
}

inline std::uint16_t parse_port(std::string_view digits, std::string_view whole) {
  constexpr std::size_t most_digits = 5;
  std::uint32_t port = 0;
  bool valid = !digits.empty() && digits.size() <= most_digits;
  for (const char digit : digits) {
    valid = valid && digit >= '0' && digit <= '9';
    if (valid) port = port * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  if (!valid || port > 65535) {
    refuse_endpoint(whole, ": the port must be a number from 0 to 65535");
  }
  return static_cast<std::uint16_t>(port);
}

inline void check_host(std::string_view host, std::string_view whole) {
  if (host.empty()) refuse_endpoint(whole, " has no host: write host[:port]");
  if (host.size() > longest_host) {
    refuse_endpoint(whole, fmt::format(": a host has at most {} letters", longest_host));
  }
  const auto is_allowed = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '.' || letter == ':' ||
           letter == '-';
  };
  if (!std::all_of(host.begin(), host.end(), is_allowed)) {
    refuse_endpoint(whole,
                    ": a host consists of letters, digits and the signs ._-: (an IPv6 address "
                    "with a port is written [address]:port)");
  }
  if (host.find(':') == std::string_view::npos) return;
  asio_error_code failure;
  asio::ip::make_address_v6(std::string(host), failure);
  if (failure) {
    refuse_endpoint(whole,
                    ": only an IPv6 address has more than one colon, and is written [address] or "
                    "[address]:port");
  }
}

}  // namespace detail

ELASTIC_DECL endpoint parse_endpoint(std::string_view text, std::uint16_t default_port) {
  const std::string_view whole = detail::trimmed(text);
  if (whole.empty()) return endpoint{"localhost", default_port};

  std::string_view host = whole;
  std::uint16_t port = default_port;
  const bool only_brackets = whole.front() == '[' && whole.back() == ']';
  const std::size_t colon = only_brackets ? std::string_view::npos : whole.rfind(':');
  if (colon != std::string_view::npos) {
    host = whole.substr(0, colon);
    port = detail::parse_port(whole.substr(colon + 1), whole);
  }
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  detail::check_host(host, whole);
  return endpoint{std::string(host), port};
}

namespace detail {

inline std::vector<asio::ip::address> look_up_name(const std::string& host) {
  std::vector<asio::ip::address> addresses;
  asio::io_context context;
  asio_error_code failure;
  const auto entries = asio::ip::tcp::resolver(context).resolve(host, "", failure);
  if (failure) return addresses;
  for (const auto& entry : entries) addresses.push_back(entry.endpoint().address());
  return addresses;
}

ELASTIC_DECL task<std::vector<asio::ip::address>> resolve_addresses(std::string host) {
  asio_error_code not_an_address;
  const auto literal = asio::ip::make_address(host, not_an_address);
  if (!not_an_address) co_return std::vector<asio::ip::address>(1, literal);
  // Does not use Asio's resolver: its wait cannot be cancelled before a name server has answered.
  std::function<std::vector<asio::ip::address>()> look_up = [host] { return look_up_name(host); };
  co_return co_await run_blocking(std::move(look_up));
}

}  // namespace detail

}  // namespace elastic
