// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/detail/roles_document.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <cstddef>
#include <limits>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr std::string_view roles_subject = "the list of roles";
inline constexpr std::string_view places_subject = "a node's list of a role's workers";

template <class Entry>
std::string object_text(const Entry& entry) {
  json_object object;
  write_record(object, entry);
  return object.text();
}

template <class Entry>
std::string objects_text(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) text += (text.empty() ? "" : ", ") + object_text(entry);
  return "[" + text + "]";
}

inline void ports_row(record_rows& rows, decltype(job_roles::worker::ports)& ports) {
  std::string text;
  for (const auto& [name, port] : ports) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", json_string(name), port);
  }
  const auto* object = rows.json("ports", "{" + text + "}");
  if (object == nullptr) return;
  if (!object->is_object() || object->size() > limits::worker_ports) {
    rows.refuse(fmt::format("has \"ports\" other than an object of at most {} numbers",
                            limits::worker_ports));
  }
  for (const auto& [name, value] : object->items()) {
    const auto number = value.is_number_integer() ? value.get<std::int64_t>() : 0;
    if (number < 1 || number > 65535 || name.size() > limits::port_name_bytes) {
      rows.refuse(
          fmt::format("has a port {} that is not a number from 1 to 65535, or whose name has "
                      "more than {} bytes",
                      in_quotes(name), limits::port_name_bytes));
    }
    ports[name] = static_cast<std::uint16_t>(number);
  }
}

inline void describe(job_roles::worker& worker, record_rows& rows) {
  constexpr std::int64_t most = std::int64_t{limits::nodes} * limits::local_world_size;
  rows.number("rank", worker.rank, 0, most - 1);
  rows.number("local_rank", worker.local_rank, 0, limits::local_world_size - 1);
  rows.text("node", worker.node, limits::host_name_bytes);
  rows.text("address", worker.address, limits::host_name_bytes);
  ports_row(rows, worker.ports);
}

inline std::vector<job_roles::worker> read_workers(std::string_view subject,
                                                        const nlohmann::ordered_json& list) {
  std::vector<job_roles::worker> workers;
  workers.reserve(list.size());
  for (const nlohmann::ordered_json& each : list) {
    read_record(json_fields(subject, each), workers.emplace_back());
  }
  return workers;
}

inline void describe(job_roles::role& role, record_rows& rows) {
  rows.text("state", role.state, limits::role_name_bytes);
  rows.flag("ready", role.is_ready);
  rows.number("epoch", role.epoch);
  constexpr std::size_t most = std::size_t{limits::nodes} * limits::local_world_size;
  const auto* list = rows.list("workers", objects_text(role.workers), most);
  if (list != nullptr) role.workers = read_workers(roles_subject, *list);
}

inline void describe(job_roles& document, record_rows& rows) {
  rows.number("revision", document.revision, 0, std::numeric_limits<std::int64_t>::max());
  std::string text;
  for (const job_roles::role& role : document.roles) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", json_string(role.name),
                        object_text(role));
  }
  const auto* object = rows.json("roles", "{" + text + "}");
  if (object == nullptr) return;
  if (!object->is_object() || object->size() > limits::roles) {
    rows.refuse(
        fmt::format("has \"roles\" other than an object of at most {} roles", limits::roles));
  }
  for (const auto& [name, value] : object->items()) {
    if (name.empty() || name.size() > limits::role_name_bytes) {
      rows.refuse(fmt::format("has a role whose name has {} bytes; 1 to {} are allowed",
                              name.size(), limits::role_name_bytes));
    }
    job_roles::role& role = document.roles.emplace_back();
    role.name = name;
    read_record(json_fields(roles_subject, value), role);
  }
}

ELASTIC_DECL std::string roles_text(const job_roles& document) {
  return object_text(document) + '\n';
}

ELASTIC_DECL job_roles parse_roles(std::string_view text) {
  job_roles document;
  read_record(json_fields(roles_subject, text, limits::roles_file_bytes), document);
  return document;
}

/// A list of workers as a message.
struct told_workers {
  std::vector<job_roles::worker> workers;
};

inline void describe(told_workers& told, record_rows& rows) {
  const auto* list =
      rows.list("workers", objects_text(told.workers), std::size_t{limits::local_world_size});
  if (list != nullptr) told.workers = read_workers(places_subject, *list);
}

ELASTIC_DECL std::string workers_text(const std::vector<job_roles::worker>& workers) {
  return object_text(told_workers{workers});
}

ELASTIC_DECL std::vector<job_roles::worker> parse_workers(std::string_view text) {
  told_workers told;
  read_record(json_fields(places_subject, text, limits::role_places_bytes), told);
  return told.workers;
}

}  // namespace elastic::detail
