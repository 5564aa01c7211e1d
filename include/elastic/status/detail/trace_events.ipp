// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/trace_events.hpp>

#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/limits.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// One event, as the format names its parts; the agent's thread is 0, those of workers follow.
struct trace_events::trace_event {
  /// "B", "E" (a span begins or ends) or "i" (a moment).
  char type;
  std::int64_t thread = 0;
  std::string name = {};
  const job_event* about = nullptr;
  std::string reason = {};
};

ELASTIC_DECL std::vector<std::string> trace_events::take(const journal_record& record) {
  events_.clear();
  now_us_ = record.time_us;
  const auto present = lane_of_epoch_.find(record.epoch);
  if (present == lane_of_epoch_.end()) {
    begin_epoch(record);
  } else {
    at_ = present->second;
  }
  if (!at_->job.take(record)) return {};
  const job_event& event = record.event;
  using kind = job_event::type;
  mark(event);
  if (event.kind == kind::worker_ended) end_worker(event.local_rank.value_or(-1), event.reason);
  if (event.kind == kind::workers_stopped || event.kind == kind::rendezvous_started ||
      event.kind == kind::agent_ended) {
    end_workers();
  }
  enter(at_->job.phase(), &event);
  if (event.kind == kind::workers_started) begin_workers(event);
  return std::exchange(events_, {});
}

ELASTIC_DECL void trace_events::add(const trace_event& event) {
  const std::int64_t limit = std::int64_t{1} << 60;
  const std::int64_t time =
      std::clamp(now_us_, -limit, limit) + std::clamp(shift_us_, -limit, limit);
  std::string text = fmt::format(R"({{"ph": "{}", "pid": {}, "tid": {}, "ts": {})", event.type,
                                 at_->process, event.thread, time);
  if (!event.name.empty()) text += fmt::format(R"(, "name": {})", json_string(event.name));
  if (event.type != 'E') text += R"(, "cat": "elastic")";
  if (event.type == 'i') text += R"(, "s": "p")";
  std::string arguments;
  const auto argument = [&](const char* key, const std::string& value) {
    arguments += fmt::format(R"({}"{}": {})", arguments.empty() ? "" : ", ", key, value);
  };
  if (event.about && event.about->round) argument("round", std::to_string(*event.about->round));
  if (event.about && event.about->attempt) {
    argument("attempt", std::to_string(*event.about->attempt));
  }
  if (!event.reason.empty()) argument("reason", json_string(event.reason));
  if (!arguments.empty()) text += fmt::format(R"(, "args": {{{}}})", arguments);
  events_.push_back(text + "}");
}

ELASTIC_DECL void trace_events::name(const char* field, std::int64_t thread,
                                     std::string_view text) {
  events_.push_back(
      fmt::format(R"({{"ph": "M", "pid": {}, "tid": {}, "name": "{}", "args": {{"name": {}}}}})",
                  at_->process, thread, field, json_string(text)));
}

ELASTIC_DECL void trace_events::begin_epoch(const journal_record& record) {
  const auto [place, is_new] = lanes_.try_emplace(role_of_run(record.event));
  const std::string& role = place->first;
  at_ = &place->second;
  if (is_new) {
    at_->process = process_ + (static_cast<std::int64_t>(lanes_.size()) - 1) * processes_of_role;
  } else {
    end_workers();
    enter(agent_phase::rest);
    lane_of_epoch_.erase(at_->job.epoch());
  }
  lane_of_epoch_[record.epoch] = at_;
  name("process_name", 0, role.empty() ? record.node : fmt::format("{} on {}", role, record.node));
  name("thread_name", 0, "agent");
}

ELASTIC_DECL void trace_events::enter(agent_phase phase, const job_event* event) {
  if (phase == at_->phase) return;
  if (at_->phase != agent_phase::rest) add({.type = 'E'});
  at_->phase = phase;
  if (phase == agent_phase::rest) return;
  add({.type = 'B', .name = std::string(to_string(phase)), .about = event});
}

ELASTIC_DECL void trace_events::begin_workers(const job_event& event) {
  end_workers();
  const std::int64_t most = static_cast<std::int64_t>(limits::journal_pids);
  const std::int64_t count = std::clamp<std::int64_t>(event.local_world_size.value_or(0), 0, most);
  const std::int64_t base =
      std::clamp<std::int64_t>(event.base_rank.value_or(0), 0, std::int64_t{1} << 60);
  for (std::int64_t local = 0; local < count; ++local) {
    const std::string text = fmt::format("rank {}", base + local);
    name("thread_name", local + 1, fmt::format("local rank {}", local));
    add({.type = 'B', .thread = local + 1, .name = text, .about = &event});
    at_->workers.insert(local);
  }
}

ELASTIC_DECL void trace_events::end_worker(std::int64_t local_rank, const std::string& reason) {
  if (at_->workers.erase(local_rank) == 0) return;
  add({.type = 'E', .thread = local_rank + 1, .reason = reason});
}

ELASTIC_DECL void trace_events::end_workers() {
  while (!at_->workers.empty()) end_worker(*at_->workers.begin(), "");
}

ELASTIC_DECL void trace_events::mark(const job_event& event) {
  using kind = job_event::type;
  const bool is_end_of_failed = event.kind == kind::worker_ended && !has_succeeded(event);
  const bool is_moment =
      is_end_of_failed || event.kind == kind::worker_hung || event.kind == kind::worker_suspected ||
      event.kind == kind::round_ended || event.kind == kind::restart_decided ||
      event.kind == kind::failure_decided || event.kind == kind::stop_requested ||
      event.kind == kind::fence_reached || event.kind == kind::fault_injected ||
      event.kind == kind::checkpoint_ended || event.kind == kind::stall_found ||
      event.kind == kind::notice_given || event.kind == kind::ranks_replaced ||
      event.kind == kind::replacement_abandoned || event.kind == kind::agent_ended;
  if (!is_moment) return;
  std::string text = std::string(to_string(event.kind));
  std::int64_t thread = 0;
  const bool has_thread = at_->workers.count(event.local_rank.value_or(-1)) > 0;
  const bool is_of_worker = event.kind != kind::fault_injected &&
                                event.kind != kind::stall_found &&
                                event.kind != kind::notice_given &&
                                event.kind != kind::ranks_replaced;
  if (event.rank && is_of_worker) {
    std::string finding = is_end_of_failed ? "failed" : "hung";
    if (event.kind == kind::worker_suspected) {
      finding = event.state == "none" ? "no longer suspected" : event.state;
    }
    text = fmt::format("rank {} {}", *event.rank, finding);
  }
  if (event.rank && has_thread) thread = *event.local_rank + 1;
  add({.type = 'i', .thread = thread, .name = text, .about = &event, .reason = event.reason});
}

}  // namespace elastic::detail
