// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rounds/epoch_record.hpp>

#include <elastic/agent/failure_report.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/error.hpp>
#include <elastic/telemetry/job_event.hpp>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL epoch_record::epoch_record(const worker_spec& spec, worker_group& group,
                                        agent_journal& journal, agent_telemetry& telemetry,
                                        time_source& time, const logger& log)
    : spec_(spec),
      group_(group),
      journal_(journal),
      telemetry_(telemetry),
      time_(time),
      log_(log) {}

ELASTIC_DECL std::optional<node_epoch> epoch_record::last() {
  if (!internals::survivors_of(group_).is_on()) return std::nullopt;
  last_.survivors = internals::survivors_of(group_).ready();
  return last_;
}

ELASTIC_DECL epoch_record::entry epoch_record::take(const epoch_agreement& agreement,
                                                    rendezvous_round& round) {
  const bool is_first = last_.round < 0;
  if (!agreement.is_possible && is_first) {
    throw error(errc::invalid_argument,
                fmt::format("{} replace: {}", spec_.name_of("on_failure"), agreement.reason));
  }
  if (!agreement.keeps_survivors && !is_first) {
    log_.warning("all workers of the job restart: {}", agreement.reason);
    journal_.record(job_event::type::replacement_abandoned, agreement.reason);
  }
  round.group_rank = agreement.place;
  last_ = node_epoch();
  last_.term = round.term;
  last_.round = round.round;
  last_.place = agreement.place;
  // Until the new workers run, the round may break, and the nodes agree again.
  if (!agreement.keeps_survivors) last_.obstacle = agreement.reason;
  return {agreement.keeps_survivors, agreement.keeps_survivors && !is_first};
}

ELASTIC_DECL void epoch_record::end() {
  if (ended_) return;
  ended_ = time_.now();
  behind_since_.reset();
  const std::optional<std::int64_t> step = group_.reports().furthest_step;
  if (step) furthest_ = std::max(furthest_.value_or(*step), *step);
}

ELASTIC_DECL time_point epoch_record::begin(time_point starting) {
  const time_point ended = std::exchange(ended_, std::nullopt).value_or(starting);
  last_.obstacle.clear();
  behind_since_ = ended;
  step_.reset();
  stepped_.reset();
  return ended;
}

ELASTIC_DECL void epoch_record::report_replacement(agent_part::started_workers& start,
                                                   time_point ended) {
  for (const worker_group::worker& each : group_.workers()) {
    if (each.has_stayed) {
      ++start.stayed;
      continue;
    }
    start.replaced.push_back(each.identity.rank);
    replacements_.add(each.identity.rank);
  }
  if (change_) journal_.record_replacement(*change_, start, ended);
  telemetry_.record_replacement(start.replaced.size(), time_.now() - ended);
}

ELASTIC_DECL void epoch_record::log_replacement(const std::vector<int>& replaced,
                                                time_point ended) const {
  const double seconds = std::chrono::duration<double>(time_.now() - ended).count();
  if (replaced.empty()) {
    return log_.info("all workers of this node continued after {:.3f} s", seconds);
  }
  log_.info("rank{} {} of this node {} a new process after {:.3f} s; the others continued",
            replaced.size() == 1 ? "" : "s", rank_ranges(replaced),
            replaced.size() == 1 ? "has" : "have each", seconds);
}

ELASTIC_DECL void epoch_record::record_step(std::int64_t step) {
  const bool is_first = !step_;
  if (step > step_.value_or(-1)) {
    step_ = step;
    stepped_ = time_.now();
  }
  if (!behind_since_) return;
  if (step < furthest_.value_or(step)) {
    if (is_first) journal_.record_rollback(step);
    return;
  }
  journal_.record_step(step, *std::exchange(behind_since_, std::nullopt));
}

}  // namespace elastic::detail
