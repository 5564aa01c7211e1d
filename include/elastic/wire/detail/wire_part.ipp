// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/wire/detail/wire_part.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/endless.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/net/detail/local_interface.hpp>
#include <elastic/net/detail/own_loopback.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/process/detail/proc_file.hpp>
#include <elastic/process/process_spec.hpp>
#include <elastic/rendezvous/detail/gather.hpp>
#include <elastic/rendezvous/detail/part_exchange.hpp>
#include <elastic/rendezvous/detail/reachable_address.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

/// The prefix is different for each round, because rounds may share a store.
inline std::string places_prefix(const rendezvous_round& round) {
  return fmt::format("elastic/wire/{}/{}/", round.term, round.round);
}

ELASTIC_DECL wire_part::wire_part(wire_terms terms, agent_part::context agent)
    : terms_(std::move(terms)), context_(std::move(agent)) {
  for (const wire_up kind : terms_.kinds) {
    if (!kinds_.empty()) kinds_ += ',';
    kinds_ += to_string(kind);
  }
}

// ---- the nodes of a round -----------------------------------------------------------------------

ELASTIC_DECL task<void> wire_part::agree(rendezvous_round round, assigned_ranks ranks) {
  pmi_.reset();
  places_.clear();
  task<wire_place> placing = place_of_workers(round, ranks);
  const wire_place mine = co_await std::move(placing);
  task<std::vector<wire_place>> learning = learn_places(round, mine);
  std::vector<wire_place> places = co_await std::move(learning);
  const bool are_alike = std::all_of(places.begin(), places.end(), [this](const auto& place) {
    return place.kinds == kinds_;
  });
  if (!are_alike) co_await await_readers(round);
  places_ = in_order_of_ranks(std::move(places), kinds_);
  if (!has(wire_up::mpi)) co_return;
  pmi_ = std::make_unique<pmi_node>(context_.strand, context_.time, context_.log, round, places_,
                                    mine);
}

ELASTIC_DECL task<wire_place> wire_part::place_of_workers(rendezvous_round round,
                                                               assigned_ranks ranks) {
  wire_place mine;
  mine.kinds = kinds_;
  mine.base_rank = ranks.base_rank;
  mine.workers = context_.local_world_size;
  const bool is_alone = round.group_world_size == 1;
  if (!is_alone) mine.address = local_address_named(terms_.address);
  const std::string master = round.master.address;
  if (is_alone || (mine.address.empty() && is_loopback(master))) {
    mine.address = own_loopback(context_.strand);
  }
  if (mine.address.empty()) {
    task<std::string> finding = reachable_address(std::string(), {master});
    mine.address = co_await std::move(finding);
  }
  choose_ports(mine);
  co_return mine;
}

ELASTIC_DECL void wire_part::choose_ports(wire_place& mine) {
  // The ports of the last round are held until new ones are chosen, so that no new one is among
  // them.
  std::vector<port_lease> held;
  if (has(wire_up::jax) && mine.base_rank == 0) {
    mine.coordinator_port = held.emplace_back(lease_port()).port();
  }
  for (int worker = 0; has(wire_up::tf) && worker < mine.workers; ++worker) {
    mine.ports.push_back(held.emplace_back(lease_port()).port());
  }
  ports_ = std::move(held);
}

ELASTIC_DECL task<std::vector<wire_place>> wire_part::learn_places(rendezvous_round round,
                                                                   wire_place mine) {
  if (round.group_world_size == 1) co_return std::vector<wire_place>{mine};
  part_exchange terms;
  terms.time = context_.time;
  terms.log = context_.log;
  terms.prefix = places_prefix(round);
  terms.subject = fmt::format("the wire-up {}", kinds_);
  terms.round = std::move(round);
  std::string text = text_of(mine);
  task<std::vector<std::string>> exchange = exchange_texts(std::move(terms), std::move(text));
  const std::vector<std::string> gathered = co_await std::move(exchange);
  std::vector<wire_place> places;
  for (const std::string& each : gathered) places.push_back(parse_wire_place(each));
  co_return places;
}

/// Waits until all nodes have read the data of all, because the first node to leave may be the one
/// that serves the store.
ELASTIC_DECL task<void> wire_part::await_readers(rendezvous_round round) {
  const time_point now = context_.time->now();
  const time_point deadline = deadline_after(now, limits::rendezvous_reconnect_timeout);
  const std::string prefix = places_prefix(round);
  task<void> waiting = wait_for_readers(round.agents, prefix, round.group_world_size);
  try {
    co_await with_deadline(*context_.time, deadline, std::move(waiting));
  } catch (const error&) {
    // The node of the store is gone, but this node has read everything.
  }
}

// ---- a worker -----------------------------------------------------------------------------------

ELASTIC_DECL void wire_part::change_environment(const worker_identity& worker,
                                                     environment_map& variables) {
  if (!context_.has_world) return;
  const std::vector<std::string> misleading = misleading_variables(variables, kinds_);
  for (const std::string& name : misleading) variables.erase(name);
  if (!misleading.empty() && !std::exchange(has_noted_variables_, true)) {
    context_.log.warning("the wire-up {} removes variables of another launcher from the workers' "
                         "environment: {}",
                         kinds_, fmt::join(misleading, ", "));
  }
  if (places_.empty()) return;
  if (has(wire_up::jax)) {
    for (const auto& [name, value] : jax_variables(places_, worker)) variables[name] = value;
  }
  if (has(wire_up::tf)) variables["TF_CONFIG"] = tf_config(places_, worker.rank);
  if (!has(wire_up::mpi)) return;
  variables["PMI_FD"] = std::to_string(process_spec::passed_number);
  variables["PMI_RANK"] = std::to_string(worker.rank);
  variables["PMI_SIZE"] = std::to_string(worker.world_size);
  variables["MPI_LOCALRANKID"] = std::to_string(worker.local_rank);
  variables["MPI_LOCALNRANKS"] = std::to_string(worker.local_world_size);
}

ELASTIC_DECL int wire_part::passed_descriptor(int local_rank) {
  return pmi_ ? pmi_->descriptor(static_cast<std::size_t>(local_rank)) : -1;
}

ELASTIC_DECL void wire_part::begin_replacement(const rendezvous_round&) {
  if (!has(wire_up::mpi)) return;
  throw error(errc::invalid_argument,
              "the wire-up mpi and on_failure replace exclude each other: the processes of an MPI "
              "program cannot form another world");
}

// ---- while workers run --------------------------------------------------------------------------

ELASTIC_DECL task<void> wire_part::beside_workers(bool) {
  if (pmi_) co_await race(pmi_->serve(), notice_other_mpi());
}

/// Warns of Open MPI: without its launcher, each process silently runs in a world of its own.
ELASTIC_DECL task<void> wire_part::notice_other_mpi() {
  constexpr std::chrono::seconds last(32);
  for (std::chrono::seconds pause(1); !has_noted_mpi_ && pause <= last; pause *= 2) {
    co_await context_.time->sleep_until(deadline_after(context_.time->now(), pause));
    if (!has_other_mpi()) continue;
    has_noted_mpi_ = true;
    context_.log.warning(
        "the workers use Open MPI, which needs PMIx, but the wire-up mpi provides PMI-1, for "
        "MPICH, Intel MPI and MVAPICH: each worker runs as an MPI program of one process");
  }
  co_await context_.time->sleep_until(time_point::max());
}

ELASTIC_DECL bool wire_part::has_other_mpi() const {
  constexpr std::string_view libraries[] = {"/libopen-pal.so", "/libopen-rte.so", "/libpmix.so"};
  for (const attempt_worker& worker : context_.workers()) {
    const auto slot = static_cast<std::size_t>(worker.local_rank);
    if (worker.pid == 0 || !worker.end.empty() || !pmi_->is_silent(slot)) continue;
    const std::string path = fmt::format("/proc/{}/maps", worker.pid);
    const std::string maps = read_proc_file(path, limits::memory_map_bytes);
    const bool is_of_it = std::any_of(
        std::begin(libraries), std::end(libraries),
        [&](std::string_view name) { return maps.find(name) != std::string::npos; });
    if (is_of_it) return true;
  }
  return false;
}

ELASTIC_DECL task<void> wire_part::end() {
  pmi_.reset();
  return agent_part::end();
}

}  // namespace elastic::detail
