// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/roles_overview.hpp>

#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/version.hpp>
#include <elastic/status/detail/job_document.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

/// A reason, cut to a limit and made printable.
inline std::string shown_reason(std::string_view reason) {
  constexpr std::size_t most = 400;
  return printable_line(std::string(reason.substr(0, most)));
}

inline std::string place_json(const job_roles::worker& worker) {
  json_object ports;
  for (const auto& [name, port] : worker.ports) ports.add(name, port);
  json_object json;
  json.add("rank", worker.rank).add("local_rank", worker.local_rank);
  json.add("node", worker.node).add("address", worker.address);
  return json.add_json("ports", ports.text()).text();
}

/// The workers, as many as there is room for.
inline std::string places_json(const std::vector<job_roles::worker>& workers,
                               std::size_t& room) {
  std::string text;
  for (const job_roles::worker& worker : workers) {
    const std::string one = place_json(worker);
    if (one.size() > room) break;
    room -= one.size();
    text += (text.empty() ? "" : ",\n") + one;
  }
  return "[" + text + "]";
}

inline std::string names_json(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + json_string(name);
  return "[" + text + "]";
}

inline std::string role_json(const roles_monitor::snapshot::role& role, const job_view& view,
                             std::size_t& room) {
  json_object json;
  json.add("name", role.shown.name).add("path", fmt::format("/roles/{}/", role.shown.name));
  json.add("state", role.shown.state).add("ready", role.shown.is_ready);
  json.add("reason", shown_reason(role.reason)).add("on_failure", role.on_failure);
  json.add("replicas", !role.has_world);
  json.add_json("starts_after", names_json(role.starts_after));
  json.add("stops_with", role.stops_with);
  if (role.shown.epoch) json.add("epoch", *role.shown.epoch);
  json.add("activity", to_string(view.job().activity()));
  json.add("restarts", view.job().restarts()).add("max_restarts", view.job().max_restarts());
  json.add_json("progress", progress_summary(view));
  json.add("worker_count", role.shown.workers.size());
  return json.add_json("workers", places_json(role.shown.workers, room)).text();
}

ELASTIC_DECL std::string overview_json(const roles_monitor::snapshot& roles,
                                       const role_views& views, std::int64_t now_us) {
  json_object head;
  head.add("run_id", roles.run_id).add("version", version_text).add("node", roles.node);
  head.add("time_us", now_us).add("began_us", roles.began_us);
  head.add("state", roles.state).add("reason", shown_reason(roles.reason));
  head.add("restarts", roles.restarts).add("max_restarts", roles.max_restarts);
  std::size_t room = limits::status_answer_bytes / 2;
  std::string text;
  for (std::size_t place = 0; place < roles.roles.size(); ++place) {
    text += (text.empty() ? "" : ",\n") + role_json(roles.roles[place], *views[place], room);
  }
  std::string begin = head.text();
  begin.pop_back();
  return fmt::format("{},\n\"roles\": [{}]}}\n", begin, text);
}

inline std::string role_text(const roles_monitor::snapshot::role& role, const job_view& view,
                             std::size_t width) {
  std::string line = fmt::format("{:<{}}  {}", role.shown.name, width, role.shown.state);
  if (role.shown.is_ready) line += ", ready";
  const agent_activity activity = view.job().activity();
  const bool is_odd = role.shown.state == "running" && activity != agent_activity::running;
  if (is_odd) line += fmt::format(", {}", to_string(activity));
  line += fmt::format("  {}", role.on_failure);
  if (view.job().max_restarts() > 0) {
    line += fmt::format("  restarts {} of {}", view.job().restarts(), view.job().max_restarts());
  }
  const std::size_t count = role.shown.workers.size();
  if (count > 0) {
    const char* const what = role.has_world ? "worker" : "replica";
    line += fmt::format("  {} {}{}", count, what, count == 1 ? "" : "s");
  }
  std::string progress = progress_line(view);
  if (!progress.empty()) line += "  " + progress;
  const bool is_over = role.shown.state == "failed" || role.shown.state == "stopped";
  if (is_over) line += fmt::format("  ({})", role.reason);
  return shown_reason(line);
}

inline std::string place_text(const job_roles::worker& worker) {
  std::string line = fmt::format("rank {} on {} ({})", worker.rank, worker.node, worker.address);
  for (const auto& [name, port] : worker.ports) line += fmt::format(", {} {}", name, port);
  return printable_line(line);
}

ELASTIC_DECL std::string overview_text(const roles_monitor::snapshot& roles,
                                       const role_views& views) {
  constexpr std::size_t most_places = 16;
  std::string text = fmt::format("job {}  {}", shown_reason(roles.run_id), roles.state);
  if (!roles.reason.empty()) text += fmt::format(" ({})", shown_reason(roles.reason));
  text += '\n';
  if (roles.max_restarts > 0) {
    text += fmt::format("restarts of all roles {} of {}\n", roles.restarts, roles.max_restarts);
  }
  text += "roles\n";
  std::size_t width = 0;
  for (const auto& each : roles.roles) width = std::max(width, each.shown.name.size());
  for (std::size_t place = 0; place < roles.roles.size(); ++place) {
    const roles_monitor::snapshot::role& role = roles.roles[place];
    text += fmt::format("  {}\n", role_text(role, *views[place], width));
    const std::vector<job_roles::worker>& workers = role.shown.workers;
    for (std::size_t index = 0; index < std::min(workers.size(), most_places); ++index) {
      text += fmt::format("  {:{}}  {}\n", "", width, place_text(workers[index]));
    }
    if (workers.size() > most_places) {
      text += fmt::format("  {:{}}  and {} more\n", "", width, workers.size() - most_places);
    }
  }
  return text;
}

ELASTIC_DECL std::string why_not_ready(const roles_monitor::snapshot& roles,
                                       const role_views& views) {
  if (roles.state != "running") return roles.state;
  bool any_runs = false;
  for (std::size_t place = 0; place < roles.roles.size(); ++place) {
    const roles_monitor::snapshot::role& role = roles.roles[place];
    if (role.shown.state != "running") continue;
    any_runs = true;
    const std::string why = why_not_ready(*views[place]);
    if (!why.empty()) return fmt::format("{}: {}", role.shown.name, why);
  }
  return any_runs ? "" : "no role runs";
}

}  // namespace elastic::detail
