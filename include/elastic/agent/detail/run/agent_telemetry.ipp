// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/agent_telemetry.hpp>

#include <elastic/contract/environment.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/telemetry/metric_handler.hpp>

#include <cctype>
#include <chrono>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL agent_telemetry::agent_telemetry(agent_services services, const worker_spec& spec,
                                              std::string run_id, std::string rdzv_backend)
    : services_(std::move(services)),
      role_(spec.role),
      entry_point_(spec.program.substr(spec.program.rfind('/') + 1)),
      run_id_(std::move(run_id)),
      rdzv_backend_(std::move(rdzv_backend)),
      started_(services_.time->now()) {}

ELASTIC_DECL agent_telemetry::timed_step::timed_step(agent_telemetry& telemetry, std::string step)
    : telemetry_(telemetry), step_(std::move(step)), began_(telemetry.services_.time->now()) {}

ELASTIC_DECL agent_telemetry::timed_step::~timed_step() {
  if (!telemetry_.services_.metrics) return;
  const auto took = telemetry_.services_.time->now() - began_;
  const bool failed = failed_ || std::uncaught_exceptions() > exceptions_;
  telemetry_.emit(step_ + (failed ? ".failure" : ".success"), 1);
  telemetry_.emit(step_ + ".duration.ms",
                  std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
}

ELASTIC_DECL agent_telemetry::timed_phase::timed_phase(agent_telemetry& telemetry,
                                                       std::string state)
    : telemetry_(telemetry), state_(std::move(state)), began_(telemetry.services_.time->now()) {}

ELASTIC_DECL agent_telemetry::timed_phase::~timed_phase() {
  if (!telemetry_.services_.events) return;
  const auto took = telemetry_.services_.time->now() - began_;
  event happened = telemetry_.common(std::move(state_), telemetry_.restarts_,
                                     telemetry_.group_rank_, telemetry_.group_world_size_);
  happened.duration_ms = std::chrono::duration<double, std::milli>(took).count();
  telemetry_.record(happened);
}

ELASTIC_DECL void agent_telemetry::record_start(const worker_group& group) {
  if (group.workers().empty()) return;
  group_rank_ = group.workers().front().identity.group_rank;
  group_world_size_ = group.workers().front().identity.group_world_size;
  for (const worker_group::worker& entry : group.workers()) {
    if (!entry.has_stayed) record(event_of_worker(entry, "START", restarts_));
  }
}

ELASTIC_DECL void agent_telemetry::record_replacement(std::size_t replaced, duration took) {
  event happened = common("REPLACED", restarts_, group_rank_, group_world_size_);
  happened.duration_ms = std::chrono::duration<double, std::milli>(took).count();
  record(happened);
  emit(fmt::format("workers.{}.replaced", role_), static_cast<std::int64_t>(replaced));
}

ELASTIC_DECL event agent_telemetry::event_of_worker(const worker_group::worker& entry,
                                                    std::string state, int restarts) const {
  event happened = common(std::move(state), restarts, entry.identity.group_rank,
                          entry.identity.group_world_size);
  happened.source = event::origin::worker;
  event::worker_part part;
  part.pid = entry.pid;
  part.global_rank = entry.identity.rank;
  part.local_rank = entry.identity.local_rank;
  part.role_rank = entry.identity.role_rank;
  part.role_world_size = entry.identity.role_world_size;
  happened.worker = part;
  return happened;
}

ELASTIC_DECL void agent_telemetry::emit_state(worker_state state, int remaining_restarts) {
  emit("LocalElasticAgent._monitor_workers.success", 1);
  emit("LocalElasticAgent._monitor_workers.duration.ms", 0);
  emit(fmt::format("workers.{}.remaining_restarts", role_), remaining_restarts);
  std::string name(to_string(state));
  for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
  emit(fmt::format("workers.{}.{}", role_, name), 1);
}

ELASTIC_DECL void agent_telemetry::emit_result(const run_result& result) {
  const bool failed = result.state != worker_state::succeeded;
  const int remaining = result.max_restarts - result.restarts;
  const bool retried = result.restarts > 0;
  const double steady = 100.0 * (remaining + 1) / (result.max_restarts + 1);
  emit(fmt::format("workers.{}.flakiness", role_), failed ? 100 : static_cast<int>(100 - steady));
  emit(fmt::format("workers.{}.run_total", role_), 1);
  const auto count = [&](const char* name, bool counts) {
    emit(fmt::format("workers.{}.{}", role_, name), counts ? 1 : 0);
  };
  count("run_success_with_retries", !failed && retried);
  count("run_success_no_retries", !failed && !retried);
  count("run_failed_with_retries", failed && retried);
  count("run_failed_no_retries", failed && !retried);
}

ELASTIC_DECL void agent_telemetry::record_workers(const worker_group& group,
                                                  const run_result& result) {
  for (const worker_group::worker& entry : group.workers()) {
    event happened = event_of_worker(entry, worker_event_state(entry), result.restarts);
    if (happened.state == "FAILED" && entry.end) {
      happened.worker->exit_code = entry.end->status.as_python();
    }
    if (happened.state == "FAILED") {
      const auto content = read_error_file(entry.error_file);
      happened.raw_error = content ? content->raw_json : error_without_file(*happened.worker);
      if (!content && !entry.hung.empty()) happened.raw_error = hung_error(entry.hung);
    }
    record(happened);
  }
}

ELASTIC_DECL void agent_telemetry::record_agent(const worker_group& group, int restarts,
                                                const std::optional<std::string>& failure) {
  const bool started = !group.workers().empty();
  const worker_identity who = started ? group.workers().front().identity : worker_identity{};
  event happened = common(failure ? "FAILED" : "SUCCEEDED", restarts,
                          started ? std::optional<int>(who.group_rank) : std::nullopt,
                          started ? std::optional<int>(who.group_world_size) : std::nullopt);
  happened.raw_error = failure;
  record(happened);
}

ELASTIC_DECL std::string agent_telemetry::hung_error(const std::string& reason) {
  return fmt::format(R"({{"message": {}}})", json_quoted("hung: " + reason));
}

/// Source: torch.distributed.elastic.multiprocessing.errors (2.13), `ProcessFailure`.
ELASTIC_DECL std::string agent_telemetry::error_without_file(const event::worker_part& failed) {
  if (failed.exit_code.value_or(-1) < 0) return R"({"message": "<NONE>"})";
  return R"({"message": "<NONE>", "errorTraits": {"category": "system_terminated_error", )"
         R"("retryability": "False"}})";
}

ELASTIC_DECL std::string agent_telemetry::worker_event_state(const worker_group::worker& entry) {
  if (entry.end && entry.end->status.is_success()) return "SUCCEEDED";
  return entry.end && !entry.stopped_by_agent ? "FAILED" : "TERMINATED";
}

ELASTIC_DECL event agent_telemetry::common(std::string state, int restarts,
                                           std::optional<int> group_rank,
                                           std::optional<int> group_world_size) const {
  event happened;
  happened.name = "torchelastic.worker.status." + state;
  happened.run_id = run_id_;
  happened.role = role_;
  happened.hostname = host_name();
  happened.rdzv_backend = rdzv_backend_;
  happened.state = std::move(state);
  happened.total_run_time =
      std::chrono::duration_cast<std::chrono::seconds>(services_.time->now() - started_).count();
  happened.agent_restarts = restarts;
  happened.group_rank = group_rank;
  happened.group_world_size = group_world_size;
  happened.entry_point = entry_point_;
  return happened;
}

ELASTIC_DECL void agent_telemetry::record(const event& happened) {
  if (!services_.events) return;
  try {
    services_.events->record(happened);
  } catch (const std::exception& failure) {
    services_.log.warning("the event handler failed: {}", failure.what());
  } catch (...) {
    services_.log.warning("the event handler failed");
  }
}

ELASTIC_DECL void agent_telemetry::emit(std::string name, std::int64_t value) {
  if (!services_.metrics) return;
  metric_handler::metric measured;
  measured.name = std::move(name);
  measured.value = value;
  measured.time = services_.time->wall_now();
  try {
    services_.metrics->emit(measured);
  } catch (const std::exception& failure) {
    services_.log.warning("the metric handler failed: {}", failure.what());
  } catch (...) {
    services_.log.warning("the metric handler failed");
  }
}

}  // namespace elastic::detail
