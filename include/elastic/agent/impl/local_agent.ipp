// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/local_agent.hpp>

#include <elastic/agent/failure_report_json.hpp>
#include <elastic/agent/rank_exchange.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/random.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/health/checkpoint_outcome.hpp>
#include <elastic/health/worker_liveness.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/console_writer.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/process/guarded_launcher.hpp>
#include <elastic/process/process_sight.hpp>
#include <elastic/rendezvous/gather.hpp>
#include <elastic/rendezvous/master_keys.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <system_error>
#include <variant>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL local_agent::local_agent(agent_options options)
    : options_(std::move(options)), inbox_(std::make_shared<detail::request_inbox>()) {
  validate(options_.workers);
  if (!options_.rendezvous) throw error(errc::invalid_argument, "the agent has no rendezvous");
}

ELASTIC_DECL task<run_result> local_agent::run() & {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
  asio::cancellation_slot slot = cancellation.slot();
  if (slot.is_connected()) {
    slot.assign([inbox = inbox_](asio::cancellation_type requested) {
      inbox->push(detail::as_stop_request(requested));
    });
  }
  const auto strand = asio::make_strand(co_await asio::this_coro::executor);
  std::optional<run_result> result;
  std::exception_ptr failure;
  try {
    // The body gets an empty slot: what is asked of it comes through the inbox alone.
    result = co_await asio::co_spawn(
        strand, serve(strand),
        asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
  } catch (...) {
    failure = std::current_exception();
  }
  const bool cancelled = cancellation.cancelled() != asio::cancellation_type::none;
  co_await asio::this_coro::reset_cancellation_state();
  co_await asio::this_coro::throw_if_cancelled(true);
  if (failure) std::rethrow_exception(failure);
  if (cancelled && result->state == worker_state::stopped) {
    throw std::system_error(asio::error::operation_aborted);
  }
  co_return std::move(*result);
}

ELASTIC_DECL local_agent::running::running(asio::any_io_executor strand,
                                           const agent_options& options, agent_services with)
    : rendezvous(options.rendezvous),
      services(std::move(with)),
      layout(make_layout(options)),
      group(strand, options.workers, services, layout),
      telemetry(services, options.workers, options.rendezvous->run_id(),
                options.rendezvous->backend()),
      ledger(options.workers.max_restarts, options.workers.restart),
      stop_asked(strand),
      requests(strand) {
  // Whether the group restarts or the job ends: the others are to stop, as `usual_stop` does.
  group.stop_on_failure({SIGTERM, options.workers.shutdown_timeout});
}

ELASTIC_DECL log_layout local_agent::running::make_layout(const agent_options& options) {
  if (options.workers.log_directory == "/dev/null") return {};
  random_source random;
  return {options.workers.log_directory, options.rendezvous->run_id(), random};
}

ELASTIC_DECL agent_services local_agent::with_defaults(agent_services services,
                                                       asio::any_io_executor strand,
                                                       bool has_hook) {
  if (!services.time) services.time = std::make_shared<system_time>();
  if (!services.launcher) {
    services.launcher = make_launcher(services, strand);
    if (!services.hook_launcher) services.hook_launcher = services.launcher;
  }
  if (has_hook && !services.hook_launcher) {
    services.hook_launcher = make_launcher(services, strand);
  }
  if (!services.console_out) services.console_out = make_console_writer(strand, 1);
  if (!services.console_err) services.console_err = make_console_writer(strand, 2);
  return services;
}

ELASTIC_DECL std::shared_ptr<process_launcher> local_agent::make_launcher(
    const agent_services& services, asio::any_io_executor strand) {
  guarded_launcher_options starting;
  starting.policy = services.guard.value_or(guard_policy::best_effort);
  starting.guard_file = services.guard_file;
  starting.unguarded.parent = services.worker_parent;
  starting.log = services.log;
  return std::make_shared<guarded_launcher>(strand, std::move(starting));
}

ELASTIC_DECL task<run_result> local_agent::serve(asio::any_io_executor strand) {
  if (!options_.rendezvous) throw error(errc::invalid_argument, "an agent runs once");
  // The run owns them: they may hold on to the context, which this object may outlive.
  agent_services services = std::exchange(options_.services, {});
  options_.services.log = services.log;
  const bool has_hook = !options_.workers.on_hang.command.empty();
  running state(strand, options_, with_defaults(std::move(services), strand, has_hook));
  options_.rendezvous.reset();
  const inbox_user listening{inbox_};
  inbox_->open(strand, [this, &state](const detail::agent_request& request) {
    std::visit([&](const auto& one) { take(state, one); }, request);
  });
  agent_telemetry::timed_step timer(state.telemetry, "SimpleElasticAgent.run");
  std::optional<run_result> result;
  std::string breakdown = "unknown error";
  std::exception_ptr failure;
  try {
    result = co_await with_cleanup(attempt_until_done(state), wind_up(state));
  } catch (const std::exception& thrown) {
    failure = std::current_exception();
    breakdown = thrown.what();
  } catch (...) {
    failure = std::current_exception();
  }
  inbox_->close();
  if (failure) {
    state.layout.discard_if_empty();
    state.telemetry.record_agent(state.group, state.restarts, breakdown);
    std::rethrow_exception(failure);
  }
  if (result->state == worker_state::stopped) timer.fail();
  report(state, *result);
  co_return std::move(*result);
}

ELASTIC_DECL void local_agent::take(running& state, const detail::signal_request& request) {
  log().info("{} passed on to {} workers", signal_name(request.number), state.group.running());
  state.group.signal(request.number);
}

ELASTIC_DECL void local_agent::take(running& state, const worker_request& request) {
  if (state.group.state() == worker_state::healthy) state.requests.push(request);
}

ELASTIC_DECL void local_agent::take(running& state, const stop_request& request) {
  const bool now = state.stop.has_value() || request.signal == SIGKILL;
  log().warning("{}: {} the workers", request.reason.empty() ? "stop requested" : request.reason,
                now ? "killing" : "stopping");
  if (!state.stop) state.stop = request;
  if (now) {
    state.group.kill();
  } else {
    state.group.end_hooks();
  }
  state.stop_asked.set();
}

ELASTIC_DECL task<run_result> local_agent::attempt_until_done(running& state) {
  co_await begin_attempt(state);
  for (;;) {
    if (state.is_late) co_return finish_late(state);
    if (!state.stop && !state.change) co_await watch(state);
    if (!state.stop && state.group.bad_node()) co_return co_await finish_bad_node(state);
    if (!state.stop && !state.change) {
      co_await take_outcome(state);
      // A stop at the exit barrier only ends the wait: the work was done.
      if (!state.change && succeeded(state)) co_return finish_succeeded(state);
    }
    if (state.stop) co_return co_await finish_stopped(state);
    if (!state.change) co_return finish(state, worker_state::failed, state.end_reason);

    const restart_decision decision = decide(state);
    log_change(state, decision);
    agent_telemetry& telemetry = state.telemetry;
    if (decision.restart) {
      co_await telemetry.timed("SimpleElasticAgent._restart_workers",
                               restart(state, decision.delay));
      continue;
    }
    co_await telemetry.timed("LocalElasticAgent._stop_workers",
                             stop_workers(state, usual_stop(state)));
    if (!state.stop) {
      co_return finish(state, worker_state::failed,
                       fmt::format("{}: {}", state.change->what, decision.reason));
    }
  }
}

ELASTIC_DECL restart_decision local_agent::decide(const running& state) const {
  if (state.change->kind == change_kind::worker_failed && state.group.no_restart()) {
    restart_decision refused;
    refused.reason = *state.group.no_restart();
    return refused;
  }
  const worker* const failed = state.group.first_failed();
  const auto ended = failed ? std::optional(failed->end->status) : std::nullopt;
  return state.ledger.decide(state.change->kind, ended, state.services.time->now());
}

ELASTIC_DECL task<void> local_agent::take_outcome(running& state) {
  if (succeeded(state)) {
    // They have ended; who reads their output slowly is waited for.
    co_await stop_workers(state, {SIGKILL, duration::max()});
    co_await meet_at_exit(state);
  } else {
    co_await race(tell_of_failure(state), state.stop_asked.wait());
  }
}

ELASTIC_DECL task<void> local_agent::tell_of_failure(running& state) {
  bool has_told = true;
  try {
    take(state, co_await state.rendezvous->report_failure(first_failure(state)));
  } catch (const error& failure) {
    has_told = false;
    state.end_reason = failure.what();
  }
  // Without the others there is no next attempt; what failed here is said all the same.
  if (!has_told) co_await stop_workers(state, usual_stop(state));
}

ELASTIC_DECL bool local_agent::succeeded(const running& state) {
  return state.group.state() == worker_state::succeeded;
}

ELASTIC_DECL run_result local_agent::finish_succeeded(running& state) {
  run_result result = finish(state, worker_state::succeeded, "all workers ended with success");
  result.return_values = state.group.return_values();
  return result;
}

ELASTIC_DECL run_result local_agent::finish_late(running& state) {
  log().warning("this node has nothing left to do: {}", state.end_reason);
  return finish(state, worker_state::succeeded, state.end_reason);
}

ELASTIC_DECL task<void> local_agent::restart(running& state, duration delay) {
  co_await state.telemetry.timed("LocalElasticAgent._stop_workers",
                                 stop_workers(state, usual_stop(state)));
  if (delay > duration::zero() && !state.stop) {
    time_source& time = *state.services.time;
    co_await race(time.sleep_until(time.now() + delay), state.stop_asked.wait());
  }
  if (!state.stop) co_await begin_attempt(state);
}

ELASTIC_DECL task<void> local_agent::begin_attempt(running& state) {
  if (state.stop) co_return;
  try {
    co_await race(
        state.telemetry.timed("SimpleElasticAgent._initialize_workers", meet_and_start(state)),
        state.stop_asked.wait());
  } catch (const error& failure) {
    if (failure.code() != errc::rendezvous_finished) throw;
    state.is_late = true;
    state.end_reason = failure.what();
  }
}

ELASTIC_DECL task<void> local_agent::meet_and_start(running& state) {
  const worker_spec& spec = options_.workers;
  agent_telemetry& telemetry = state.telemetry;
  const std::optional<assigned_ranks> met =
      co_await telemetry.timed("SimpleElasticAgent._rendezvous", meet(state));
  if (!met) co_return;
  const assigned_ranks& ranks = *met;
  const rendezvous_round& round = *state.round;
  state.restarts = state.ledger.failures();
  co_await telemetry.timed(
      "LocalElasticAgent._start_workers",
      state.group.start(round, ranks, state.rendezvous->run_id(), state.restarts));
  state.ledger.started(state.services.time->now());
  state.group.announce({round.round, ranks.world_size, round.group_rank, round.group_world_size,
                        state.restarts, spec.max_restarts});
  if (!options_.notice.empty()) log().warning("{}", std::exchange(options_.notice, {}));
  log().info("round {}: node {} of {}, ranks {} to {} of {}, master {}:{}", round.round,
             round.group_rank, round.group_world_size, ranks.base_rank,
             ranks.base_rank + spec.local_world_size - 1, ranks.world_size, round.master.address,
             round.master.port);
}

ELASTIC_DECL task<std::optional<assigned_ranks>> local_agent::meet(running& state) {
  const time_source& time = *state.services.time;
  for (;;) {
    const bool is_first = !state.round;
    state.round = co_await state.rendezvous->next_round();
    if (is_first) state.ledger.begin_at(state.round->restarts);
    state.ledger.count(state.round->restarts, time.now());
    state.change.reset();
    if (state.ledger.is_used_up(time.now())) {
      state.change = rendezvous_change{change_kind::worker_failed, "workers of the job failed"};
      co_return std::nullopt;
    }
    std::optional<assigned_ranks> ranks;
    co_await race(keep(state.telemetry.timed("SimpleElasticAgent._assign_worker_ranks",
                                             tell_about_workers(state)),
                       ranks),
                  note_change(state));
    if (ranks) co_return ranks;
    if (state.ledger.is_used_up(time.now())) co_return std::nullopt;
    log().warning("meeting again: {}", state.change->what);
  }
}

ELASTIC_DECL task<assigned_ranks> local_agent::tell_about_workers(running& state) {
  const rendezvous_round& round = *state.round;
  role_info mine;
  mine.role = options_.workers.role;
  mine.local_world_size = options_.workers.local_world_size;
  time_source& time = *state.services.time;
  const time_point deadline = time.now() + round.exchange_timeout;
  task<assigned_ranks> exchange =
      exchange_ranks(round.agents, mine, round.group_rank, round.group_world_size, round.dialect);
  const std::optional<assigned_ranks> ranks =
      co_await with_deadline(time, deadline, std::move(exchange));
  bool is_agreed = ranks.has_value();
  if (ranks && round.dialect == agent_dialect::gather) {
    task<master_endpoint> agreement = agree_on_master(round.agents, round.master, round.group_rank);
    const std::optional<master_endpoint> master =
        co_await with_deadline(time, deadline, std::move(agreement));
    is_agreed = master.has_value();
    if (master) state.round->master = *master;
  }
  if (is_agreed) co_return *ranks;
  throw error(errc::rendezvous_timeout,
              fmt::format("not all of the {} nodes told about their workers within {} s",
                          round.group_world_size,
                          std::chrono::duration<double>(round.exchange_timeout).count()));
}

ELASTIC_DECL task<void> local_agent::keep(task<assigned_ranks> work,
                                          std::optional<assigned_ranks>& result) {
  result = co_await std::move(work);
}

ELASTIC_DECL void local_agent::take(running& state, rendezvous_change change) {
  state.ledger.count(change.restarts, state.services.time->now());
  state.change = std::move(change);
}

ELASTIC_DECL task<void> local_agent::note_change(running& state) {
  take(state, co_await state.rendezvous->wait_for_change());
}

ELASTIC_DECL task<void> local_agent::watch(running& state) {
  co_await race(state.group.wait_for_outcome(), note_change(state), state.stop_asked.wait(),
                report_state(state), pass_on_requests(state));
  if (!state.stop) emit_state(state);
}

ELASTIC_DECL task<void> local_agent::pass_on_requests(running& state) {
  for (;;) {
    const worker_request request = co_await state.requests.pop();
    switch (request.what) {
      case worker_request::kind::pause: state.group.pause(); break;
      case worker_request::kind::resume: state.group.resume(); break;
      case worker_request::kind::checkpoint: co_await save(state, request.within); break;
    }
  }
}

ELASTIC_DECL task<void> local_agent::save(running& state, duration within) {
  const time_point begun = state.services.time->now();
  const checkpoint_outcome outcome = co_await state.group.checkpoint(within);
  const duration took = state.services.time->now() - begun;
  if (outcome.asked == 0) {
    log().info("no worker wants to be asked for a checkpoint");
    co_return;
  }
  for (const std::string& problem : outcome.problems) log().warning("checkpoint: {}", problem);
  log().info("checkpoint: saved by {} of {} workers in {}", outcome.saved, outcome.asked,
             worker_liveness::text_of(took));
}

ELASTIC_DECL task<void> local_agent::save_before_stop(running& state, const stop_request& request) {
  const duration within = options_.workers.preempt_grace;
  if (request.signal != SIGTERM || within <= duration::zero()) co_return;
  if (state.group.state() != worker_state::healthy) co_return;
  log().info("asking the workers for a checkpoint within {}", worker_liveness::text_of(within));
  co_await save(state, within);
}

ELASTIC_DECL task<void> local_agent::report_state(running& state) {
  time_source& time = *state.services.time;
  if (!state.services.metrics) co_await time.sleep_until(time_point::max());
  for (;;) {
    co_await time.sleep_until(time.now() + options_.workers.monitor_interval);
    emit_state(state);
  }
}

ELASTIC_DECL void local_agent::emit_state(running& state) const {
  const int remaining = options_.workers.max_restarts - state.restarts;
  state.telemetry.emit_state(state.group.state(), remaining);
}

ELASTIC_DECL stop_plan local_agent::usual_stop(const running& state) const {
  duration grace = options_.workers.shutdown_timeout;
  if (state.change) grace = std::min(grace, state.change->grace);
  return {SIGTERM, grace};
}

ELASTIC_DECL task<void> local_agent::stop_workers(running& state, stop_plan plan) {
  if (!state.stop) co_await race(stop_after_hooks(state, plan), state.stop_asked.wait());
  if (!state.stop) co_return;
  plan.signal = state.stop->signal;
  plan.grace = state.stop->grace.value_or(options_.workers.shutdown_timeout);
  co_await state.group.stop(plan);
}

ELASTIC_DECL task<void> local_agent::stop_after_hooks(running& state, stop_plan plan) {
  const time_source& time = *state.services.time;
  const time_point begun = time.now();
  const duration most = state.change ? state.change->grace : duration::max();
  co_await state.group.finish_hooks(most);
  plan.grace = std::min(plan.grace, std::max(most - (time.now() - begun), duration::zero()));
  co_await state.group.stop(plan);
}

ELASTIC_DECL task<void> local_agent::meet_at_exit(running& state) {
  time_source& time = *state.services.time;
  const time_point deadline = time.now() + options_.workers.exit_barrier_timeout;
  bool met = false;
  try {
    task<void> waiting =
        note_met(with_deadline(time, deadline, state.rendezvous->exit_barrier()), met);
    co_await race(std::move(waiting), note_change(state), state.stop_asked.wait());
  } catch (const error& failure) {
    if (failure.code() == errc::rendezvous_closed) throw;
    log().warning("cannot wait for the other agents at the end: {}", failure.what());
    co_return;
  }
  if (met) state.job_ended = job_end::succeeded;
  if (met) state.change.reset();
  if (met || state.change || state.stop) co_return;
  log().warning("some other agents did not end within the exit barrier's time-out");
}

ELASTIC_DECL task<void> local_agent::note_met(task<bool> barrier, bool& met) {
  met = co_await std::move(barrier);
}

ELASTIC_DECL task<run_result> local_agent::finish_stopped(running& state) {
  const stop_request request = *state.stop;
  co_await save_before_stop(state, request);
  co_await stop_workers(state, usual_stop(state));
  run_result result = finish(state, worker_state::stopped,
                             request.reason.empty() ? "stop requested" : request.reason);
  result.stop_signal = request.signal;
  co_return result;
}

ELASTIC_DECL task<run_result> local_agent::finish_bad_node(running& state) {
  const std::string reason = *state.group.bad_node();
  log().error("this node leaves the job: {}", reason);
  co_await stop_workers(state, usual_stop(state));
  run_result result = finish(state, worker_state::failed, reason);
  state.job_ended.reset();
  result.left_as_bad = true;
  co_return result;
}

ELASTIC_DECL run_result local_agent::finish(running& state, worker_state how, std::string reason) {
  if (how == worker_state::failed) state.job_ended = job_end::failed;
  state.end_reason = reason;
  run_result result;
  result.state = how;
  result.failures = state.group.failures(host_name());
  result.max_restarts = options_.workers.max_restarts;
  result.restarts = state.restarts;
  result.reason = std::move(reason);
  return result;
}

ELASTIC_DECL task<void> local_agent::wind_up(running& state) {
  std::exception_ptr failure;
  try {
    co_await stop_workers(state, usual_stop(state));
  } catch (...) {
    failure = std::current_exception();
  }
  state.round.reset();
  rendezvous_handler& rendezvous = *state.rendezvous;
  if (state.job_ended) {
    co_await in_order(rendezvous.close(*state.job_ended, state.end_reason));
  }
  co_await in_order(rendezvous.shutdown());
  if (failure) std::rethrow_exception(failure);
}

ELASTIC_DECL task<void> local_agent::in_order(task<void> step) {
  try {
    co_await std::move(step);
  } catch (const std::exception& failure) {
    log().warning("the rendezvous could not be left in order: {}", failure.what());
  }
}

ELASTIC_DECL void local_agent::report(running& state, run_result& result) {
  if (result.state == worker_state::succeeded) {
    state.layout.discard();
  } else {
    state.layout.discard_if_empty();
  }
  result.log_directory = state.layout.root();
  if (result.state == worker_state::failed) leave_report(state, result);
  if (result.state != worker_state::stopped) state.telemetry.emit_result(result);
  state.telemetry.record_workers(state.group, result);
  state.telemetry.record_agent(state.group, result.restarts,
                               result.state == worker_state::stopped
                                   ? std::optional<std::string>(result.reason)
                                   : std::nullopt);
}

ELASTIC_DECL void local_agent::leave_report(const running& state, const run_result& result) const {
  const std::string path = state.layout.report_file();
  if (path.empty()) return;
  std::ofstream file(path);
  file << failure_report_json(result);
  if (!file.flush()) log().warning("the report '{}' cannot be written", path);
}

ELASTIC_DECL void local_agent::log_change(const running& state,
                                          const restart_decision& decision) const {
  bool happened_here = false;
  for (const worker& one : state.group.workers()) {
    if (!one.end || one.end->status.success()) continue;
    happened_here = true;
    log().warning("{} rank {} (local rank {}, pid {}) ended: {}{}{}", one.identity.role_name,
                  one.identity.rank, one.identity.local_rank, one.pid, one.end->status.text(),
                  one.hung.empty() ? "" : ", hung: ", one.hung);
  }
  log().warning("{} the workers: {}{}", decision.restart ? "restarting" : "stopping",
                happened_here ? "" : state.change->what + ": ", decision.reason);
}

ELASTIC_DECL std::string local_agent::first_failure(const running& state) {
  const worker* const first = state.group.first_failed();
  if (!first) return "workers failed";
  const int rank = first->identity.rank;
  if (!first->hung.empty()) return fmt::format("rank {} was hung: {}", rank, first->hung);
  return fmt::format("rank {} ended: {}", rank, first->end->status.text());
}

ELASTIC_DECL const logger& local_agent::log() const { return options_.services.log; }

}  // namespace elastic
