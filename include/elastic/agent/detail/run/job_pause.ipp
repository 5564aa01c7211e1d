// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/job_pause.hpp>

#include <elastic/base/error.hpp>
#include <elastic/telemetry/job_event.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL job_pause::job_pause(const std::shared_ptr<rendezvous_handler>& rendezvous,
                                  agent_journal& journal, const logger& log)
    : rendezvous_(rendezvous), journal_(journal), log_(log) {}

ELASTIC_DECL void job_pause::begin(std::shared_ptr<pending_command> pending) {
  if (is_own_ && reason_) {
    return pending->settle(true, fmt::format("the job is already {}", *reason_));
  }
  if (!rendezvous_) return pending->settle(false, "not paused: this node was in no round yet");
  const std::string why =
      fmt::format("paused at {} {}", journal_.node(), pending->command().reason);
  try {
    rendezvous_->pause(why, true);
  } catch (const error& refusal) {
    return pending->settle(false, fmt::format("not paused: {}", refusal.what()));
  }
  is_own_ = true;
  note(why);
  pending_ = std::move(pending);
}

ELASTIC_DECL void job_pause::resume(pending_command& pending) {
  if (!is_own_) {
    return pending.settle(
        false, reason_ ? fmt::format("not resumed: the job is {}; resume it there", *reason_)
                       : std::string("not resumed: this node has not paused the job"));
  }
  rendezvous_->resume();
  is_own_ = false;
  reason_.reset();
  const std::string how = "resumed " + pending.command().reason;
  log_.warning("the job is {}", how);
  journal_.record(job_event::type::job_resumed, how);
  pending_.reset();
  pending.settle(true, "the job resumes: its nodes meet");
}

ELASTIC_DECL void job_pause::note(std::string why) {
  if (reason_) return;
  log_.warning("the job is {}", why);
  journal_.record(job_event::type::job_paused, why);
  reason_ = std::move(why);
}

ELASTIC_DECL void job_pause::settle() {
  if (pending_) pending_->settle(true, "the job is paused: no worker of this node runs");
  pending_.reset();
}

}  // namespace elastic::detail
