// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/local_interface.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/asio_network.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

/// None for what is not an address of the internet, or is valid on one link.
inline std::optional<asio::ip::address> address_of_interface(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    const auto* internet = reinterpret_cast<const sockaddr_in*>(address);
    return asio::ip::address_v4(ntohl(internet->sin_addr.s_addr));
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  asio::ip::address_v6::bytes_type bytes;
  const auto* internet = reinterpret_cast<const sockaddr_in6*>(address);
  std::copy_n(internet->sin6_addr.s6_addr, bytes.size(), bytes.begin());
  const asio::ip::address_v6 found(bytes);
  if (found.is_link_local()) return std::nullopt;
  return found;
}

/// "lo 127.0.0.1, eth0 10.0.0.1, ib0 without an address".
inline std::string text_of(const std::vector<local_interface>& interfaces) {
  std::string text;
  for (const local_interface& each : interfaces) {
    std::string addresses;
    for (const asio::ip::address& address : each.addresses) {
      addresses += ' ' + address.to_string();
    }
    if (addresses.empty()) addresses = " without an address";
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", each.name, addresses,
                        each.is_up ? "" : " (down)");
  }
  return text.empty() ? "no interface" : text;
}

inline std::string address_of(const local_interface& named) {
  if (!named.is_up) {
    throw error(errc::invalid_argument, fmt::format("the interface {} is down", named.name));
  }
  if (named.addresses.empty()) {
    throw error(errc::invalid_argument,
                fmt::format("the interface {} has no address for other hosts", named.name));
  }
  const auto first_v4 =
      std::find_if(named.addresses.begin(), named.addresses.end(),
                   [](const asio::ip::address& address) { return address.is_v4(); });
  return (first_v4 == named.addresses.end() ? named.addresses.front() : *first_v4).to_string();
}

/// A test whether an address is in a network; empty if the text is not a network.
inline std::function<bool(const asio::ip::address&)> network_test(const std::string& text) {
  asio_error_code failure;
  const auto v4 = asio::ip::make_network_v4(text, failure);
  if (!failure) {
    return [v4](const asio::ip::address& address) {
      if (!address.is_v4()) return false;
      const asio::ip::network_v4 around(address.to_v4(), v4.prefix_length());
      return around.canonical() == v4.canonical();
    };
  }
  const auto v6 = asio::ip::make_network_v6(text, failure);
  if (failure) return {};
  return [v6](const asio::ip::address& address) {
    if (!address.is_v6()) return false;
    const asio::ip::network_v6 around(address.to_v6(), v6.prefix_length());
    return around.canonical() == v6.canonical();
  };
}

inline std::string address_in_network(const std::string& text,
                                      const std::vector<local_interface>& interfaces) {
  const auto is_inside = network_test(text);
  if (!is_inside) {
    throw error(
        errc::invalid_argument,
        fmt::format("{} is not a network, such as 10.1.0.0/16 or fd00::/8", in_quotes(text)));
  }
  std::vector<std::string> found;
  for (const local_interface& each : interfaces) {
    for (const asio::ip::address& address : each.addresses) {
      const std::string written = address.to_string();
      const bool is_new = std::find(found.begin(), found.end(), written) == found.end();
      if (each.is_up && is_inside(address) && is_new) found.push_back(written);
    }
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw error(errc::invalid_argument,
                fmt::format("this host has no address in {}; it has {}", text,
                            text_of(interfaces)));
  }
  throw error(errc::invalid_argument,
              fmt::format("this host has several addresses in {}: {}; name one of them, or its "
                          "interface",
                          text, fmt::join(found, ", ")));
}

ELASTIC_DECL std::vector<local_interface> local_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    throw error(errc::file_access,
                fmt::format("the network interfaces cannot be listed: {}", errno_text(errno)));
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(first, ::freeifaddrs);
  std::vector<local_interface> interfaces;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    auto place = std::find_if(interfaces.begin(), interfaces.end(),
                              [&](const auto& each) { return each.name == entry->ifa_name; });
    if (place == interfaces.end()) {
      interfaces.push_back({entry->ifa_name, (entry->ifa_flags & IFF_UP) != 0});
      place = interfaces.end() - 1;
    }
    const auto address = address_of_interface(entry->ifa_addr);
    if (address) place->addresses.push_back(*address);
  }
  return interfaces;
}

ELASTIC_DECL std::string local_address_named(const std::string& text,
                                             const std::vector<local_interface>& interfaces) {
  if (text.find('/') != std::string::npos) return address_in_network(text, interfaces);
  for (const local_interface& each : interfaces) {
    if (each.name == text) return address_of(each);
  }
  return text;
}

ELASTIC_DECL std::string local_address_named(const std::string& text) {
  asio_error_code failure;
  asio::ip::make_address(text, failure);
  if (text.empty() || !failure) return text;
  return local_address_named(text, local_interfaces());
}

}  // namespace elastic::detail
