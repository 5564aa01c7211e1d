// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/rendezvous_service.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/nodes/detail/job_file_fingerprint.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>

#include <algorithm>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL rendezvous_service::rendezvous_service(logger log, std::shared_ptr<time_source> time)
    : log_(std::move(log)), time_(std::move(time)) {
  if (!time_) time_ = new_shared<system_time>();
}

ELASTIC_DECL rendezvous_service::rendezvous_service(
    std::shared_ptr<rendezvous_coordinator> job,
    std::function<bool(const rendezvous_coordinator&)> may_answer, logger log,
    std::shared_ptr<time_source> time)
    : log_(std::move(log)), time_(std::move(time)), may_answer_(std::move(may_answer)) {
  const std::string& run_id = job->run_id();
  jobs_.emplace(run_id, std::move(job));
}

ELASTIC_DECL rendezvous_service::~rendezvous_service() {
  for (const auto& [run_id, shown] : shown_) shown.reports->end_serving(this);
}

ELASTIC_DECL void rendezvous_service::set_own_job(std::string run_id,
                                                  const rendezvous_settings& settings) {
  own_ = own_job{std::move(run_id), settings};
}

ELASTIC_DECL void rendezvous_service::show(std::string run_id,
                                           std::shared_ptr<report_exchange> reports) {
  const std::lock_guard lock(asked_mutex_);
  asked_[std::move(run_id)] = std::move(reports);
  if (!executor_) return;
  post_work(*executor_, [weak = weak_from_this()] {
    const auto service = weak.lock();
    if (!service) return;
    service->begin_showing();
    service->pass_demands();
  });
}

ELASTIC_DECL void rendezvous_service::begin_showing() {
  std::map<std::string, std::shared_ptr<report_exchange>> asked;
  {
    const std::lock_guard lock(asked_mutex_);
    asked.swap(asked_);
  }
  for (const auto& [run_id, reports] : asked) {
    end_showing(*reports);
    shown_.insert_or_assign(run_id, shown_job{reports});
    reports->begin_serving(this, [executor = *executor_, weak = weak_from_this()] {
      post_work(executor, [weak] {
        if (const auto service = weak.lock()) service->pass_demands();
      });
    });
  }
}

ELASTIC_DECL void rendezvous_service::end_showing(const report_exchange& reports) {
  const auto is_shown = [&](const auto& each) { return each.second.reports.get() == &reports; };
  const auto former = std::find_if(shown_.begin(), shown_.end(), is_shown);
  if (former == shown_.end()) return;
  if (const auto job = jobs_.find(former->first); job != jobs_.end()) {
    job->second->demand_reports(report_demand::nothing);
    job->second->take_reports();
  }
  shown_.erase(former);
}

ELASTIC_DECL void rendezvous_service::speak() {
  for (auto& [run_id, job] : jobs_) deliver(*job);
}

ELASTIC_DECL void rendezvous_service::resign() {
  for (const auto& [run_id, job] : jobs_) {
    for (const connection link : job->links()) send(link, rendezvous_messages::resigned{});
  }
}

ELASTIC_DECL task<void> rendezvous_service::run() {
  auto executor = co_await asio::this_coro::executor;
  earlier_.emplace(executor);
  {
    const std::lock_guard lock(asked_mutex_);
    executor_ = executor;
  }
  begin_showing();
  for (;;) {
    earlier_->reset();
    planned_ = next_deadline();
    co_await with_deadline(*time_, planned_, earlier_->wait());
    for (auto& [run_id, job] : jobs_) {
      job->advance(time_->now());
      if (on_change_) on_change_(*job);
      deliver(*job);
    }
    compare_waits();
  }
}

ELASTIC_DECL auto rendezvous_service::begin(client& peer) -> std::unique_ptr<conversation> {
  return std::make_unique<node_conversation>(*this, peer);
}

ELASTIC_DECL rendezvous_service::node_conversation::node_conversation(rendezvous_service& owner,
                                                                      client& peer)
    : of_(owner), id_(owner.enter(peer)), frames_(limits::first_message_bytes) {}

ELASTIC_DECL void rendezvous_service::node_conversation::received(std::string_view bytes) {
  frames_.append(bytes);
  while (const auto message = frames_.next()) {
    of_.received(id_, *message);
    frames_.raise_bound(limits::rendezvous_message_bytes);
  }
}

ELASTIC_DECL bool rendezvous_service::node_conversation::has_begun() const {
  return of_.connections_.at(id_).job != nullptr;
}

ELASTIC_DECL auto rendezvous_service::enter(client& peer) -> connection {
  connections_[++last_] = node_connection{&peer};
  return last_;
}

ELASTIC_DECL void rendezvous_service::gone(connection id) {
  const auto position = connections_.find(id);
  const std::shared_ptr<rendezvous_coordinator> job = std::move(position->second.job);
  connections_.erase(position);
  if (!job) return;
  job->disconnected(id, time_->now());
  plan(*job);
  if (on_change_) on_change_(*job);
}

ELASTIC_DECL void rendezvous_service::received(connection id, std::string_view message) {
  const rendezvous_request request = parse_rendezvous_request(message);
  node_connection& sender = connections_.at(id);
  if (const auto* greeting = std::get_if<rendezvous_messages::hello>(&request)) {
    if (!sender.job) {
      compare_files(id, *greeting);
      introduce(id, sender, greeting->run_id);
    }
    limit_nodes(id, *sender.job, greeting->node);
  } else if (const auto* second = std::get_if<rendezvous_messages::witness>(&request)) {
    // Only for a job that exists.
    if (!sender.job && jobs_.count(second->run_id) != 0) introduce(id, sender, second->run_id);
  }
  if (!sender.job) {
    throw error(errc::protocol_violation,
                "a node of the rendezvous did not say which job it is "
                "of");
  }
  const std::shared_ptr<rendezvous_coordinator> job = sender.job;
  job->received(id, request, time_->now());
  const bool is_sign = std::holds_alternative<rendezvous_messages::keep_alive>(request);
  if (!is_sign) sender.node_bytes = job->bytes_of(id);
  if (on_change_ && !is_sign) on_change_(*job);
  deliver(*job);
  plan(*job);
}

ELASTIC_DECL std::size_t rendezvous_service::held_by(connection id) const {
  const auto position = connections_.find(id);
  if (position == connections_.end()) return 0;
  return position->second.node_bytes + position->second.unsent.size();
}

ELASTIC_DECL void rendezvous_service::limit_nodes(connection id, const rendezvous_coordinator& job,
                                                  const node_id& node) {
  if (is_own(job.run_id()) || job.knows(node)) return;
  const std::size_t most = own_ ? limits::rendezvous_other_nodes : limits::nodes;
  std::size_t nodes = 0;
  for (const auto& [run_id, each] : jobs_) {
    if (!is_own(run_id)) nodes += each->size();
  }
  if (nodes < most) return;
  refuse(id, fmt::format("{} at this server have {} nodes, which is the most",
                         own_ ? "the jobs beside its own" : "the jobs", most));
}

ELASTIC_DECL void rendezvous_service::compare_files(connection id,
                                                    const rendezvous_messages::hello& greeting) {
  const std::string_view whole = job_of_role(greeting.run_id);
  if (whole.empty()) return;
  for (const auto& [run_id, job] : jobs_) {
    // The node's own role compares fingerprints itself.
    if (run_id == greeting.run_id || job_of_role(run_id) != whole) continue;
    if (const auto why = job->objection_to_file(greeting.fingerprint)) refuse(id, *why);
  }
}

ELASTIC_DECL void rendezvous_service::refuse(connection id, const std::string& why) {
  send(id, rendezvous_messages::refused{false, why});
  throw error(errc::protocol_violation, why);
}

ELASTIC_DECL void rendezvous_service::introduce(connection id, node_connection& sender,
                                                const std::string& run_id) {
  const auto position = jobs_.find(run_id);
  if (position == jobs_.end() && may_answer_) {
    throw error(errc::protocol_violation, "a node of another job than the one that meets here");
  }
  if (position == jobs_.end() && !is_own(run_id)) make_room(id);
  sender.job = position != jobs_.end() ? position->second : begin_job(run_id);
  const auto here = sender.peer->here();
  const auto there = sender.peer->there();
  const asio::ip::address node = plain_address(there.address());
  const asio::ip::address server = plain_address(here.address());
  sender.job->connected(
      id, {server.to_string(), node.to_string(), node.is_loopback() || node == server});
}

ELASTIC_DECL std::shared_ptr<rendezvous_coordinator> rendezvous_service::begin_job(
    const std::string& run_id) {
  // The term is the time of day: it increases even if the server starts again on another host or in
  // another process.
  const auto today = time_->wall_now().time_since_epoch();
  const std::int64_t milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(today).count();
  last_term_ = std::max(last_term_ + 1, milliseconds);
  auto job = new_shared<rendezvous_coordinator>(run_id, log_, last_term_);
  if (is_own(run_id)) {
    job->begin_with(own_->settings);
  } else if (own_) {
    job->bound_patience(own_->settings);
  }
  if (const auto shown = shown_.find(run_id); shown != shown_.end()) {
    shown->second.listed_version = 0;
  }
  jobs_.emplace(run_id, job);
  return job;
}

ELASTIC_DECL void rendezvous_service::make_room(connection id) {
  std::erase_if(
      jobs_, [](const auto& job) { return job.second->is_idle() && !job.second->state().closed; });
  if (jobs_.size() < limits::rendezvous_jobs) return;
  std::erase_if(jobs_,
                [this](const auto& job) { return job.second->is_idle() && !is_own(job.first); });
  if (jobs_.size() < limits::rendezvous_jobs) return;
  refuse(id,
         fmt::format("{} jobs meet at this server, which is the most", limits::rendezvous_jobs));
}

ELASTIC_DECL void rendezvous_service::pass_demands() {
  for (const auto& [run_id, shown] : shown_) {
    const auto job = jobs_.find(run_id);
    if (job != jobs_.end()) deliver(*job->second);
  }
}

ELASTIC_DECL void rendezvous_service::pass_reports(rendezvous_coordinator& job) {
  const auto place = shown_.find(job.run_id());
  if (place == shown_.end()) return;
  shown_job& shown = place->second;
  job.demand_reports(shown.reports->demand(), shown.reports->output_demand());
  const bool is_new = job.roster_version() != shown.listed_version;
  const time_point now = time_->now();
  const bool is_early =
      shown.listed_at != time_point::min() && now < shown.listed_at + limits::node_report_pause;
  shown.is_listing_due = is_new && is_early;
  if (is_new && !is_early) {
    shown.listed_version = job.roster_version();
    shown.listed_at = now;
    shown.reports->listed(job.roster());
  }
  for (const auto& report : job.take_reports()) shown.reports->reported(report.node, report.text);
}

/// The time at which viewers receive the next list that was held back; `time_point::max()` if none
/// was.
ELASTIC_DECL time_point rendezvous_service::next_listing() const {
  time_point next = time_point::max();
  for (const auto& [run_id, shown] : shown_) {
    if (!shown.is_listing_due || jobs_.count(run_id) == 0) continue;
    next = std::min<time_point>(next, shown.listed_at + limits::node_report_pause);
  }
  return next;
}

ELASTIC_DECL void rendezvous_service::update_wait(const rendezvous_coordinator& job) {
  if (job.is_short()) {
    waits_.try_emplace(job.run_id(), wait{time_->now()});
  } else {
    waits_.erase(job.run_id());
  }
}

ELASTIC_DECL time_point rendezvous_service::next_comparison() const {
  if (waits_.size() < 2) return time_point::max();
  std::vector<time_point> begun;
  for (const auto& [run_id, each] : waits_) begun.push_back(each.since);
  std::nth_element(begun.begin(), begun.begin() + 1, begun.end());
  const time_point second = begun[1];
  time_point next = time_point::max();
  for (const auto& [run_id, each] : waits_) {
    if (!each.is_told) next = std::min(next, std::max(each.since, second) + other_job_patience);
  }
  return next;
}

ELASTIC_DECL void rendezvous_service::compare_waits() {
  const time_point begun = time_->now() - other_job_patience;
  std::vector<std::string> names;
  for (const auto& [run_id, each] : waits_) {
    if (each.since <= begun) names.push_back(run_id);
  }
  if (names.size() < 2) return;
  for (const std::string& name : names) {
    if (std::exchange(waits_.at(name).is_told, true)) continue;
    const std::string& other = name == names.front() ? names[1] : names.front();
    const auto job = jobs_.find(name);
    if (job == jobs_.end()) continue;
    job->second->notify_waiting(
        fmt::format("another job, '{}', waits for nodes at the same endpoint: if both are to be "
                    "one job, give all of its nodes the same run id",
                    printable_text(other)));
    deliver(*job->second);
  }
}

ELASTIC_DECL void rendezvous_service::deliver(rendezvous_coordinator& job) {
  update_wait(job);
  pass_reports(job);
  const bool may_answer = !may_answer_ || may_answer_(job);
  if (may_answer) send_held();
  for (const auto& answer : job.take_answers()) {
    const bool is_told = may_answer || passes(answer.to, answer.what);
    is_told ? send(answer.to, answer.what) : hold(answer.to, answer.what);
  }
  for (const connection id : job.take_dropped()) {
    const auto position = connections_.find(id);
    if (position == connections_.end()) continue;
    const bool ends_now = may_answer || (may_pass_ && holds_nothing_for(id));
    has_held_ = has_held_ || !ends_now;
    position->second.ends_then = true;
    if (ends_now) hang_up(id);
  }
}

ELASTIC_DECL bool rendezvous_service::passes(connection link, const rendezvous_answer& what) const {
  if (!may_pass_ || !may_pass_(what)) return false;
  return holds_nothing_for(link) || std::holds_alternative<rendezvous_messages::alive>(what);
}

ELASTIC_DECL bool rendezvous_service::holds_nothing_for(connection link) const {
  const auto position = connections_.find(link);
  return position == connections_.end() || position->second.unsent.empty();
}

ELASTIC_DECL void rendezvous_service::hang_up(connection link) {
  const auto position = connections_.find(link);
  if (position != connections_.end()) position->second.peer->hang_up();
}

ELASTIC_DECL void rendezvous_service::hold(connection link, const rendezvous_answer& what) {
  const auto position = connections_.find(link);
  if (position == connections_.end() || position->second.ends_then) return;
  node_connection& held = position->second;
  has_held_ = true;
  append_frame(held.unsent, to_text(what));
  if (held.unsent.size() <= limits::rendezvous_held_bytes) return;
  log_.info(
      "rendezvous of job '{}': disconnected a node: more than {} bytes of answers wait until a "
      "majority of the endpoints knows what they follow from",
      held.job->run_id(), limits::rendezvous_held_bytes);
  held.unsent = {};
  held.ends_then = true;
  hang_up(link);
}

ELASTIC_DECL void rendezvous_service::send_held() {
  if (!std::exchange(has_held_, false)) return;
  std::vector<connection> waiting;
  for (const auto& [id, each] : connections_) {
    if (!each.unsent.empty() || each.ends_then) waiting.push_back(id);
  }
  for (const connection id : waiting) {
    const auto position = connections_.find(id);
    if (position == connections_.end()) continue;
    const bool ends_then = position->second.ends_then;
    position->second.peer->send(std::exchange(position->second.unsent, {}));
    if (ends_then) hang_up(id);
  }
}

ELASTIC_DECL void rendezvous_service::send(connection link, const rendezvous_answer& what) {
  const auto position = connections_.find(link);
  if (position == connections_.end()) return;
  frame_.clear();
  append_frame(frame_, to_text(what));
  position->second.peer->send(frame_);
}

ELASTIC_DECL time_point rendezvous_service::next_deadline() const {
  time_point next = time_point::max();
  for (const auto& [run_id, job] : jobs_) next = std::min(next, job->next_deadline());
  return std::min({next, next_listing(), next_comparison()});
}

ELASTIC_DECL void rendezvous_service::plan(const rendezvous_coordinator& job) {
  if (!earlier_) return;
  const bool is_more_due = next_listing() != time_point::max() || waits_.size() > 1;
  if (job.next_deadline() < planned_ || (is_more_due && next_deadline() < planned_)) {
    earlier_->set();
  }
}

}  // namespace elastic::detail
