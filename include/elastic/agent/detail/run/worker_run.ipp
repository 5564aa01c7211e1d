// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/worker_run.hpp>

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/quantity.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/control/detail/worker_liveness.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/detail/signal_number.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline agent_part::context with_workers(agent_part::context context, const worker_spec& spec) {
  context.local_world_size = spec.nproc_per_node;
  context.replaces_workers = spec.on_failure == failure_policy::replace;
  return context;
}

/// Creates the parts that the services name, for a run whose workers are `group`. The group may be
/// constructed later, and must outlive the parts' calls.
/// Errors: those of the factories; `errc::invalid_argument` if one returns null.
inline std::shared_ptr<agent_parts> make_agent_parts(const agent_services& services,
                                                     agent_part::context context,
                                                     std::string run_id, worker_group& group) {
  auto parts = new_shared<agent_parts>(services.log);
  context.launcher = services.launcher;
  context.time = services.time;
  context.log = services.log;
  context.journal = services.journal;
  // A part may outlive the run, and with it the group.
  const std::weak_ptr<agent_parts> alive = parts;
  context.first_workers = [alive, &group, run_id = std::move(run_id)] {
    return alive.expired() ? std::vector<process_spec>() : group.expected_processes(run_id);
  };
  context.workers = [alive, &group] {
    return alive.expired() ? std::vector<agent_part::attempt_worker>() : group.attempt_workers();
  };
  context.last_stderr = [alive, &group](int local_rank) {
    return alive.expired() ? std::vector<std::string>() : group.last_stderr(local_rank);
  };
  context.end_hung = [alive, &group](int local_rank, const std::string& reason) {
    if (!alive.expired()) group.end_hung(local_rank, reason);
  };
  context.process_ended = [alive, &group](const exit_status& end) {
    if (!alive.expired() && end.signal() == SIGKILL) group.forgive_oom_kill();
  };
  for (const auto& [name, make] : services.parts) {
    parts->add(required(make(context), fmt::format("the part {} of an agent", name)));
  }
  return parts;
}

ELASTIC_DECL worker_run::worker_run(agent_part::context context, worker_spec spec,
                                    agent_services services, std::string run_id,
                                    std::string backend)
    : spec_(std::move(spec)),
      run_id_(std::move(run_id)),
      backend_(std::move(backend)),
      strand_(context.strand),
      parts_(make_agent_parts(services, with_workers(context, spec_), run_id_, group_)),
      services_(wrap_launcher(std::move(services), *parts_)),
      log_(services_.log),
      time_(*services_.time),
      files_(*services_.journal, time_, log_),
      group_(strand_, spec_, services_, files_.layout()),
      journal_(*services_.journal, spec_, group_, time_),
      telemetry_(services_, spec_, run_id_, backend_),
      stop_(strand_, spec_, group_, journal_, time_),
      orders_(strand_, group_, *parts_, journal_, time_, log_),
      has_world_(context.has_world) {
  internals::attach(group_, parts_);
}

ELASTIC_DECL task<run_result> worker_run::run_to_end() {
  agent_telemetry::timed_step timer(telemetry_, "SimpleElasticAgent.run");
  const time_point began = time_.now();
  journal_.record_start(run_id_, backend_);
  std::optional<run_result> result;
  std::string breakdown = "unknown error";
  std::exception_ptr failure;
  try {
    task<void> living = live(result);
    co_await std::move(living);
  } catch (const std::exception& thrown) {
    failure = std::current_exception();
    breakdown = thrown.what();
  } catch (...) {
    failure = std::current_exception();
  }
  journal_.record_end(result ? result->state : worker_state::failed,
                    result ? result->reason : breakdown, began);
  task<void> leaving = files_.leave(result ? &*result : nullptr);
  co_await std::move(leaving);
  if (failure) {
    telemetry_.record_agent(group_, restarts_, breakdown);
    std::rethrow_exception(group_.error_of_run(failure));
  }
  if (result->state == worker_state::stopped) timer.fail();
  report(*result);
  co_return std::move(*result);
}

ELASTIC_DECL void worker_run::take(const signal_request& request) {
  log_.info("{} passed on to {}", signal_name(request.number),
            quantity(group_.running() + group_.starting(), has_world_ ? "worker" : "replica"));
  group_.signal(request.number);
}

ELASTIC_DECL void worker_run::take(const rank_signal_request& request) {
  for (const worker_group::worker& entry : group_.workers()) {
    if (entry.identity.rank != request.rank || entry.pid == 0) continue;
    std::string text = fmt::format("{} does not run", name_of(entry));
    if (!entry.end) {
      group_.signal(static_cast<std::size_t>(entry.identity.local_rank), request.number);
      text = fmt::format("{} sent to {}", signal_name(request.number), name_of(entry));
    }
    if (request.reason.empty()) {
      log_.debug("{}", text);
      continue;
    }
    text = fmt::format("{}: {}", request.reason, text);
    log_.warning("{}", text);
    if (!entry.end) journal_.record_fault(entry, request.number, text);
  }
}

ELASTIC_DECL std::string worker_run::name_of(const worker_group::worker& entry) const {
  const int rank = entry.identity.rank;
  if (!has_world_) return fmt::format("replica {} (pid {})", rank, entry.pid);
  return fmt::format("rank {} (local rank {}, pid {})", rank, entry.identity.local_rank, entry.pid);
}

ELASTIC_DECL void worker_run::take(const stop_request& request) {
  if (stop_.is_requested() && !request.escalates) return;
  const bool kills = stop_.is_requested() || request.signal == SIGKILL;
  const std::string reason = request.reason.empty() ? "stop requested" : request.reason;
  const std::string text = fmt::format("{}: {}", reason, effect_of(request, kills));
  request.is_planned ? log_.info("{}", text) : log_.warning("{}", text);
  stop_.take(request);
  journal_.record_stop_request(reason, kills ? SIGKILL : request.signal);
  kills ? group_.kill() : group_.end_hooks();
  on_stop(request, kills);
}

/// The effect of a stop on the workers, and the time that it may take.
ELASTIC_DECL std::string worker_run::effect_of(const stop_request& request, bool kills) const {
  if (group_.running() == 0) return "no worker is running, so the agent just ends";
  if (kills) return "killing the workers";
  std::string words = "stopping the workers, which have ";
  if (request.signal == SIGTERM && spec_.preempt_grace > duration::zero()) {
    words += worker_liveness::text_of(spec_.preempt_grace) + " to save and then ";
  }
  words += worker_liveness::text_of(request.grace.value_or(spec_.shutdown_timeout)) +
           " before they are killed";
  if (request.signal == SIGINT && request.escalates) {
    words += "; a second SIGINT (Ctrl-C) kills them at once";
  }
  return words;
}

ELASTIC_DECL task<void> worker_run::save_before_stop() {
  const duration timeout = spec_.preempt_grace;
  if (stop_.request()->signal != SIGTERM || timeout <= duration::zero()) co_return;
  const bool is_between = kept_workers().is_on() && kept_workers().ready() > 0;
  if (group_.state() != worker_state::healthy || is_between) co_return;
  log_.info("asking the workers for a checkpoint within {}", worker_liveness::text_of(timeout));
  co_await orders_.save(timeout);
}

ELASTIC_DECL run_result worker_run::make_result(worker_state state, std::string reason) const {
  run_result result;
  result.state = state;
  result.failures = group_.failures(host_name());
  result.max_restarts = spec_.max_restarts;
  result.restarts = restarts_;
  result.reason = std::move(reason);
  return result;
}

ELASTIC_DECL run_result worker_run::stopped_result() const {
  const stop_request& request = *stop_.request();
  run_result result = make_result(worker_state::stopped,
                                  request.reason.empty() ? "stop requested" : request.reason);
  result.stop_signal = request.signal;
  return result;
}

ELASTIC_DECL void worker_run::report(const run_result& result) {
  const bool was_stopped = result.state == worker_state::stopped;
  if (!was_stopped) telemetry_.emit_result(result);
  telemetry_.record_workers(group_, result);
  telemetry_.record_agent(group_, result.restarts,
                          was_stopped ? std::optional<std::string>(result.reason) : std::nullopt);
}

}  // namespace elastic::detail
