// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/wire/detail/wire_place.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/net/endpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

inline void wire_ports_row(record_rows& rows, std::vector<std::uint16_t>& ports) {
  constexpr auto most = static_cast<std::size_t>(limits::local_world_size);
  const std::string written = fmt::format("[{}]", fmt::join(ports, ", "));
  const auto* list = rows.list("ports", written, most);
  if (list == nullptr) return;
  for (const nlohmann::ordered_json& value : *list) {
    const bool is_port = value.is_number_integer() && value >= 1 && value <= 65535;
    if (!is_port) rows.refuse("has a port that is not a number from 1 to 65535");
    ports.push_back(value.get<std::uint16_t>());
  }
}

inline void describe(wire_place& place, record_rows& rows) {
  rows.text("wire", place.kinds, limits::role_name_bytes);
  rows.number("base_rank", place.base_rank, 0, limits::job_ranks - 1);
  rows.number("workers", place.workers, 1, limits::local_world_size);
  rows.text("address", place.address, limits::host_name_bytes);
  rows.number("coordinator_port", place.coordinator_port, 0, 65535);
  wire_ports_row(rows, place.ports);
}

ELASTIC_DECL std::string text_of(const wire_place& place) {
  json_object object;
  write_record(object, place);
  return object.text();
}

ELASTIC_DECL wire_place parse_wire_place(std::string_view text) {
  wire_place place;
  read_record(json_fields("a node's wire-up data", text, limits::wire_places_bytes),
              place);
  return place;
}

ELASTIC_DECL std::vector<wire_place> in_order_of_ranks(std::vector<wire_place> places,
                                                       std::string_view kinds) {
  for (const wire_place& place : places) {
    if (place.kinds == kinds) continue;
    throw error(errc::invalid_argument,
                fmt::format("the wire-up {}: the node with ranks {} to {} has the wire-up {}; all "
                            "nodes of a job need the same",
                            kinds, place.base_rank, place.base_rank + place.workers - 1,
                            printable_line(place.kinds)));
  }
  std::sort(places.begin(), places.end(), [](const wire_place& left, const wire_place& right) {
    return left.base_rank < right.base_rank;
  });
  int next = 0;
  for (const wire_place& place : places) {
    if (place.base_rank != next) {
      throw error(errc::protocol_violation,
                  fmt::format("the ranks that the nodes reported omit or repeat rank {}",
                              std::min(next, place.base_rank)));
    }
    next += place.workers;
  }
  return places;
}

inline std::string address_text(const std::string& host, std::uint16_t port) {
  endpoint address;
  address.host = host;
  address.port = port;
  return to_text(address);
}

ELASTIC_DECL environment_map jax_variables(const std::vector<wire_place>& places,
                                           const worker_identity& worker) {
  const wire_place& first = places.front();
  environment_map variables;
  variables["JAX_COORDINATOR_ADDRESS"] = address_text(first.address, first.coordinator_port);
  // JAX checks only whether the variable exists.
  variables["OMPI_MCA_orte_hnp_uri"] = "elastic";
  variables["OMPI_COMM_WORLD_SIZE"] = std::to_string(worker.world_size);
  variables["OMPI_COMM_WORLD_RANK"] = std::to_string(worker.rank);
  variables["OMPI_COMM_WORLD_LOCAL_RANK"] = std::to_string(worker.local_rank);
  return variables;
}

ELASTIC_DECL std::string tf_config(const std::vector<wire_place>& places, int rank) {
  std::string addresses;
  for (const wire_place& place : places) {
    for (const std::uint16_t port : place.ports) {
      if (!addresses.empty()) addresses += ", ";
      addresses += json_string(address_text(place.address, port));
    }
  }
  const std::string task = fmt::format(R"({{"type": "worker", "index": {}}})", rank);
  return fmt::format(R"({{"cluster": {{"worker": [{}]}}, "task": {}}})", addresses, task);
}

ELASTIC_DECL std::string process_mapping(const std::vector<wire_place>& places) {
  std::string blocks;
  for (std::size_t node = 0; node < places.size();) {
    std::size_t end = node;
    while (end < places.size() && places[end].workers == places[node].workers) ++end;
    blocks += fmt::format(",({},{},{})", node, end - node, places[node].workers);
    node = end;
  }
  std::string mapping = fmt::format("(vector{})", blocks);
  if (mapping.size() > limits::pmi_value_bytes) mapping.clear();
  return mapping;
}

ELASTIC_DECL std::vector<std::string> misleading_variables(const environment_map& variables,
                                                           std::string_view kinds) {
  const auto has = [&](std::string_view kind) {
    return ("," + std::string(kinds) + ",").find("," + std::string(kind) + ",") !=
           std::string::npos;
  };
  std::vector<std::string_view> begins;
  if (has("jax") || has("mpi")) {
    begins = {"OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE", "OMPI_MCA_orte_", "OMPI_MCA_ess", "PMIX_"};
  }
  if (has("jax")) begins.push_back("JAX_COORDINATOR_");
  if (has("mpi")) {
    const std::string_view more[] = {"PMI_", "HYDI_", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"};
    begins.insert(begins.end(), std::begin(more), std::end(more));
  }
  if (has("tf")) begins.push_back("TF_CONFIG");
  std::vector<std::string> found;
  for (const auto& [name, value] : variables) {
    const bool misleads = std::any_of(begins.begin(), begins.end(), [&](std::string_view begin) {
      return name.starts_with(begin);
    });
    if (misleads) found.push_back(name);
  }
  return found;
}

}  // namespace elastic::detail
