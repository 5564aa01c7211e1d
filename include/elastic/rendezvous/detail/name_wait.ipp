// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/name_wait.hpp>

#include <elastic/base/error.hpp>
#include <elastic/net/local_address.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL task<void> wait_for_name(
    std::string host, duration patience, rendezvous_parameters parameters,
    std::function<task<std::vector<asio::ip::address>>(std::string)> look_up) {
  // A server at "localhost" needs no resolver.
  if (is_loopback(host)) co_return;
  constexpr std::chrono::seconds longest_pause(2);
  time_source& time = *parameters.time;
  const time_point deadline = time.now() + patience;
  const double seconds = std::chrono::duration<double>(patience).count();
  duration pause = std::chrono::milliseconds(100);
  for (bool is_first = true;; is_first = false) {
    task<std::vector<asio::ip::address>> looking_up = look_up(host);
    const std::optional<std::vector<asio::ip::address>> addresses =
        co_await with_deadline(time, deadline, std::move(looking_up));
    if (addresses && !addresses->empty()) co_return;
    if (time.now() >= deadline) break;
    if (is_first) {
      parameters.log.warning("waiting up to {:g} s for the name '{}' of {}, which does not resolve",
                             seconds, host, parameters.name_of("endpoint"));
    }
    const time_point next_try = std::min(deadline, time.now() + pause);
    co_await time.sleep_until(next_try);
    pause = std::min<duration>(pause * 2, longest_pause);
  }
  throw error(errc::rendezvous_timeout,
              fmt::format("the name '{}' of {} did not resolve within {:g} s", host,
                          parameters.name_of("endpoint"), seconds));
}

ELASTIC_DECL task<void> wait_for_name(std::string host, duration patience,
                                      rendezvous_parameters parameters) {
  return wait_for_name(std::move(host), patience, std::move(parameters), resolve_addresses);
}

}  // namespace elastic::detail
