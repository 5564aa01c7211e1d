// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/agent_parts.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/detail/run/command_reply.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/detail/new_shared.hpp>

#include <algorithm>

namespace elastic::detail {

/// Runs tasks at once until all have ended, or one has failed.
inline task<void> run_all(std::vector<task<void>> tasks) {
  if (tasks.empty()) co_return;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const std::size_t count = tasks.size();
  const concurrent_outcome outcome =
      co_await run_concurrently(executor, count, cancelled_by::first_failure, std::move(tasks));
  for (const std::size_t place : outcome.order) {
    if (outcome.failures[place]) std::rethrow_exception(outcome.failures[place]);
  }
}

ELASTIC_DECL std::shared_ptr<process_launcher> agent_parts::wrap(
    std::shared_ptr<process_launcher> inner) {
  for (const auto& part : parts_) inner = part->wrap(std::move(inner));
  return inner;
}

// ---- before workers run -------------------------------------------------------------------------

ELASTIC_DECL duration agent_parts::join_delay() {
  duration longest = duration::zero();
  for (const auto& part : parts_) longest = std::max(longest, part->join_delay());
  return longest;
}

ELASTIC_DECL duration agent_parts::stop_delay(const rendezvous_change& change) {
  duration longest = duration::zero();
  for (const auto& part : parts_) longest = std::max(longest, part->stop_delay(change));
  return longest;
}

ELASTIC_DECL task<void> agent_parts::until_ready() {
  std::vector<task<void>> waits;
  for (const auto& part : parts_) waits.push_back(part->until_ready());
  return run_all(std::move(waits));
}

ELASTIC_DECL task<void> agent_parts::prepare_attempt() {
  std::vector<task<void>> preparations;
  for (const auto& part : parts_) preparations.push_back(part->prepare_attempt());
  return run_all(std::move(preparations));
}

ELASTIC_DECL task<void> agent_parts::agree(rendezvous_round round, assigned_ranks ranks) {
  for (const auto& part : parts_) {
    task<void> agreeing = part->agree(round, ranks);
    co_await std::move(agreeing);
  }
}

ELASTIC_DECL void agent_parts::begin_attempt(const rendezvous_round& round) {
  for (const auto& part : parts_) part->begin_attempt(round);
}

ELASTIC_DECL void agent_parts::begin_replacement(const rendezvous_round& round) {
  for (const auto& part : parts_) part->begin_replacement(round);
}

ELASTIC_DECL void agent_parts::change_environment(const worker_identity& worker,
                                                  environment_map& variables) {
  for (const auto& part : parts_) part->change_environment(worker, variables);
}

ELASTIC_DECL int agent_parts::passed_descriptor(int local_rank) {
  int descriptor = -1;
  for (const auto& part : parts_) {
    if (descriptor < 0) descriptor = part->passed_descriptor(local_rank);
  }
  return descriptor;
}

ELASTIC_DECL std::optional<run_result::worker_starts> agent_parts::starts() const {
  std::optional<run_result::worker_starts> counted;
  for (const auto& part : parts_) {
    if (!counted) counted = part->starts();
  }
  return counted;
}

// ---- while workers run --------------------------------------------------------------------------

ELASTIC_DECL void agent_parts::started(const agent_part::started_workers& start) {
  tell([&](agent_part& part) { part.started(start); });
}

ELASTIC_DECL void agent_parts::progressed(const worker_progress& made) {
  tell([&](agent_part& part) { part.progressed(made); });
}

ELASTIC_DECL void agent_parts::ended(const agent_part::attempt_worker& worker) {
  tell([&](agent_part& part) { part.ended(worker); });
}

ELASTIC_DECL void agent_parts::failing(int local_rank) {
  tell([&](agent_part& part) { part.failing(local_rank); });
}

ELASTIC_DECL void agent_parts::hung(const agent_part::hung_worker& worker) {
  tell([&](agent_part& part) { part.hung(worker); });
}

ELASTIC_DECL void agent_parts::prepared() {
  for (const auto& part : parts_) part->prepared();
}

ELASTIC_DECL task<void> agent_parts::beside_workers(bool may_restart) {
  std::vector<task<void>> works;
  for (const auto& part : parts_) works.push_back(part->beside_workers(may_restart));
  return run_all(std::move(works));
}

ELASTIC_DECL task<void> agent_parts::beside_exit_barrier() {
  std::vector<task<void>> works;
  for (const auto& part : parts_) works.push_back(part->beside_exit_barrier());
  return run_all(std::move(works));
}

ELASTIC_DECL task<job_command::outcome> agent_parts::carry_out(job_command command) {
  for (const auto& part : parts_) {
    task<std::optional<job_command::outcome>> work = part->carry_out(command);
    std::optional<job_command::outcome> outcome = co_await std::move(work);
    if (outcome) co_return std::move(*outcome);
  }
  job_command::outcome outcome;
  outcome.text = "this program does not inspect its workers";
  co_return outcome;
}

// ---- when an attempt ends -----------------------------------------------------------------------

ELASTIC_DECL bool agent_parts::wants_last_look() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const auto& part) { return part->wants_last_look(); });
}

ELASTIC_DECL task<std::string> agent_parts::last_look() {
  for (const auto& part : parts_) {
    if (!part->wants_last_look()) continue;
    task<std::string> looking = part->last_look();
    std::string found = co_await std::move(looking);
    if (!found.empty()) co_return found;
  }
  co_return std::string();
}

ELASTIC_DECL void agent_parts::end_attempt() {
  for (const auto& part : parts_) part->end_attempt();
}

ELASTIC_DECL task<void> agent_parts::end() { return run_backwards(&agent_part::end); }

ELASTIC_DECL task<void> agent_parts::close() { return run_backwards(&agent_part::close); }

ELASTIC_DECL task<void> agent_parts::run_backwards(task<void> (agent_part::*function)()) {
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    try {
      task<void> ending = ((**part).*function)();
      co_await std::move(ending);
    } catch (const std::exception& failure) {
      log_.warning("a part of the agent did not end in order: {}", failure.what());
    } catch (...) {
      log_.warning("a part of the agent did not end in order");
    }
  }
}

// ---- how they are made --------------------------------------------------------------------------

ELASTIC_DECL agent_part::context part_context(asio::any_io_executor strand,
                                              asio::any_io_executor executor,
                                              std::shared_ptr<request_inbox> inbox) {
  agent_part::context context;
  context.strand = std::move(strand);
  context.executor = std::move(executor);
  context.commands = [inbox](job_command command) {
    return command_by_inbox(std::move(command), inbox);
  };
  context.signal = [inbox = std::move(inbox)](int rank, int number, std::string reason) {
    inbox->push(rank_signal_request{rank, number, std::move(reason)});
  };
  return context;
}

ELASTIC_DECL agent_services wrap_launcher(agent_services services, agent_parts& parts) {
  services.launcher = parts.wrap(std::move(services.launcher));
  return services;
}

}  // namespace elastic::detail
