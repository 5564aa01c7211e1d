// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/role.hpp>

#include <elastic/base/detail/nearest_name.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/contract/detail/macros.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/roles/detail/role_places.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace elastic {

namespace detail {

[[noreturn]] inline void refuse_role(const std::string& sentence) {
  throw error(errc::invalid_argument, sentence);
}

/// A role's name is a part of paths, run ids and prefixes of lines.
inline void check_role_name(const std::string& name) {
  const auto is_plain = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
  };
  if (!name.empty() && name.size() <= limits::role_name_bytes &&
      std::all_of(name.begin(), name.end(), is_plain)) {
    return;
  }
  refuse_role(fmt::format("role {}: a name is 1 to {} letters, digits, '-' and '_'",
                          in_quotes(name), limits::role_name_bytes));
}

inline void check_ports(const role& checked) {
  std::set<std::string> names;
  try {
    names = port_names(checked.config.workers.arguments);
  } catch (const error& refusal) {
    refuse_role(fmt::format("role '{}': {}", checked.name, refusal.what()));
  }
  const bool needs_port = checked.ready_at == role::readiness::port;
  if (needs_port && !names.contains(checked.ready_port)) {
    refuse_role(fmt::format("role '{}' is ready when its port {} is open, but there is no "
                            "${{port.{}}} in its command",
                            checked.name, in_quotes(checked.ready_port),
                            printable_line(checked.ready_port)));
  }
  if (!needs_port && !checked.ready_port.empty()) {
    refuse_role(
        fmt::format("role '{}': ready_port is allowed only with readiness port", checked.name));
  }
}

inline void check_what_group_sets(const role& checked) {
  const auto demand = [&](bool is_default, const char* member) {
    if (is_default) return;
    refuse_role(fmt::format("role '{}': {} is set by the role_group", checked.name, member));
  };
  const worker_spec& workers = checked.config.workers;
  demand(workers.role == worker_spec().role, "workers.role");
  demand(workers.log_dir.empty(), "workers.log_dir");
  demand(workers.on_failure == failure_policy::restart, "workers.on_failure");
  const std::string& run_id = checked.config.rendezvous.run_id;
  demand(run_id.empty() || run_id == rendezvous_parameters().run_id, "rendezvous.run_id");
}

/// Checks that the policy fits the kind of role: workers with a world, or replicas.
inline void check_manner(const role& checked) {
  using policy = role::policy;
  const policy chosen = checked.on_failure;
  if (checked.has_world && chosen == policy::restart_worker) {
    refuse_role(fmt::format("role '{}': on_failure restart-worker is for replicas; workers with a "
                            "world have replace",
                            checked.name));
  }
  if (!checked.has_world && (chosen == policy::restart_role || chosen == policy::replace)) {
    refuse_role(fmt::format("role '{}': on_failure {} is for workers with a world; replicas have "
                            "restart-worker",
                            checked.name, to_string(chosen)));
  }
}

inline void check_role_policy(const role& checked) {
  check_manner(checked);
  const int restarts = checked.config.workers.max_restarts;
  switch (checked.on_failure) {
    case role::policy::ignore: return;
    case role::policy::restart_role:
    case role::policy::replace:
    case role::policy::restart_worker:
      if (restarts > 0) return;
      refuse_role(fmt::format("role '{}': on_failure {} needs max_restarts of 1 or more",
                              checked.name, to_string(checked.on_failure)));
    case role::policy::fail_job:
    case role::policy::restart_job:
      if (restarts == 0) return;
      refuse_role(fmt::format("role '{}': on_failure {} allows no restarts of the role alone, but "
                              "max_restarts is {}",
                              checked.name, to_string(checked.on_failure), restarts));
  }
}

/// Refuses roles that start after each other in a cycle.
class cycle_search {
 public:
  explicit cycle_search(const std::vector<role>& roles) : roles_(roles), marks_(roles.size()) {}

  void run() {
    for (std::size_t place = 0; place < roles_.size(); ++place) visit(place);
  }

 private:
  enum class mark { fresh, open, done };

  void visit(std::size_t place) {
    if (marks_[place] == mark::done) return;
    path_.push_back(place);
    if (marks_[place] == mark::open) refuse();
    marks_[place] = mark::open;
    for (const role::condition& condition : roles_[place].starts_after) {
      visit(*place_of(roles_, condition.role));
    }
    marks_[place] = mark::done;
    path_.pop_back();
  }

  [[noreturn]] void refuse() const {
    const auto first = std::find(path_.begin(), path_.end(), path_.back());
    std::string way;
    for (auto step = first; step != path_.end(); ++step) {
      way += fmt::format("{}'{}'", way.empty() ? "" : " starts after ", roles_[*step].name);
    }
    refuse_role(fmt::format("roles that wait for each other never start: {}", way));
  }

  const std::vector<role>& roles_;
  std::vector<mark> marks_;
  std::vector<std::size_t> path_;
};

inline void check_mention(const std::vector<role>& roles, const role& source,
                          const std::string& mentioned, const char* relation) {
  if (mentioned == source.name) {
    refuse_role(fmt::format("role '{}' {} itself", source.name, relation));
  }
  if (place_of(roles, mentioned)) return;
  std::vector<std::string> names;
  for (const role& each : roles) names.push_back(each.name);
  const std::string nearest = nearest_name(mentioned, names);
  refuse_role(fmt::format("role '{}' {} {}, which is not a role of the job{}", source.name,
                          relation, in_quotes(mentioned),
                          nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest)));
}

/// The endpoint at which a role serves on this host; empty: at a port that no other role can have.
inline std::string serving_point(const std::vector<role>& roles, const role& checked) {
  const launch_config& config = checked.config;
  const rendezvous_parameters& meeting = config.rendezvous;
  if (config.standalone || !checked.has_world) return {};
  if (meeting.backend == "static" && meeting.endpoint.empty()) {
    endpoint master;
    master.host = config.master_addr;
    master.port = config.master_port;
    return to_text(master);
  }
  // Roles that meet at one endpoint share the server of the group.
  const std::string hosted = hosted_endpoint(checked);
  const bool is_shared = !hosted.empty() && do_nodes_meet(roles, hosted);
  const bool serves = meeting.backend == "static" || meeting.backend == "c10d";
  return !serves || is_shared || meeting.endpoint.ends_with(":0") ? "" : meeting.endpoint;
}

inline void check_serving_points(const std::vector<role>& roles) {
  std::map<std::string, std::string> taken;
  for (const role& each : roles) {
    const std::string point = serving_point(roles, each);
    if (point.empty()) continue;
    const auto [other, is_first] = taken.emplace(point, each.name);
    if (is_first) continue;
    refuse_role(fmt::format("roles '{}' and '{}' would both serve at {}: each needs an endpoint "
                            "with a port of its own",
                            other->second, each.name, point));
  }
}

/// A node that stands by because a role already has all of its nodes never sees that role become
/// ready.
inline void check_nodes(const std::vector<role>& roles, const role& checked) {
  for (const role::condition& condition : checked.starts_after) {
    const role& other = roles[*place_of(roles, condition.role)];
    const std::optional<int> others = node_bound(roles, other);
    // A role without a bound runs on all nodes of the job.
    const int nodes = node_bound(roles, checked).value_or(checked.config.rendezvous.max_nodes);
    const bool is_enough = !others || *others >= nodes;
    if (condition.what == role::condition::event::success || is_enough) continue;
    refuse_role(fmt::format("role '{}' starts on each of its {} nodes when role '{}' is ready "
                            "there, which has only {}",
                            checked.name, nodes, other.name, *others));
  }
}

/// Replicas end on each node independently, while a world ends on all nodes at once, so a world
/// cannot stop with replicas.
inline void check_leader(const std::vector<role>& roles, const role& checked) {
  const role& leader = roles[*place_of(roles, checked.stops_with)];
  if (leader.has_world || !node_bound(roles, checked)) return;
  refuse_role(fmt::format("role '{}' ends on all nodes at the same time, and cannot stop with the "
                          "replicas of role '{}', which end on each node for themselves",
                          checked.name, leader.name));
}

}  // namespace detail

ELASTIC_DECL void validate(const std::vector<role>& roles) {
  using detail::refuse_role;
  if (roles.empty()) refuse_role("a job needs a role");
  if (roles.size() > limits::roles) {
    refuse_role(fmt::format("{} roles: 1 to {} are allowed", roles.size(), limits::roles));
  }
  std::set<std::string> names;
  for (const role& each : roles) {
    detail::check_role_name(each.name);
    if (!names.insert(each.name).second) {
      refuse_role(fmt::format("two roles are named '{}'", each.name));
    }
    if (each.config.workers.program.empty() && !each.config.workers.function) {
      refuse_role(fmt::format("role '{}' has no program", each.name));
    }
    detail::check_ports(each);
    detail::check_what_group_sets(each);
    detail::check_role_policy(each);
  }
  for (const role& each : roles) {
    for (const role::condition& condition : each.starts_after) {
      detail::check_mention(roles, each, condition.role, "starts after");
    }
    detail::check_nodes(roles, each);
    if (!each.stops_with.empty()) {
      detail::check_mention(roles, each, each.stops_with, "stops with");
      detail::check_leader(roles, each);
    }
  }
  const auto decides = [](const role& each) { return each.stops_with.empty(); };
  if (std::none_of(roles.begin(), roles.end(), decides)) {
    refuse_role("every role stops with another one: the job needs a role whose success it waits "
                "for (one without stops_with)");
  }
  detail::cycle_search(roles).run();
  detail::check_serving_points(roles);
}

}  // namespace elastic
