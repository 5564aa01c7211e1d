// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/unserved_store.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/joined_text.hpp>
#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/process/detail/port_use.hpp>
#include <elastic/process/detail/proc_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::vector<std::string> store_addresses_in(std::string_view text) {
  constexpr std::string_view scheme = "tcp://";
  constexpr std::size_t most = 8;
  const auto is_of_address = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '.' || letter == '-' || letter == '_' ||
           letter == ':' || letter == '[' || letter == ']';
  };
  std::vector<std::string> addresses;
  for (std::size_t at = text.find(scheme); at != text.npos; at = text.find(scheme, at)) {
    at += scheme.size();
    const std::string_view rest = text.substr(at);
    const auto end = std::find_if_not(rest.begin(), rest.end(), is_of_address);
    const std::string address(rest.begin(), end);
    const std::size_t port = address.rfind(':') + 1;
    // A following bracket or sign may begin a placeholder, so that the address is incomplete.
    const bool is_whole = end == rest.end() || (*end != '{' && *end != '%' && *end != '$');
    const bool has_port = port > 1 && port < address.size() &&
                          std::all_of(address.begin() + static_cast<std::ptrdiff_t>(port),
                                      address.end(), [](char letter) {
                                        return letter >= '0' && letter <= '9';
                                      });
    const bool is_known =
        std::find(addresses.begin(), addresses.end(), address) != addresses.end();
    if (is_whole && has_port && !is_known && addresses.size() < most) addresses.push_back(address);
  }
  return addresses;
}

inline bool is_of_this_host(const std::string& host) {
  if (is_loopback(host)) return true;
  asio_error_code failure;
  const asio::ip::address address = asio::ip::make_address(host, failure);
  const std::vector<asio::ip::address> own = own_addresses();
  return !failure && std::find(own.begin(), own.end(), address) != own.end();
}

/// The port of an address that belongs to this host.
inline std::optional<std::uint16_t> port_of_this_host(const std::string& address) {
  try {
    const endpoint place = parse_endpoint(address, 0);
    return is_of_this_host(place.host) ? std::optional(place.port) : std::nullopt;
  } catch (const error&) {
    return std::nullopt;
  }
}

/// The path of the script in a command line of Python; empty if there is none.
inline std::string script_in(const std::vector<std::string>& command) {
  const auto is_script = [](const std::string& word) { return word.ends_with(".py"); };
  const auto script = std::find_if(command.begin(), command.end(), is_script);
  return script == command.end() ? std::string() : *script;
}

inline std::vector<std::string> command_of(pid_t pid) {
  const std::string text =
      read_proc_file(fmt::format("/proc/{}/cmdline", pid), limits::cgroup_file_bytes);
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size(); at += words.back().size() + 1) {
    words.emplace_back(text.c_str() + at);
  }
  return words;
}

/// The text of a script that creates a process group; empty for any other file.
inline std::string script_text(pid_t pid, const std::string& script) {
  const std::filesystem::path path =
      std::filesystem::path(fmt::format("/proc/{}/cwd", pid)) / script;
  std::error_code failure;
  if (may_hang(path) || !std::filesystem::is_regular_file(path, failure)) return {};
  constexpr std::size_t most_bytes = 1024 * 1024;
  std::string text = read_proc_file(path, most_bytes);
  return text.find("init_process_group") == text.npos ? std::string() : text;
}

inline bool is_asleep(pid_t pid) {
  const std::string path = fmt::format("/proc/{}/wchan", pid);
  return read_proc_file(path, limits::proc_file_bytes) == "hrtimer_nanosleep";
}

inline sought_stores stores_of(pid_t pid) {
  sought_stores found;
  const std::vector<std::string> command = command_of(pid);
  const std::string script = script_in(command);
  found.script = script.substr(script.rfind('/') + 1);
  found.silent = silent_peers(pid, limits::watched_files);
  if (found.silent.size() == 1) {
    const std::optional<std::uint16_t> port = port_of_this_host(found.silent.front());
    if (port) found.listener = listener_at(pid, *port);
  }
  if (!is_asleep(pid)) return found;
  std::string text = script.empty() ? std::string() : script_text(pid, script);
  for (const std::string& word : command) text += '\n' + word;
  const std::vector<std::string> addresses = store_addresses_in(text);
  for (const std::string& address : addresses) {
    const std::optional<std::uint16_t> port = port_of_this_host(address);
    if (port && !is_listened_at(pid, *port)) found.unserved.push_back(address);
  }
  found.names_other = addresses.empty() && text.find("tcp://") != text.npos;
  return found;
}

ELASTIC_DECL task<sought_stores> look_for_stores(pid_t pid) {
  const std::function<sought_stores()> look = [pid] { return stores_of(pid); };
  return run_blocking<sought_stores>(look);
}

ELASTIC_DECL std::string to_text(const sought_stores& stores) {
  if (!stores.silent.empty()) {
    std::string text = fmt::format("; {} tries to connect to {} and gets no answer",
                                   stores.script.empty() ? "it" : printable_line(stores.script),
                                   joined_text(std::span<const std::string>(stores.silent), ", "));
    if (stores.listener.empty()) return text;
    return text + fmt::format(", though {} listens there", printable_line(stores.listener));
  }
  if (stores.unserved.empty() && !stores.names_other) return {};
  const std::string store =
      stores.unserved.empty()
          ? "a store tcp://…"
          : fmt::format("the store tcp://{}, and nobody listens there", stores.unserved.front());
  return fmt::format("; {} names {}: up to PyTorch 2.13, nobody serves a script's own store under "
                     "an agent; init_process_group without init_method uses that of the workers",
                     stores.script.empty() ? "it" : printable_line(stores.script), store);
}

}  // namespace elastic::detail
