// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/agent_links.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/rendezvous/detail/fencing.hpp>
#include <elastic/rendezvous/native/detail/rendezvous_link.hpp>
#include <elastic/rendezvous/native/rendezvous_coordinator.hpp>
#include <elastic/rendezvous/native/rendezvous_service.hpp>
#include <elastic/torch/detail/host_loss.hpp>

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Whether the host did not take this node in.
inline bool is_refusal(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const error& thrown) {
    return thrown.code() == errc::invalid_argument;
  } catch (const std::exception&) {
    return false;
  }
}

ELASTIC_DECL agent_links::agent_links(asio::any_io_executor executor, options with)
    : executor_(std::move(executor)),
      network_(std::move(with.network)),
      self_(std::move(with.self)),
      members_(std::move(with.members)),
      settings_(with.settings),
      place_(std::move(with.place)),
      time_(std::move(with.time)),
      log_(std::move(with.log)),
      observed_(executor_) {
  settings_.min_nodes = settings_.max_nodes = static_cast<int>(members_.size());
  settings_.node_counts.clear();
}

ELASTIC_DECL agent_links::~agent_links() = default;

ELASTIC_DECL task<link_offer> agent_links::host() {
  link_offer offer;
  offer.password = new_link_password();
  // Its log would show the password.
  const auto job = std::make_shared<rendezvous_coordinator>(offer.password);
  const auto speaks = [](const rendezvous_coordinator&) { return true; };
  auto service = std::make_shared<rendezvous_service>(job, speaks, logger(), time_);
  // It runs on the server's strand.
  service->on_change([self = weak_from_this(), executor = executor_, members = members_,
                      node = self_,
                      last = observation()](const rendezvous_coordinator& of) mutable {
    const observation seen = observe(of, members, node);
    if (seen == last) return;
    last = seen;
    asio::post(executor, [self, seen] {
      if (const auto links = self.lock()) links->take(seen);
    });
  });
  serves_ = true;
  offer.at = co_await network_->serve(std::move(service));
  connect(offer);
  // So that nobody else decides how many there are.
  while (!link_->is_connected() && !link_->known().broken) co_await link_->news();
  co_return offer;
}

ELASTIC_DECL void agent_links::connect(link_offer offer) {
  at_ = offer.at;
  rendezvous_messages::hello greeting;
  greeting.run_id = std::move(offer.password);
  greeting.node = self_;
  greeting.settings = settings_;
  greeting.hosts = is_host();
  const duration look_again = fencing::of_end(settings_.reconnect_grace).notice;
  link_ = std::make_shared<rendezvous_link>(network_->connector_to(at_), std::move(greeting),
                                            look_again, time_, log_);
  link_->call_server("the node of group rank 0 at " + to_text(at_));
  // A host that is lost is known by then, also where nodes only look now and then.
  link_->tell_ends();
  link_->start(executor_, settings_.silence() * 2);
  rendezvous_messages::join wish;
  wish.timeout = settings_.join_timeout;
  link_->begin_join(std::move(wish));
}

ELASTIC_DECL task<void> agent_links::wait_for_all() {
  while (!link_->known().placed && !change()) {
    if (link_->known().broken && !link_->was_connected()) throw_unreachable();
    co_await link_->news();
  }
}

ELASTIC_DECL bool agent_links::are_complete() const {
  return link_ && link_->known().placed.has_value();
}

ELASTIC_DECL bool agent_links::was_refused() const {
  const bool has_ended = link_ && link_->known().broken && !link_->was_connected();
  return has_ended && is_refusal(link_->known().broken);
}

ELASTIC_DECL duration agent_links::grace() const {
  return std::max(settings_.reconnect_grace, link_->settings().reconnect_grace);
}

ELASTIC_DECL std::optional<rendezvous_change> agent_links::change() const {
  if (!link_) return std::nullopt;
  const auto& knowledge = link_->known();
  if (knowledge.change) return knowledge.change;
  if (knowledge.all_finished) return std::nullopt;
  const std::string host = to_text(at_);
  rendezvous_change lost;
  lost.kind = change_kind::node_lost;
  const time_point now = time_->now();
  if (now >= alone_notice()) {
    // Also if they had finished: they may go on without this node all the same.
    const time_point fence = host_fence(alone_since_, std::nullopt, settings_.reconnect_grace);
    lost.what = "the connections to all other nodes were lost";
    lost.grace = std::max(fence - now, duration::zero());
    return lost;
  }
  if (knowledge.refused) {
    lost.what = fmt::format("the nodes of the round did not connect: {}", knowledge.refused->why);
    return lost;
  }
  if (knowledge.closed && !knowledge.placed) {
    lost.what = fmt::format("the node of rank 0 at {} has left the round", host);
    return lost;
  }
  if (!knowledge.broken || knowledge.closed) return std::nullopt;
  if (!link_->was_connected() && !was_refused()) return std::nullopt;
  lost.what = link_->was_connected()
                  ? fmt::format("the connection to the node of rank 0 at {} was lost", host)
                  : refusal();
  return lost;
}

ELASTIC_DECL task<rendezvous_change> agent_links::wait_for_change() {
  for (;;) {
    std::optional<rendezvous_change> notice = change();
    if (notice) co_return std::move(*notice);
    co_await news();
  }
}

ELASTIC_DECL task<std::optional<rendezvous_change>> agent_links::report_failure(
    std::string reason) {
  rendezvous_messages::failed report;
  report.round = link_->known().placed->round;
  report.what = std::move(reason);
  link_->send_until_superseded(std::move(report));
  while (!change() && !link_->known().closed) co_await news();
  co_return change();
}

ELASTIC_DECL time_point agent_links::alone_notice() const {
  if (!alone_since_) return time_point::max();
  return *alone_since_ + fencing::of_end(settings_.reconnect_grace).notice;
}

ELASTIC_DECL task<void> agent_links::news() {
  const time_point notice = alone_notice();
  const bool is_over = time_->now() >= notice;
  const time_point limit = is_over ? time_point::max() : notice;
  co_await race(link_->news(), observed_.wait(), time_->sleep_until(limit));
}

ELASTIC_DECL void agent_links::say_finished() {
  rendezvous_messages::finished word;
  word.round = link_->known().placed->round;
  link_->send_until_superseded(word);
}

ELASTIC_DECL task<void> agent_links::wait_for_fence() {
  const auto kept = shared_from_this();
  co_await race(link_->wait_for_fence(), wait_while_not_alone());
}

ELASTIC_DECL task<void> agent_links::wait_while_not_alone() {
  for (;;) {
    const time_point limit = host_fence(alone_since_, std::nullopt, settings_.reconnect_grace);
    if (time_->now() >= limit) co_return;
    co_await race(time_->sleep_until(limit), observed_.wait());
  }
}

ELASTIC_DECL task<void> agent_links::wait_for_gone_besides(std::set<node_id> known) {
  while (std::includes(known.begin(), known.end(), gone_.begin(), gone_.end())) {
    co_await observed_.wait();
  }
}

ELASTIC_DECL task<time_point> agent_links::wait_for_host_loss() {
  for (;;) {
    const bool is_over = link_->known().broken && !link_->known().closed;
    if (!is_host() && is_over && link_->both_ended_at()) co_return *link_->both_ended_at();
    co_await link_->news();
  }
}

ELASTIC_DECL std::string agent_links::refusal() const {
  // What it says of that may have the password in it.
  return fmt::format(
      "the node of rank 0 at {} does not take this one in: it counts other nodes, or is of another "
      "release",
      to_text(at_));
}

ELASTIC_DECL task<void> agent_links::part() {
  if (link_) {
    co_await say_farewell();
    co_await link_->stop();
  }
  if (std::exchange(serves_, false)) co_await network_->stop();
}

ELASTIC_DECL task<void> agent_links::say_farewell() {
  if (!is_host()) {
    link_->say(rendezvous_messages::leave{});
    co_return;
  }
  rendezvous_messages::close_job word;
  word.end = job_end::succeeded;
  word.why = "the node of rank 0 has left the round";
  link_->say(word);
  const time_point limit = time_->now() + limits::rendezvous_leave_timeout;
  // What it hears, the others were sent.
  while (!link_->known().closed && !link_->known().broken && time_->now() < limit) {
    co_await race(link_->news(), time_->sleep_until(limit));
  }
}

ELASTIC_DECL auto agent_links::observe(const rendezvous_coordinator& job,
                                       const std::map<node_id, int>& members, const node_id& self)
    -> observation {
  observation seen;
  // Those of a round that never was complete may still come.
  if (!job.state().complete) return seen;
  seen.alone_since = job.alone_since(self);
  for (const auto& [node, rank] : members) {
    if (!job.knows(node)) seen.gone.insert(node);
  }
  return seen;
}

ELASTIC_DECL void agent_links::take(observation seen) {
  alone_since_ = seen.alone_since;
  gone_ = std::move(seen.gone);
  observed_.set();
  observed_.reset();
}

ELASTIC_DECL void agent_links::throw_unreachable() const {
  throw error(
      errc::connection_failed,
      fmt::format("this node ({} at {}) and the node of rank 0 at {} have both met at {}, "
                  "but cannot connect to each other: {}",
                  self_.text(), network_->address(), to_text(at_), place_, link_->last_problem()));
}

}  // namespace elastic::detail
