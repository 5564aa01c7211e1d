// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/debugger/debugger_launcher.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/net/detail/local_interface.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/net/local_address.hpp>
#include <program/listening_port.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elasticrun {

using elastic::errc;
using elastic::error;

namespace {

/// The value of a variable such as RANK; -1 if it is not set.
int number_in(const elastic::process_spec& spec, std::string_view name) {
  int number = -1;
  for (const std::string& entry : spec.environment) {
    if (!entry.starts_with(name) || entry.size() <= name.size() || entry[name.size()] != '=') {
      continue;
    }
    std::from_chars(entry.data() + name.size() + 1, entry.data() + entry.size(), number);
  }
  return number;
}

std::string address_of(const elastic::program_config::debugger_plan& plan) {
  try {
    return elastic::detail::local_address_named(plan.host);
  } catch (const error& refusal) {
    throw error(errc::invalid_argument, fmt::format("--debug-address: {}", refusal.what()));
  }
}

bool is_wildcard(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

/// Checks that the address belongs to this host, because debugpy cannot listen at any other.
/// Errors: `errc::invalid_argument`, with the addresses of this host.
elastic::task<void> check_own_address(std::string host) {
  if (is_wildcard(host)) co_return;
  const elastic::asio::any_io_executor executor = co_await elastic::asio::this_coro::executor;
  elastic::task<std::vector<elastic::asio::ip::address>> resolving =
      elastic::detail::resolve_addresses(host);
  const std::vector<elastic::asio::ip::address> found = co_await std::move(resolving);
  const bool is_own = std::any_of(found.begin(), found.end(), [&executor](const auto& address) {
    return elastic::is_local_address(executor, address);
  });
  if (is_own) co_return;
  std::string own = "127.0.0.1";
  for (const auto& address : elastic::own_addresses()) own += ", " + address.to_string();
  throw error(errc::invalid_argument,
              fmt::format("--debug-address: this host does not have the address {}; it has {}",
                          elastic::in_quotes(host), own));
}

/// A line for the user: where the worker waits for a debugger, and how to attach one.
std::string invitation(int rank, const elastic::endpoint& place) {
  const std::string node = elastic::host_name();
  const std::string host = is_wildcard(place.host) ? node : place.host;
  std::string text = fmt::format(
      "rank {} waits for a debugger at {}: in VS Code, start \"Python Debugger: Remote Attach\" "
      "with host {} and port {}",
      rank, to_text(elastic::endpoint(host, place.port)), host, place.port);
  if (!elastic::is_loopback(host)) return text;
  return text + fmt::format("; from another host, run first: ssh -L {0}:localhost:{0} {1}",
                            place.port, node);
}

}  // namespace

debugger_launcher::debugger_launcher(elastic::program_config::debugger_plan plan,
                                     std::shared_ptr<elastic::process_launcher> inner,
                                     elastic::logger log)
    : plan_(std::move(plan)), inner_(std::move(inner)), log_(std::move(log)) {}

elastic::task<elastic::endpoint> debugger_launcher::choose_place() {
  elastic::endpoint place(address_of(plan_), plan_.port);
  elastic::task<void> checking = check_own_address(place.host);
  co_await std::move(checking);
  if (place.port == 0) {
    port_ = elastic::detail::lease_port();
    place.port = port_.port();
  } else if (is_listened_at(place.port)) {
    throw error(errc::address_in_use,
                fmt::format("--debug-address: port {} of {} is in use; leave the port out to get a "
                            "free one",
                            place.port, elastic::host_name()));
  }
  co_return place;
}

elastic::task<std::unique_ptr<elastic::child>> debugger_launcher::launch(
    elastic::process_spec spec) {
  const int world_size = number_in(spec, "WORLD_SIZE");
  if (*plan_.rank >= world_size) {
    throw error(errc::invalid_argument,
                fmt::format("--debug-rank {}: there is no such rank: the last one of the job is {}",
                            *plan_.rank, world_size - 1));
  }
  const bool is_debugged = number_in(spec, "RANK") == *plan_.rank;
  elastic::endpoint place;
  if (is_debugged) {
    elastic::task<elastic::endpoint> choosing = choose_place();
    place = co_await std::move(choosing);
    insert_debugpy(spec, to_text(place));
  }
  elastic::task<std::unique_ptr<elastic::child>> starting = inner_->launch(std::move(spec));
  std::unique_ptr<elastic::child> started = co_await std::move(starting);
  if (is_debugged) log_.warning("{}", invitation(*plan_.rank, place));
  co_return started;
}

void insert_debugpy(elastic::process_spec& spec, const std::string& address) {
  // With frozen modules, Python 3.11 and newer warns that breakpoints may be missed.
  const std::vector<std::string> words = {"-Xfrozen_modules=off", "-m",    "debugpy", "--listen",
                                          address,                "--wait-for-client"};
  std::vector<std::string>& arguments = spec.arguments;
  const bool has_flag = !arguments.empty() && arguments.front() == "-u";
  arguments.insert(arguments.begin() + (has_flag ? 1 : 0), words.begin(), words.end());
}

}  // namespace elasticrun
