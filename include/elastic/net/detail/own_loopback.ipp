// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/own_loopback.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/net/local_address.hpp>

namespace elastic::detail {

ELASTIC_DECL std::string
choose_own_loopback(const std::string& like,
                    const std::function<bool(const asio::ip::address&)>& is_own) {
  const asio::ip::address v4 = asio::ip::address_v4::loopback();
  const asio::ip::address v6 = asio::ip::address_v6::loopback();
  asio_error_code is_name;
  const asio::ip::address given = asio::ip::make_address(like, is_name);
  const bool is_like_v6 = !is_name && plain_address(given).is_v6();
  const bool takes_v6 = (is_like_v6 || !is_own(v4)) && is_own(v6);
  return (takes_v6 ? v6 : v4).to_string();
}

ELASTIC_DECL std::string own_loopback(const asio::any_io_executor& executor,
                                      const std::string& like) {
  return choose_own_loopback(like, [&executor](const asio::ip::address& address) {
    return is_local_address(executor, address);
  });
}

}  // namespace elastic::detail
