// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/output_sender.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/detail/output_feed.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace elastic::detail {

ELASTIC_DECL output_sender::output_sender(std::shared_ptr<job_monitor_core> monitor,
                                          std::shared_ptr<output_tails> tails,
                                          const agent_part::context& agent)
    : monitor_(std::move(monitor)),
      tails_(std::move(tails)),
      time_(agent.time),
      log_(agent.log),
      strand_(agent.strand),
      tasks_(agent.strand) {}

ELASTIC_DECL void output_sender::start() {
  monitor_->on_output_demand([weak = weak_from_this(), strand = strand_] {
    post_work(strand, [weak] {
      if (const auto self = weak.lock()) self->wake();
    });
  });
}

ELASTIC_DECL task<void> output_sender::end() {
  is_ending_ = true;
  const time_point deadline = time_->now() + farewell;
  co_await with_deadline(*time_, deadline, tasks_.wait());
  while (monitor_->awaits_output_end() && time_->now() < deadline) {
    const time_point next = time_->now() + limits::output_look;
    co_await time_->sleep_until(next);
  }
}

ELASTIC_DECL task<void> output_sender::close() {
  monitor_->on_output_demand({});
  is_running_ = true;
  return tasks_.stop();
}

ELASTIC_DECL void output_sender::wake() {
  if (std::exchange(is_running_, true)) return;
  tasks_.spawn(run(shared_from_this()));
}

ELASTIC_DECL task<void> output_sender::run(std::shared_ptr<output_sender> self) {
  for (;;) {
    // In this order: a connection that breaks in between is noticed at the next look.
    const int breaks = self->monitor_->breaks();
    const auto wanted = new_shared<const output_request>(self->monitor_->wanted_output());
    self->update(*wanted, breaks);
    if (wanted->readings.empty()) break;
    const bool has_sent = co_await self->send_all(wanted);
    if (self->is_ending_ && !has_sent && !self->monitor_->has_unsent_output()) break;
    const time_point next = self->time_->now() + limits::output_look;
    co_await self->time_->sleep_until(next);
  }
  self->is_running_ = false;
}

/// Result: whether there was anything to send.
ELASTIC_DECL task<bool> output_sender::send_all(std::shared_ptr<const output_request> wanted) {
  bool has_sent = false;
  // Each reading comes first at a time when lines can be sent, so that none waits for another.
  if (monitor_->has_unsent_output()) co_return has_sent;
  ++turn_;
  for (std::size_t index = 0; index < wanted->readings.size(); ++index) {
    const auto& entry = wanted->readings[(turn_ + index) % wanted->readings.size()];
    if (entry.is_paused || monitor_->has_unsent_output()) continue;
    const bool has_lines = co_await send_some(entry.id);
    has_sent = has_sent || has_lines;
  }
  co_return has_sent;
}

/// A connection that breaks takes the demand with it for a while. Afterwards readings go on where
/// they were, and the viewer is told where that is, since lines were lost with the connection.
ELASTIC_DECL void output_sender::update(const output_request& wanted, int breaks) {
  if (wanted.readings.empty()) return;
  const bool is_connected_again = std::exchange(breaks_, breaks) != breaks;
  std::map<std::int64_t, sending> present;
  for (const output_request::entry& entry : wanted.readings) {
    auto known = sendings_.extract(entry.id);
    if (known) {
      sending& mine = present.insert(std::move(known)).position->second;
      if (!is_connected_again || !mine.feed) continue;
      mine.feed->restate();
      mine.told = output_stage::behind;
    } else {
      auto feed = new_shared<output_feed>(entry.reading);
      present.emplace(entry.id, sending{std::move(feed), entry.reading.follows});
    }
  }
  sendings_ = std::move(present);
}

/// Result: whether there was anything to send.
ELASTIC_DECL task<bool> output_sender::send_some(std::int64_t id) {
  bool has_sent = false;
  sending& mine = sendings_.at(id);
  if (!mine.feed) co_return has_sent;
  const bool has_ended =
      mine.told >= (mine.follows ? output_stage::ended : output_stage::drained);
  if (is_ending_) mine.feed->stop_following();
  for (int part = 0; part < limits::node_reports_at_once && !has_ended; ++part) {
    task<std::optional<std::vector<output_piece>>> reading =
        read_output(mine.feed, tails_, time_, output_report_lines_bytes);
    std::optional<std::vector<output_piece>> pieces = co_await std::move(reading);
    output_report report{id, {}};
    if (pieces) report.pieces = std::move(*pieces);
    report.lacks_out = mine.feed->lacks_out();
    const bool is_drained = !pieces || mine.feed->is_drained();
    const output_stage most = is_ending_ ? output_stage::ended : output_stage::drained;
    if (is_drained) report.stage = most;
    const bool is_news = is_drained && std::exchange(mine.told, report.stage) != report.stage;
    const bool sends = is_news || !report.pieces.empty();
    if (sends) monitor_->send_output(to_text(report));
    has_sent = has_sent || sends;
    if (!pieces) {
      log_.warning("the output of the workers is not sent: their log directory does not answer");
      // A thread may still use it.
      mine.feed.reset();
    }
    if (is_drained) break;
  }
  co_return has_sent;
}

}  // namespace elastic::detail
