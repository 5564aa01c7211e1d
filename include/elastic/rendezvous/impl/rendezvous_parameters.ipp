// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_parameters.hpp>

#include <elastic/base/detail/joined_text.hpp>
#include <elastic/base/detail/nearest_name.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline constexpr double most_setting_seconds = 1e8;
inline constexpr int most_setting_number = 1'000'000;
inline constexpr int least_keep_alive_attempts = 2;

// The functions below take the name of a setting in messages.

[[noreturn]] inline void refuse_seconds(const std::string& name, std::string_view value) {
  throw error(errc::invalid_argument,
              fmt::format("{}={}: a number of seconds over 0 and up to {:.0f} is needed", name,
                          value, most_setting_seconds));
}

[[noreturn]] inline void refuse_number(const std::string& name, std::string_view value,
                                       int least) {
  throw error(errc::invalid_argument, fmt::format("{}={}: a whole number from {} to {} is needed",
                                                  name, value, least, most_setting_number));
}

inline duration setting_seconds(const std::string& name, std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || !(value > 0) || value > most_setting_seconds) {
    refuse_seconds(name, text);
  }
  return std::chrono::duration_cast<duration>(std::chrono::duration<double>(value));
}

inline int setting_number(const std::string& name, std::string_view text, int least) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure == std::errc() && stop == end && value >= least && value <= most_setting_number) {
    return value;
  }
  refuse_number(name, text, least);
}

/// A field of `rendezvous_settings`, by its name in `--rdzv-conf`.
struct timing_setting {
  std::string_view name;
  duration rendezvous_settings::*field;
};

inline constexpr timing_setting timing_settings[] = {
    {"join_timeout", &rendezvous_settings::join_timeout},
    {"last_call_timeout", &rendezvous_settings::last_call_timeout},
    {"keep_alive_interval", &rendezvous_settings::keep_alive_interval},
    {"reconnect_grace", &rendezvous_settings::reconnect_grace},
};
inline constexpr std::string_view keep_alive_attempts_setting = "keep_alive_max_attempt";

/// The settings of torchrun that have no effect here: times in seconds, and one that is yes or no.
inline constexpr std::string_view ignored_times[] = {
    "cas_backoff_max_seconds", "close_timeout", "heartbeat_timeout", "read_timeout", "timeout"};
inline constexpr std::string_view ignored_choice = "use_libuv";

/// The names of the fields that differ from their defaults.
inline std::vector<std::string_view> changed_fields(const rendezvous_settings& settings) {
  const rendezvous_settings defaults;
  std::vector<std::string_view> names;
  for (const auto& [name, field] : timing_settings) {
    if (settings.*field != defaults.*field) names.push_back(name);
  }
  if (settings.keep_alive_max_attempt != defaults.keep_alive_max_attempt) {
    names.push_back(keep_alive_attempts_setting);
  }
  return names;
}

inline bool is_field(std::string_view name) {
  const auto is_named = [&](const timing_setting& setting) { return setting.name == name; };
  return name == keep_alive_attempts_setting ||
         std::any_of(std::begin(timing_settings), std::end(timing_settings), is_named);
}

/// The other fields of `rendezvous_parameters` that messages name.
inline constexpr std::string_view named_fields[] = {
    "conf",        "endpoint",  "exclude_for", "local_addr", "max_nodes",     "min_nodes",
    "node_counts", "node_name", "node_rank",   "run_id",     "scale_up_delay"};

}  // namespace detail

ELASTIC_DECL std::string rendezvous_parameters::name_of(std::string_view setting) const {
  if (naming) return naming(setting);
  const auto* const end = std::end(detail::named_fields);
  const bool is_named = std::find(std::begin(detail::named_fields), end, setting) != end;
  if (!is_named && !detail::is_field(setting)) {
    return fmt::format("rendezvous_parameters::conf[\"{}\"]", setting);
  }
  return fmt::format("rendezvous_parameters::{}", setting);
}

ELASTIC_DECL void rendezvous_parameters::set(std::string_view name, std::string_view value) {
  for (const auto& setting : detail::timing_settings) {
    if (setting.name != name) continue;
    this->*setting.field = detail::setting_seconds(name_of(name), value);
    return;
  }
  if (name == detail::keep_alive_attempts_setting) {
    keep_alive_max_attempt =
        detail::setting_number(name_of(name), value, detail::least_keep_alive_attempts);
    return;
  }
  conf.insert_or_assign(std::string(name), std::string(value));
}

ELASTIC_DECL duration rendezvous_parameters::seconds(std::string_view name,
                                                     duration fallback) const {
  const auto position = conf.find(name);
  if (position == conf.end()) return fallback;
  return detail::setting_seconds(name_of(name), position->second);
}

ELASTIC_DECL int rendezvous_parameters::whole_number(std::string_view name, int fallback,
                                                     int least) const {
  const auto position = conf.find(name);
  if (position == conf.end()) return fallback;
  return detail::setting_number(name_of(name), position->second, least);
}

ELASTIC_DECL std::optional<bool> rendezvous_parameters::yes_or_no(std::string_view name) const {
  const auto position = conf.find(name);
  if (position == conf.end()) return std::nullopt;
  std::string value = position->second;
  for (char& letter : value) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  for (const char* yes : {"1", "true", "t", "yes", "y"}) {
    if (value == yes) return true;
  }
  for (const char* no : {"0", "false", "f", "no", "n"}) {
    if (value == no) return false;
  }
  throw error(errc::invalid_argument,
              fmt::format("{}={}: yes or no is needed", name_of(name), position->second));
}

ELASTIC_DECL bool rendezvous_parameters::listens_everywhere() const {
  const auto setting = conf.find("listen");
  if (setting == conf.end() || setting->second == "own") return false;
  if (setting->second == "all") return true;
  throw error(errc::invalid_argument,
              fmt::format("{}={}: own or all is needed", name_of("listen"), setting->second));
}

ELASTIC_DECL void rendezvous_parameters::refuse_choice_of_nodes(std::string_view who) const {
  if (!node_counts.empty()) {
    throw error(
        errc::invalid_argument,
        fmt::format("{} {}: {} takes N or MIN:MAX; c10d, etcd-v3 and file, without nodes of "
                    "torchrun, take several numbers",
                    name_of("node_counts"), node_counts_text(node_counts), who));
  }
  if (scale_up_delay > duration::zero()) {
    throw error(errc::invalid_argument,
                fmt::format("{}: {} ends a round at once for a node that joins; only c10d, "
                            "etcd-v3 and file, without nodes of torchrun, wait",
                            name_of("scale_up_delay"), who));
  }
  if (exclude_for > duration::zero()) {
    throw error(errc::invalid_argument,
                fmt::format("{}: {} remembers no bad node; only c10d, etcd-v3 and file, without "
                            "nodes of torchrun, do",
                            name_of("exclude_for"), who));
  }
}

inline void check_exclusion(const rendezvous_parameters& parameters) {
  if (!parameters.node_name.empty() && !detail::is_node_name(parameters.node_name)) {
    throw error(errc::invalid_argument,
                fmt::format("{} '{}': 1 to {} letters, digits and signs of ASCII are needed",
                            parameters.name_of("node_name"), printable_text(parameters.node_name),
                            limits::node_name_bytes));
  }
  const duration time = parameters.exclude_for;
  if (time >= duration::zero() && time <= limits::exclusion_time) return;
  throw error(errc::invalid_argument,
              fmt::format("{} {}: 0 to {} seconds are allowed",
                          parameters.name_of("exclude_for"),
                          std::chrono::duration<double>(time).count(),
                          std::chrono::seconds(limits::exclusion_time).count()));
}

ELASTIC_DECL void detail::check_nodes(const rendezvous_parameters& parameters) {
  const int least = parameters.min_nodes;
  const int most = parameters.max_nodes;
  if (least < 1 || least > most || most > limits::nodes) {
    throw error(errc::invalid_argument,
                fmt::format("{} is {} and {} is {}: numbers from 1 to {} are needed, the first not "
                            "over the second",
                            parameters.name_of("min_nodes"), least,
                            parameters.name_of("max_nodes"), most, limits::nodes));
  }
  const std::vector<int>& counts = parameters.node_counts;
  if (counts.empty()) return;
  const bool ascends =
      std::adjacent_find(counts.begin(), counts.end(), std::greater_equal<>()) == counts.end();
  if (ascends && counts.size() <= limits::node_counts && counts.front() == least &&
      counts.back() == most) {
    return;
  }
  throw error(errc::invalid_argument,
              fmt::format("{} {}: at most {} ascending numbers are needed, the first {} ({}) and "
                          "the last {} ({})",
                          parameters.name_of("node_counts"), node_counts_text(counts),
                          limits::node_counts, least, parameters.name_of("min_nodes"), most,
                          parameters.name_of("max_nodes")));
}

inline void check_timing(const rendezvous_parameters& settings) {
  using float_seconds = std::chrono::duration<double>;
  for (const auto& [name, field] : detail::timing_settings) {
    const float_seconds value = settings.*field;
    if (value > float_seconds::zero() && value.count() <= detail::most_setting_seconds) continue;
    detail::refuse_seconds(settings.name_of(name), fmt::format("{}", value.count()));
  }
  if (settings.keep_alive_interval < limits::keep_alive_interval) {
    throw error(errc::invalid_argument,
                fmt::format("{}={}: at least {} s is needed",
                            settings.name_of("keep_alive_interval"),
                            float_seconds(settings.keep_alive_interval).count(),
                            float_seconds(limits::keep_alive_interval).count()));
  }
  const int attempts = settings.keep_alive_max_attempt;
  if (attempts < detail::least_keep_alive_attempts || attempts > detail::most_setting_number) {
    detail::refuse_number(settings.name_of(detail::keep_alive_attempts_setting),
                          fmt::format("{}", attempts), detail::least_keep_alive_attempts);
  }
}

ELASTIC_DECL rendezvous_settings rendezvous_parameters::settings() const {
  detail::required(time, "rendezvous_parameters::time");
  detail::check_nodes(*this);
  check_exclusion(*this);
  check_timing(*this);
  for (const std::string_view name : detail::ignored_times) seconds(name, {});
  yes_or_no(detail::ignored_choice);
  return *this;
}

ELASTIC_DECL std::vector<std::string_view> detail::meeting_settings(
    std::initializer_list<std::string_view> own) {
  std::vector<std::string_view> names = {"listen"};
  for (const timing_setting& setting : timing_settings) names.push_back(setting.name);
  names.push_back(keep_alive_attempts_setting);
  names.insert(names.end(), std::begin(ignored_times), std::end(ignored_times));
  names.push_back(ignored_choice);
  names.insert(names.end(), own);
  return names;
}

ELASTIC_DECL std::optional<job_secret> rendezvous_parameters::chosen_secret() const {
  const auto file = conf.find("secret_file");
  if (file == conf.end()) return secret;
  if (!secret) return job_secret::read(file->second);
  throw error(errc::invalid_argument,
              fmt::format("{}: the job has a secret already, which the program gave",
                          name_of("secret_file")));
}

ELASTIC_DECL void rendezvous_parameters::check_conf(std::vector<std::string_view> used) const {
  const bool has_secret = secret || conf.find("secret_file") != conf.end();
  if (has_secret && std::find(used.begin(), used.end(), "secret_file") == used.end()) {
    throw error(
        errc::invalid_argument,
        fmt::format("{}: the rendezvous backend '{}' cannot keep others out by a job's secret; "
                    "c10d, etcd-v3 and file can",
                    name_of("secret_file"), backend));
  }
  const std::string known = detail::joined_text<std::string_view>(used, ", ");
  // The settings of all backends of this library.
  const std::vector<std::string_view> own = detail::meeting_settings(
      {"is_host",   "host_grace",   "candidate",      "fast_takeover", "registry_grace",
       "dialect",   "secret_file",  "worker_networks", "store_type",   "lease_ttl",
       "protocol",  "cacert",       "cert",            "key",          "ca_cert",
       "ssl_cert",  "ssl_cert_key", "user",            "password",     "password_file",
       "etcd_prefix", "fingerprint"});
  std::vector<std::string> settings(own.begin(), own.end());
  settings.insert(settings.end(), used.begin(), used.end());
  const auto is_used = [&](std::string_view name) {
    return std::find(used.begin(), used.end(), name) != used.end();
  };
  const auto warn = [&](std::string_view name) {
    log.warning("{} is not used by the rendezvous backend '{}', which knows: {}", name_of(name),
                backend, known);
  };
  for (const std::string_view name : detail::changed_fields(*this)) {
    if (!is_used(name)) warn(name);
  }
  for (const auto& [name, value] : conf) {
    if (detail::is_field(name)) {
      throw error(errc::invalid_argument,
                  fmt::format("conf: {0} is a field, rendezvous_parameters::{0}", name));
    }
    if (is_used(name)) continue;
    if (std::find(settings.begin(), settings.end(), name) != settings.end()) {
      warn(name);
      continue;
    }
    const std::string nearest = detail::nearest_name(name, settings);
    const std::string hint = nearest.empty()
                                 ? fmt::format("'{}' knows: {}", backend, known)
                                 : fmt::format("did you mean {}?", nearest);
    throw error(errc::invalid_argument,
                fmt::format("{}: no backend has a setting '{}'; {}", name_of("conf"), name, hint));
  }
}

}  // namespace elastic
