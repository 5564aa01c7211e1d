// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/worker_orders.hpp>

#include <elastic/agent/worker_state.hpp>
#include <elastic/base/race.hpp>
#include <elastic/control/detail/worker_liveness.hpp>
#include <elastic/control/worker_channels.hpp>

#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL worker_orders::worker_orders(asio::any_io_executor strand, worker_group& group,
                                          agent_parts& parts, agent_journal& journal,
                                          time_source& time, const logger& log)
    : group_(group),
      parts_(parts),
      journal_(journal),
      time_(time),
      log_(log),
      requests_(strand),
      inspections_(strand) {}

ELASTIC_DECL void worker_orders::push(const worker_request& request) {
  if (group_.state() == worker_state::healthy) requests_.push({request, nullptr});
}

ELASTIC_DECL void worker_orders::push_checkpoint(std::shared_ptr<pending_command> pending) {
  if (group_.state() != worker_state::healthy) {
    return pending->settle(false, "no checkpoint: no workers run on this node now");
  }
  const duration timeout = pending->command().within;
  requests_.push({{worker_request::kind::checkpoint, timeout}, std::move(pending)});
}

ELASTIC_DECL void worker_orders::push_inspection(std::shared_ptr<pending_command> pending) {
  if (group_.state() != worker_state::healthy) {
    return pending->settle(false, "no workers run on this node now");
  }
  inspections_.push(std::move(pending));
}

ELASTIC_DECL task<void> worker_orders::carry_out() {
  co_await race(pass_on_requests(), answer_inspections());
}

ELASTIC_DECL void worker_orders::clear() {
  requests_.clear();
  inspections_.clear();
}

ELASTIC_DECL task<void> worker_orders::pass_on_requests() {
  for (;;) {
    const order ordered = co_await requests_.pop();
    switch (ordered.request.what) {
      case worker_request::kind::pause: group_.pause(); break;
      case worker_request::kind::resume: group_.resume(); break;
      case worker_request::kind::checkpoint: co_await save_as_ordered(ordered); break;
    }
  }
}

ELASTIC_DECL task<void> worker_orders::save_as_ordered(order ordered) {
  const job_command::outcome outcome = co_await save(ordered.request.within);
  if (ordered.command) ordered.command->settle(outcome.is_done, outcome.text);
}

ELASTIC_DECL task<void> worker_orders::answer_inspections() {
  for (;;) {
    const std::shared_ptr<pending_command> pending = co_await inspections_.pop();
    const job_command::outcome outcome = co_await parts_.carry_out(pending->command());
    pending->settle(outcome.is_done, outcome.text);
  }
}

/// Sets a flag for as long as it lives.
class saving_mark {
 public:
  explicit saving_mark(bool& flag) : flag_(flag) { flag_ = true; }
  saving_mark(const saving_mark&) = delete;
  saving_mark& operator=(const saving_mark&) = delete;
  ~saving_mark() { flag_ = false; }

 private:
  bool& flag_;
};

ELASTIC_DECL task<job_command::outcome> worker_orders::save(duration timeout) {
  const time_point began = time_.now();
  const saving_mark mark(is_saving_);
  const worker_channels::checkpoint_outcome outcome = co_await group_.checkpoint(timeout);
  const duration elapsed = time_.now() - began;
  journal_.record_checkpoint(outcome, began);
  job_command::outcome answer;
  if (outcome.asked == 0) {
    answer.text = "no worker accepts requests for a checkpoint";
    log_.info("{}", answer.text);
    co_return answer;
  }
  answer.is_done = outcome.saved == outcome.asked;
  answer.text = fmt::format("checkpoint: saved by {} of {} workers in {}", outcome.saved,
                            outcome.asked, worker_liveness::text_of(elapsed));
  log_.info("{}", answer.text);
  for (const std::string& problem : outcome.problems) {
    log_.warning("checkpoint: {}", problem);
    answer.text += "; " + problem;
  }
  co_return answer;
}

}  // namespace elastic::detail
