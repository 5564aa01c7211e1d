// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/rendezvous_coordinator.hpp>

#include <elastic/base/detail/quantity.hpp>
#include <elastic/base/detail/stable_order.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/job_file_fingerprint.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// "2:4", or "2,4,8".
inline std::string sizes_of(const rendezvous_settings& settings) {
  if (!settings.node_counts.empty()) return node_counts_text(settings.node_counts);
  return fmt::format("{}:{}", settings.min_nodes, settings.max_nodes);
}

ELASTIC_DECL rendezvous_coordinator::rendezvous_coordinator(std::string run_id, logger log,
                                                            std::int64_t term)
    : run_id_(std::move(run_id)), log_(std::move(log)), term_(term) {}

ELASTIC_DECL void rendezvous_coordinator::begin_with(const rendezvous_settings& settings) {
  settings_ = settings;
  has_settings_ = true;
}

ELASTIC_DECL void rendezvous_coordinator::inherit(const round_register& kept,
                                                  std::uint64_t own_node,
                                                  const rendezvous_settings& settings,
                                                  time_point now, time_point begin) {
  begin_with(settings);
  is_elected_ = true;
  own_node_ = own_node;
  newest_.round = kept.round;
  newest_.members = kept.members;
  newest_.leader_node = kept.leader_node;
  own_fence_.begin_round(kept.members.size(), kept.leader_node != 0);
  restarts_ = kept.restarts;
  // The reports of nodes about a former server matter only if no server knows it.
  has_made_round_ = kept.round >= 0;
  for (const exclusion& who : kept.excluded) excluded_.add(who, now);
  ending_ = kept.ending;
  // The nodes that know of the success may be gone. A node that looks for a round must still learn
  // of it.
  if (kept.all_finished && !ending_) {
    ending_ = job_ending{rendezvous_handler::job_end::succeeded, "all workers succeeded"};
  }
  state_.closed = ending_.has_value();
  for (const std::uint64_t number : kept.members) expect(number, now + settings.silence());
  if (begin > now) expect(0, begin);
  is_inherited_ = !state_.participants.empty();
  state_.complete = is_inherited_;
  state_.round = is_inherited_ ? std::max<std::int64_t>(kept.round, 0) : kept.round + 1;
  if (!is_inherited_) return;
  all_finished_ = some_finished_ = kept.all_finished;
  if (all_finished_) return;
  change_ = rendezvous_messages::changed{
      state_.round, rendezvous_change{rendezvous_change::cause::node_lost,
                                      "another node leads the job now", restarts_}};
}

ELASTIC_DECL round_register rendezvous_coordinator::content() const {
  round_register value;
  value.round = newest_.round;
  value.members = newest_.members;
  value.leader_node = newest_.leader_node;
  value.restarts = restarts_;
  value.all_finished = all_finished_;
  value.excluded = excluded_.in_full();
  value.ending = ending_;
  return value;
}

ELASTIC_DECL void rendezvous_coordinator::received(connection link,
                                                   const rendezvous_request& request,
                                                   time_point now) {
  if (ends_.count(link) == 0) {
    dropped_.push_back(link);
    return;
  }
  if (const auto* greeting = std::get_if<rendezvous_messages::hello>(&request)) {
    welcome(link, *greeting, now);
    return;
  }
  if (const auto* second = std::get_if<rendezvous_messages::witness>(&request)) {
    welcome_witness(link, second->node);
    return;
  }
  const auto position = nodes_.find(link);
  if (position == nodes_.end()) {
    dropped_.push_back(link);
    return;
  }
  const node_id node = position->second;
  members_.at(node).contact.heard = now;
  std::visit([&](const auto& content) { take(node, content, now); }, request);
  settle(now);
}

ELASTIC_DECL void rendezvous_coordinator::disconnected(connection link, time_point now) {
  ends_.erase(link);
  if (const auto second = witnesses_.find(link); second != witnesses_.end()) {
    member& entry = members_.at(second->second);
    witnesses_.erase(second);
    entry.contact.end_witness(now);
    wake_at(entry.contact.lost_at(settings_));
    wake_for_fence(now);
    return;
  }
  const auto position = nodes_.find(link);
  if (position == nodes_.end()) return;
  const node_id node = position->second;
  member& gone = members_.at(node);
  nodes_.erase(position);
  gone.contact.end_link(now);
  wake_at(gone.contact.lost_at(settings_));
  wake_for_fence(now);
  mark_absent(node, gone, now);
}

ELASTIC_DECL void rendezvous_coordinator::wake_for_fence(time_point now) {
  if (own_fence_.is_on()) wake_at(now + settings_.reconnect_grace / 2);
}

ELASTIC_DECL time_point rendezvous_coordinator::own_fence_due() const {
  if (!own_fence_.applies() || all_finished_) return time_point::max();
  std::optional<time_point> since = own_fence_.last_loss();
  for (const auto& [node, other] : members_) {
    if (!other.was_in_newest || node.number.high == own_node_) continue;
    if (other.contact.link || other.contact.witness) return time_point::max();
    since = std::max(since.value_or(time_point::min()), other.contact.last_end());
  }
  return since ? *since + settings_.reconnect_grace / 2 : time_point::max();
}

ELASTIC_DECL void rendezvous_coordinator::fence_if_alone(time_point now) {
  if (now < own_fence_due()) return;
  own_fence_.reach();
  for (auto& [node, entry] : members_) {
    if (node.number.high != own_node_) continue;
    for (const connection link : entry.contact.connections()) {
      disconnected(link, now);
      dropped_.push_back(link);
    }
    return;
  }
}

ELASTIC_DECL void rendezvous_coordinator::advance(time_point now) {
  if (now < next_) return;
  fence_if_alone(now);
  for (const node_id& node : overdue_nodes(now)) give_up(node, now);
  if (!excluded_.is_empty()) ++content_version_;
  excluded_.remove_expired(now);
  settle_all_ = true;
  settle(now);
  plan_next(now);
}

ELASTIC_DECL void rendezvous_coordinator::welcome(connection link,
                                                  const rendezvous_messages::hello& request,
                                                  time_point now) {
  if (nodes_.count(link) != 0) {
    dropped_.push_back(link);
    return;
  }
  if (const auto why = objection(request)) return refuse(link, *why);
  if (!make_room_for(request.node, now)) return refuse(link, no_room());
  if (members_.empty() && !has_settings_) {
    settings_ = request.settings;
    if (most_patience_) settings_.bound_patience(*most_patience_);
  }
  if (members_.empty() || fingerprint_.empty()) fingerprint_ = request.fingerprint;
  recognize(request.node);
  const bool is_new = members_.count(request.node) == 0;
  member& node = connect(link, request, now);
  take_over(request, node, now);
  list(request.node, node);
  greet(request.node, node, is_new);
  if (!is_new && !ending_) repeat_news(request.node, now);
}

ELASTIC_DECL auto rendezvous_coordinator::connect(connection link,
                                                  const rendezvous_messages::hello& request,
                                                  time_point now) -> member& {
  member& node = members_[request.node];
  // A node that connects again knows that its former connections are useless, even if the server
  // has not noticed yet.
  for (const connection former : node.contact.connections()) drop(former);
  nodes_[link] = request.node;
  node.contact.begin(link, now);
  node.ends = ends_[link];
  mark_present(request.node, node);
  node.hosts = request.hosts;
  node.former = request.former;
  node.has_reports = request.has_reports;
  node.name = request.name;
  wake_at(now + settings_.silence());
  return node;
}

ELASTIC_DECL void rendezvous_coordinator::greet(const node_id& node, member& entry, bool is_new) {
  // The others continue without a node that this leader fenced, even if it is back at once.
  const bool is_fenced = own_fence_.is_reached() && node.number.high == own_node_;
  answer(entry, rendezvous_messages::welcome{!is_new && !is_fenced, settings_, term_});
  ask_for_reports(entry);
  if (ending_) answer(entry, rendezvous_messages::closed{ending_->how, ending_->why});
}

ELASTIC_DECL void rendezvous_coordinator::refuse(connection link, std::string why) {
  ends_.erase(link);
  answers_.push_back({link, rendezvous_messages::refused{false, std::move(why)}});
}

ELASTIC_DECL std::size_t rendezvous_coordinator::most_connected() const {
  return 2 * static_cast<std::size_t>(settings_.max_nodes) + limits::rendezvous_spare_nodes;
}

ELASTIC_DECL bool rendezvous_coordinator::make_room_for(const node_id& node, time_point now) {
  const auto known = members_.find(node);
  const bool takes_up_its_own = known != members_.end() && known->second.contact.link;
  if (takes_up_its_own || nodes_.size() < most_connected()) return true;
  if (idle_.size() == 0) return false;
  // A node that is still interested connects again, and is welcomed again.
  give_up(node_id(idle_.first()), now);
  return true;
}

ELASTIC_DECL std::string rendezvous_coordinator::no_room() const {
  return fmt::format(
      "the job '{}' has {} nodes, the most to which its server keeps connections if max_nodes is "
      "{}: twice as many, plus {}",
      run_id_, most_connected(), settings_.max_nodes, limits::rendezvous_spare_nodes);
}

ELASTIC_DECL void rendezvous_coordinator::mark_present(const node_id& node, member& entry) {
  gone_.remove(entry.gone);
  idle_.remove(entry.idle);
  if (!entry.has_asked) entry.idle = idle_.add(node);
}

ELASTIC_DECL void rendezvous_coordinator::mark_absent(const node_id& node, member& entry,
                                                      time_point now) {
  idle_.remove(entry.idle);
  const bool has_place = state_.participants.count(node) != 0 || state_.wait_list.count(node) != 0;
  entry.gone = gone_.add(node, has_place);
  const std::size_t most =
      static_cast<std::size_t>(settings_.max_nodes) + limits::rendezvous_gone_nodes;
  if (gone_.size() <= most) return;
  give_up(node_id(gone_.first()), now);
  // Other nodes may have to be notified.
  wake_at(now);
}

ELASTIC_DECL std::size_t rendezvous_coordinator::bytes_of(connection link) const {
  const auto position = nodes_.find(link);
  if (position == nodes_.end()) return 0;
  // The node's name is stored in several tables.
  constexpr std::size_t copies = 6;
  const node_id& node = position->second;
  const member& entry = members_.at(node);
  return sizeof(member) + copies * (sizeof(node_id) + node.host.size()) + entry.name.size() +
         entry.offer.address.size() + entry.own_addresses.size() +
         (entry.former ? entry.former->server.size() : 0) + (entry.pause ? entry.pause->size() : 0);
}

ELASTIC_DECL void rendezvous_coordinator::welcome_witness(connection link, const node_id& node) {
  const auto position = members_.find(node);
  const bool has_spoken = nodes_.count(link) != 0 || witnesses_.count(link) != 0;
  if (position == members_.end() || has_spoken) {
    dropped_.push_back(link);
    return;
  }
  node_contact& contact = position->second.contact;
  if (contact.witness) drop(*contact.witness);
  contact.begin_witness(link);
  witnesses_[link] = node;
}

ELASTIC_DECL void rendezvous_coordinator::drop(connection link) {
  nodes_.erase(link);
  witnesses_.erase(link);
  ends_.erase(link);
  dropped_.push_back(link);
}

ELASTIC_DECL std::optional<std::string> rendezvous_coordinator::objection(
    const rendezvous_messages::hello& request) const {
  if (request.version != rendezvous_messages::hello::current_version) {
    return fmt::format("this node speaks version {} of the rendezvous, the server version {}",
                       request.version, rendezvous_messages::hello::current_version);
  }
  if (request.settings.keep_alive_interval <= duration::zero()) {
    return std::string("the keep-alive interval must be over 0");
  }
  const std::int64_t reported_round = request.former ? request.former->round : 0;
  // A node may have reported the largest number, and this server may have continued from there.
  const std::int64_t most_round = std::max(limits::rendezvous_told_number, state_.round);
  const std::int64_t highest_term = std::max(limits::rendezvous_told_number, term_);
  if (reported_round > most_round || request.highest_term > highest_term) {
    return fmt::format("this node reports round {} of server {}, and the largest number is {}",
                       reported_round, request.highest_term, std::min(most_round, highest_term));
  }
  const bool differs = request.settings.min_nodes != settings_.min_nodes ||
                       request.settings.max_nodes != settings_.max_nodes ||
                       request.settings.node_counts != settings_.node_counts;
  if (differs && (!members_.empty() || has_settings_)) {
    return fmt::format(
        "the job '{}' was started with {} nodes, but this node with {}: another job has this run "
        "id, or the numbers of nodes differ",
        run_id_, sizes_of(settings_), sizes_of(request.settings));
  }
  return objection_to_file(request.fingerprint);
}

ELASTIC_DECL std::optional<std::string> rendezvous_coordinator::objection_to_file(
    std::string_view fingerprint) const {
  if (members_.empty()) return std::nullopt;
  return detail::objection_to_file(run_id_, fingerprint_, fingerprint);
}

ELASTIC_DECL void rendezvous_coordinator::take_over(const rendezvous_messages::hello& request,
                                                    const member& node, time_point now) {
  ++content_version_;
  const bool had_server = request.highest_term != 0 && request.highest_term != term_;
  // The clock of this host may be behind that of the former server's host. With several servers,
  // the election has already raised the term.
  if (request.highest_term > term_ && !is_elected_) term_ = request.highest_term + 1;
  if (request.former) {
    restarts_ = std::max(restarts_, request.former->restarts);
    begin_at(request.former->round + 1);
  }
  if (has_made_round_) return;
  const duration silence = std::max(settings_.silence(), request.settings.silence());
  if (request.former) {
    for (const exclusion& who : request.excluded) excluded_.add(who, now);
    former_.reported(*request.former, node.ends.here, silence, now);
  }
  // With several servers, the register records which rounds existed.
  if (had_server && !is_elected_) former_.reported_server(request.highest_term, silence, now);
  wake_at(former_.over_at());
}

ELASTIC_DECL void rendezvous_coordinator::apply_account(const member& node, std::int64_t after) {
  begin_at(after + 1);
  if (has_made_round_) return;
  if (node.hosts) former_.host_joined();
  if (node.former) former_.joined(*node.former);
}

ELASTIC_DECL void rendezvous_coordinator::begin_at(std::int64_t round) {
  next_round_ = std::max(next_round_, round);
  // A round that is not complete may be renumbered: no node knows its number.
  if (!state_.complete) state_.round = std::max(state_.round, next_round_);
}

ELASTIC_DECL void rendezvous_coordinator::repeat_news(const node_id& node, time_point now) {
  if (!state_.complete || state_.participants.count(node) == 0) return;
  const member& entry = members_.at(node);
  if (!entry.join_deadline && !is_inherited_) answer_placed(node, entry, now);
  if (change_) answer(node, *change_);
  if (all_finished_) answer(node, rendezvous_messages::all_finished{state_.round});
}

ELASTIC_DECL void rendezvous_coordinator::take(const node_id& node,
                                               const rendezvous_messages::join& request,
                                               time_point now) {
  member& entry = members_.at(node);
  entry.has_asked = true;
  idle_.remove(entry.idle);
  // No server can have made this round.
  if (request.after > std::max(limits::rendezvous_told_number, state_.round)) {
    const std::string why =
        fmt::format("this node reports round {}, which never existed", request.after);
    return answer(node, rendezvous_messages::refused{false, why});
  }
  entry.join_timeout = request.timeout;
  entry.join_deadline = now + request.timeout;
  entry.knows_standby = false;
  entry.offer = request.offer;
  entry.own_addresses = request.addresses;
  joining_.insert(node);
  wake_at(*entry.join_deadline);
  apply_account(entry, request.after);
  // The nodes of the round learned of the pause when the round ended.
  if (is_paused() && state_.participants.count(node) == 0) {
    answer(node, rendezvous_messages::on_hold{"the job pauses"});
  }
  if (!state_.complete || state_.participants.count(node) == 0) return step(node, entry, now);
  // If this is the round that the node asked for, the request is a repetition. An inherited round
  // is no such case: the former server may not have placed the node in it.
  if (request.after < state_.round && !is_inherited_) return step(node, entry, now);
  // The round must end: otherwise nodes whose workers have succeeded would wait for this node, or
  // consider the job done.
  if (some_finished_ && !entry.has_finished) {
    announce(rendezvous_change::cause::node_lost,
             fmt::format("node {} meets again before its workers have succeeded", node.text()));
  }
  announce(rendezvous_change::cause::node_waiting,
           fmt::format("node {} waits to join", node.text()));
  if (entry.has_finished) --finished_;
  carry_out(round_action::leave_to_rejoin, "meets again", node, now);
  step(node, entry, now);
}

ELASTIC_DECL void rendezvous_coordinator::take(const node_id& node,
                                               const rendezvous_messages::keep_alive&, time_point) {
  answer(node, rendezvous_messages::alive{});
}

ELASTIC_DECL void rendezvous_coordinator::take(const node_id& node,
                                               const rendezvous_messages::failed& request,
                                               time_point) {
  if (ending_) return answer(node, rendezvous_messages::closed{ending_->how, ending_->why});
  const bool is_in = state_.complete && state_.participants.count(node) != 0;
  if (!is_in || request.round != state_.round) {
    const rendezvous_change over{rendezvous_change::cause::node_lost,
                                 fmt::format("round {} is over", request.round), restarts_};
    return answer(node, rendezvous_messages::changed{request.round, over});
  }
  if (change_) return answer(node, *change_);
  // Workers also fail because their peers vanish. Such a failure counts as a lost node, not against
  // the restarts.
  if (const auto missing = missing_participant()) {
    return announce(rendezvous_change::cause::node_lost,
                    fmt::format("node {} is gone", name_of(*missing)));
  }
  restarts_ = std::min(restarts_ + 1, limits::job_restarts);
  ++content_version_;
  announce(rendezvous_change{rendezvous_change::cause::worker_failed,
                             fmt::format("node {}: {}", node.text(), request.what)},
           state_.participants.at(node));
}

ELASTIC_DECL void rendezvous_coordinator::take(const node_id& node,
                                               const rendezvous_messages::finished& request,
                                               time_point) {
  if (!state_.complete || request.round != state_.round) return;
  if (state_.participants.count(node) == 0) return;
  if (!std::exchange(members_.at(node).has_finished, true)) ++finished_;
  some_finished_ = true;
  check_all_finished();
  if (all_finished_) answer(node, rendezvous_messages::all_finished{state_.round});
}

ELASTIC_DECL void rendezvous_coordinator::take(const node_id& node,
                                               const rendezvous_messages::pause& request,
                                               time_point) {
  if (ending_) return;
  std::optional<std::string>& pause = members_.at(node).pause;
  if (!pause) ++pauses_;
  pause = request.why;
  log_.info("rendezvous of job '{}': {}", run_id_, request.why);
  rendezvous_change change{rendezvous_change::cause::node_waiting, request.why};
  change.is_pause = true;
  change.saves_first = request.saves_first;
  announce(std::move(change));
}

ELASTIC_DECL void rendezvous_coordinator::take(const node_id& node,
                                               const rendezvous_messages::resume&, time_point now) {
  end_pause(node, now);
}

ELASTIC_DECL void rendezvous_coordinator::end_pause(const node_id& node, time_point now) {
  std::optional<std::string>& pause = members_.at(node).pause;
  if (!std::exchange(pause, std::nullopt) || --pauses_ > 0) return;
  log_.info("rendezvous of job '{}': the pause is over", run_id_);
  begin_waits_again(now);
}

ELASTIC_DECL void rendezvous_coordinator::suspend(bool is_suspended, time_point now) {
  if (std::exchange(is_suspended_, is_suspended) == is_suspended || is_suspended) return;
  begin_waits_again(now);
  settle(now);
  plan_next(now);
}

ELASTIC_DECL void rendezvous_coordinator::begin_waits_again(time_point now) {
  for (const node_id& waiting : counted(joining_)) {
    member& entry = members_.at(waiting);
    entry.join_deadline = now + entry.join_timeout;
  }
  settle_all_ = true;
}

ELASTIC_DECL void rendezvous_coordinator::take(const node_id& node,
                                               const rendezvous_messages::leave& request,
                                               time_point now) {
  if (request.keep_out > duration::zero()) {
    exclude({members_.at(node).name, request.keep_out, request.why}, now);
  }
  drop(*members_.at(node).contact.link);
  remove(node, "left", now);
}

ELASTIC_DECL void rendezvous_coordinator::take(const node_id& sender,
                                               const rendezvous_messages::close_job& request,
                                               time_point) {
  if (ending_) return answer(sender, rendezvous_messages::closed{ending_->how, ending_->why});
  // It must fit into the register of several servers, along with everything else there.
  ending_ = job_ending{request.end, short_line(request.why, limits::ending_text_bytes)};
  ++content_version_;
  state_.closed = true;
  log_.info("rendezvous of job '{}': closed: {}", run_id_, ending_->why);
  for (const auto& [node, entry] : counted(members_)) {
    if (entry.join_deadline) continue;
    answer(entry, rendezvous_messages::closed{ending_->how, ending_->why});
  }
  settle_all_ = true;
}

ELASTIC_DECL void rendezvous_coordinator::take(const node_id& node,
                                               const rendezvous_messages::report& request,
                                               time_point) {
  reports_.add(members_.at(node).key, request.text);
}

ELASTIC_DECL node_id rendezvous_coordinator::former_node(std::uint64_t number) {
  return {"former", -1, 0, {number, 0}};
}

ELASTIC_DECL std::string rendezvous_coordinator::name_of(const node_id& node) {
  return node.pid < 0 ? "of the former server" : node.text();
}

ELASTIC_DECL void rendezvous_coordinator::expect(std::uint64_t number, time_point until) {
  const node_id node = former_node(number);
  state_.participants.emplace(node, static_cast<int>(state_.participants.size()));
  member& entry = members_[node];
  entry.contact.heard = until - settings_.silence();
  entry.has_asked = true;
  wake_at(until);
}

ELASTIC_DECL void rendezvous_coordinator::recognize(const node_id& node) {
  const auto position = state_.participants.find(former_node(node.number.high));
  if (position == state_.participants.end() || node.number.high == 0) return;
  state_.participants.emplace(node, position->second);
  state_.participants.erase(position);
  auto entry = members_.extract(former_node(node.number.high));
  entry.key() = node;
  members_.insert(std::move(entry));
}

ELASTIC_DECL void rendezvous_coordinator::step(const node_id& node, member& entry, time_point now) {
  ++visited_nodes_;
  if (is_held(now)) return;
  if (former_.is_known() && !std::exchange(has_released_, true)) release(now);
  if (hold_if_excluded(node, entry, now)) return;
  for (;;) {
    const round_decision decision =
        decide_join(state_, node, settings_, round_rules::direct, now, *entry.join_deadline);
    switch (decision.action) {
      case round_action::wait: return mark_standby(node, entry);
      case round_action::placed: end_joining(node, entry); return answer_placed(node, entry, now);
      case round_action::refuse_closed:
        end_joining(node, entry);
        return answer(entry, rendezvous_messages::closed{ending_->how, ending_->why});
      case round_action::refuse_timeout:
        end_joining(node, entry);
        return answer(entry, rendezvous_messages::refused{true, lack_in_time()});
      default: carry_out(decision.action, decision.reason, node, now);
    }
    if (decision.action == round_action::leave_redundancy_list) {
      entry.join_deadline = now + entry.join_timeout;
    } else if (decision.action == round_action::enter_wait_list) {
      announce(rendezvous_change::cause::node_waiting,
               fmt::format("node {} waits to join", node.text()));
    }
  }
}

ELASTIC_DECL void rendezvous_coordinator::carry_out(round_action action, std::string_view reason,
                                                    const node_id& node, time_point now) {
  const std::int64_t round = state_.round;
  const bool was_complete = state_.complete;
  apply(state_, action, node, settings_, now);
  roster_.mark_changed();
  log_.debug("rendezvous of job '{}', round {}: node {} {}: {}", run_id_, round, node.text(),
             verb_of(action), reason);
  const bool matters_to_others = frees_others(state_, action, settings_);
  if (matters_to_others || round != state_.round || was_complete != state_.complete) {
    settle_all_ = true;
  }
  if (round != state_.round) begin_round();
  if (!was_complete && state_.complete) record_round();
  if (state_.deadline) wake_at(*state_.deadline);
  if (state_.scale_up_at) wake_at(*state_.scale_up_at);
}

ELASTIC_DECL bool rendezvous_coordinator::is_held_by_former(time_point now) const {
  return !has_made_round_ && !state_.closed && !former_.is_over(now);
}

ELASTIC_DECL void rendezvous_coordinator::release(time_point now) {
  state_.unknown_nodes = false;
  std::vector<node_id> coming;
  for (known_node* const waiting : waiting_nodes()) {
    auto& [node, entry] = *waiting;
    if (contains(state_, node) || hold_if_excluded(node, entry, now)) continue;
    // The node may have got a place before any node reported the former server, whose nodes go
    // first.
    const round_decision leaving = decide_leave(state_, node);
    if (leaving.action != round_action::wait) {
      carry_out(leaving.action, "is placed again", node, now);
    }
    coming.push_back(node);
  }
  for (const node_id& node : coming) {
    const bool fits = has_place(state_, settings_, round_rules::direct);
    carry_out(fits ? round_action::enter_wait_list : round_action::enter_redundancy_list,
              "comes from the former server", node, now);
  }
  settle_all_ = true;
}

ELASTIC_DECL void rendezvous_coordinator::begin_round() {
  state_.round = std::max(state_.round, next_round_);
  change_.reset();
  is_inherited_ = false;
  some_finished_ = false;
  all_finished_ = false;
  ++content_version_;
  finished_ = 0;
  for (auto& [node, entry] : counted(members_)) entry.has_finished = false;
}

ELASTIC_DECL void rendezvous_coordinator::settle(time_point now) {
  do {
    while (std::exchange(settle_all_, false)) {
      for (known_node* const waiting : waiting_nodes()) {
        auto& [node, entry] = *waiting;
        const bool was_complete = state_.complete;
        if (entry.join_deadline) step(node, entry, now);
        // The other nodes of the completed round come first. If another node ended the round before
        // they are placed, they would not learn of that end.
        if (!was_complete && state_.complete) break;
      }
    }
  } while (readmit_if_short(now));
}

ELASTIC_DECL auto rendezvous_coordinator::waiting_nodes() -> std::vector<known_node*> {
  std::vector<known_node*> waiting;
  std::vector<known_node*> known;
  std::vector<known_node*> strangers;
  for (const node_id& node : counted(joining_)) {
    known_node& each = *members_.find(node);
    const member& entry = each.second;
    const bool is_known = entry.former.has_value() || known_names_.contains(entry.name);
    if (state_.complete && contains(state_, node)) {
      waiting.push_back(&each);
    } else {
      (is_known ? known : strangers).push_back(&each);
    }
  }
  waiting.insert(waiting.end(), known.begin(), known.end());
  waiting.insert(waiting.end(), strangers.begin(), strangers.end());
  return waiting;
}

ELASTIC_DECL void rendezvous_coordinator::exclude(const exclusion& who, time_point now) {
  excluded_.add(who, now);
  ++content_version_;
  settle_all_ = true;
  log_.warning("rendezvous of job '{}': node '{}' is excluded for {:g} s: {}", run_id_, who.name,
               std::chrono::duration<double>(who.remaining).count(), who.why);
}

ELASTIC_DECL bool rendezvous_coordinator::hold_if_excluded(const node_id& node, member& entry,
                                                           time_point now) {
  std::optional<exclusion> why;
  if (!state_.closed && !excluded_.is_empty()) why = excluded_.find(entry.name, now);
  // A node does not have to leave a round that runs.
  if (why && state_.complete && contains(state_, node)) why.reset();
  if (!why) {
    if (set_excluded(entry, false)) entry.join_deadline = now + entry.join_timeout;
    return false;
  }
  wake_at(now + why->remaining);
  if (set_excluded(entry, true)) return true;
  const round_decision decision = decide_leave(state_, node);
  carry_out(decision.action, "is excluded", node, now);
  const double seconds = std::ceil(std::chrono::duration<double>(why->remaining).count());
  std::string text =
      fmt::format("node '{}' is excluded for another {:.0f} s: {}", why->name, seconds, why->why);
  answer(node, rendezvous_messages::on_hold{std::move(text)});
  return true;
}

ELASTIC_DECL bool rendezvous_coordinator::set_excluded(member& entry, bool is_excluded) {
  const bool was_excluded = std::exchange(entry.is_excluded, is_excluded);
  if (is_excluded && !was_excluded) ++excluded_joining_;
  if (was_excluded && !is_excluded) --excluded_joining_;
  return was_excluded;
}

ELASTIC_DECL void rendezvous_coordinator::mark_standby(const node_id& node, member& entry) {
  const bool stands_by = state_.redundancy_list.count(node) != 0;
  const bool knew_it = std::exchange(entry.knows_standby, stands_by);
  if (!stands_by || knew_it) return;
  answer(node, rendezvous_messages::on_hold{"it stands by until a round has a place for it"});
}

ELASTIC_DECL std::vector<std::string> rendezvous_coordinator::excluded_names() const {
  std::vector<std::string> names;
  for (const node_id& node : counted(joining_)) {
    const member& entry = members_.at(node);
    if (entry.is_excluded) names.push_back(entry.name);
  }
  return names;
}

ELASTIC_DECL bool rendezvous_coordinator::readmit_if_short(time_point now) {
  if (excluded_.is_empty() && !short_since_) return false;
  const std::size_t ready = joining_.size() - excluded_joining_;
  const auto least = static_cast<std::size_t>(settings_.min_nodes);
  const bool has_round = state_.complete || state_.closed || is_held(now);
  if (has_round || ready >= least || joining_.size() < least) {
    short_since_.reset();
    return false;
  }
  if (!short_since_) short_since_ = now;
  const time_point due = *short_since_ + settings_.last_call_timeout;
  wake_at(due);
  if (now < due) return false;
  short_since_.reset();
  const std::string name = excluded_.first_of(excluded_names());
  log_.warning(
      "rendezvous of job '{}': node '{}' is readmitted early: without the excluded nodes, the job "
      "has {} of at least {} nodes",
      run_id_, name, ready, least);
  excluded_.readmit(name);
  ++content_version_;
  settle_all_ = true;
  return true;
}

ELASTIC_DECL void rendezvous_coordinator::end_joining(const node_id& node, member& entry) {
  joining_.erase(node);
  entry.join_deadline.reset();
}

ELASTIC_DECL std::vector<node_id> rendezvous_coordinator::overdue_nodes(time_point now) const {
  std::vector<node_id> overdue;
  for (const auto& [node, entry] : counted(members_)) {
    if (entry.contact.lost_at(settings_) <= now) overdue.push_back(node);
  }
  return overdue;
}

ELASTIC_DECL void rendezvous_coordinator::give_up(const node_id& node, time_point now) {
  const node_contact& contact = members_.at(node).contact;
  const time_point ended_at = contact.link ? now : contact.last_end();
  own_fence_.node_lost(ended_at);
  if (contact.link) drop(*contact.link);
  remove(node, contact.link ? "is silent" : "is gone", now);
}

ELASTIC_DECL void rendezvous_coordinator::remove(const node_id& node, std::string_view how,
                                                 time_point now) {
  member& entry = members_.at(node);
  if (entry.contact.witness) drop(*entry.contact.witness);
  idle_.remove(entry.idle);
  gone_.remove(entry.gone);
  end_pause(node, now);
  const bool has_finished = entry.has_finished;
  if (how != "left") mark_lost(node, entry);
  const bool ran = state_.complete && state_.participants.count(node) != 0;
  if (entry.was_in_newest && how == "left") own_fence_.node_left();
  if (ran && has_finished) --finished_;
  if (entry.is_reporting) reports_.node_gone();
  set_excluded(entry, false);
  members_.erase(node);
  joining_.erase(node);
  if (ran && !has_finished && !ending_) {
    announce(rendezvous_change::cause::node_lost, fmt::format("node {} {}", name_of(node), how));
  }
  const round_decision decision = decide_leave(state_, node);
  carry_out(decision.action, how, node, now);
  check_all_finished();
}

ELASTIC_DECL std::optional<node_id> rendezvous_coordinator::missing_participant() const {
  for (const auto& [node, rank] : counted(state_.participants)) {
    const auto position = members_.find(node);
    if (position == members_.end() || !position->second.contact.link) return node;
  }
  return std::nullopt;
}

ELASTIC_DECL void rendezvous_coordinator::announce(rendezvous_change::cause kind,
                                                   std::string reason) {
  announce(rendezvous_change{kind, std::move(reason)});
}

ELASTIC_DECL void rendezvous_coordinator::announce(rendezvous_change change, int failed_rank) {
  const bool is_in_vain = change.kind == rendezvous_change::cause::node_waiting && !change.is_pause;
  const bool is_ending_well = all_finished_ || (some_finished_ && is_in_vain);
  if (!state_.complete || change_ || is_ending_well) return;
  change.restarts = restarts_;
  log_.info("rendezvous of job '{}', round {}: {}", run_id_, state_.round, change.reason);
  change_ = rendezvous_messages::changed{state_.round, std::move(change), failed_rank};
  for (const auto& [node, rank] : counted(state_.participants)) {
    answer(node, *change_);
  }
}

ELASTIC_DECL void rendezvous_coordinator::check_all_finished() {
  if (!some_finished_ || all_finished_ || change_ || state_.participants.empty()) return;
  // The participants that are left have finished, but those that a failed job lost have not.
  if (ending_ && ending_->how == rendezvous_handler::job_end::failed) return;
  if (finished_ < state_.participants.size()) return;
  all_finished_ = true;
  ++content_version_;
  for (const auto& [node, rank] : counted(state_.participants)) {
    answer(node, rendezvous_messages::all_finished{state_.round});
  }
}

ELASTIC_DECL void rendezvous_coordinator::answer_peers(const node_id& node) {
  const std::size_t most_bytes = limits::rendezvous_message_bytes / 4;
  rendezvous_messages::peers part{state_.round, ""};
  for (const auto& [other, rank] : counted(state_.participants)) {
    const auto position = members_.find(other);
    if (position == members_.end() || position->second.own_addresses.empty()) continue;
    part.addresses += position->second.own_addresses + ' ' + position->second.ends.there + ' ';
    if (part.addresses.size() < most_bytes) continue;
    answer(node, part);
    part.addresses.clear();
  }
  if (!part.addresses.empty()) answer(node, part);
}

ELASTIC_DECL void rendezvous_coordinator::answer_placed(const node_id& node, const member& entry,
                                                        time_point now) {
  const int rank = state_.participants.at(node);
  if (rank == 0) answer_peers(node);
  answer(entry, rendezvous_messages::placed{state_.round, rank, newest_.world_size, newest_.master,
                                            newest_.restarts, newest_.term, newest_.host_rank,
                                            excluded_.at(now)});
}

ELASTIC_DECL void rendezvous_coordinator::notify_waiting(const std::string& why) {
  for (const auto& [node, unused] : counted(state_.participants)) {
    answer(node, rendezvous_messages::on_hold{why});
  }
}

ELASTIC_DECL void rendezvous_coordinator::answer(const node_id& node, rendezvous_answer reply) {
  const auto position = members_.find(node);
  if (position != members_.end()) answer(position->second, std::move(reply));
}

ELASTIC_DECL void rendezvous_coordinator::answer(const member& entry, rendezvous_answer reply) {
  if (entry.contact.link) answers_.push_back({*entry.contact.link, std::move(reply)});
}

ELASTIC_DECL std::string rendezvous_coordinator::lack_in_time() const {
  const std::size_t joined = state_.participants.size() + state_.wait_list.size() + 1;
  if (joined < static_cast<std::size_t>(settings_.min_nodes)) {
    return fmt::format("{} of at least {} nodes had joined", joined, settings_.min_nodes);
  }
  const std::string delay =
      state_.complete ? fmt::format("{} had not left round {}", some_participants(), state_.round)
                      : std::string("nodes of a former round were waited for");
  return fmt::format("enough nodes had joined, but {}", delay);
}

ELASTIC_DECL std::string rendezvous_coordinator::some_participants() const {
  constexpr std::size_t most = 3;
  std::string names;
  std::size_t count = 0;
  for (const auto& [node, unused] : state_.participants) {
    if (count++ == most) break;
    names += fmt::format("{}node {}", names.empty() ? "" : ", ", name_of(node));
  }
  if (state_.participants.size() <= most) return names;
  return fmt::format("{} and {} more", names, state_.participants.size() - most);
}

ELASTIC_DECL void rendezvous_coordinator::record_round() {
  has_made_round_ = true;
  ++content_version_;
  newest_ = describe_round();
  own_fence_.begin_round(newest_.members.size(), newest_.leader_node != 0);
  if (newest_.world_size == settings_.max_nodes) roster_.forget_lost();
  mark_members();
  if (state_.redundancy_list.empty()) return;
  log_.info("rendezvous of job '{}', round {}: {} in it, {} on standby", run_id_, state_.round,
            quantity(newest_.world_size, "node"), state_.redundancy_list.size());
}

ELASTIC_DECL newest_round rendezvous_coordinator::describe_round() const {
  newest_round described;
  described.round = state_.round;
  for (const auto& [node, rank] : counted(state_.participants)) {
    described.members.push_back(node.number.high);
    if (node.number.high == own_node_) described.leader_node = own_node_;
  }
  described.host_rank = host_rank();
  described.world_size = static_cast<int>(state_.participants.size());
  described.restarts = restarts_;
  described.term = term_;
  described.master = choose_master();
  return described;
}

ELASTIC_DECL void rendezvous_coordinator::mark_members() {
  if (known_names_.size() > limits::nodes) known_names_.clear();
  for (auto& [node, entry] : counted(members_)) {
    entry.was_in_newest = state_.participants.count(node) != 0;
    if (entry.was_in_newest) known_names_.insert(entry.name);
  }
}

ELASTIC_DECL int rendezvous_coordinator::host_rank() const {
  for (const auto& [node, rank] : state_.participants) {
    const auto position = members_.find(node);
    if (position != members_.end() && position->second.hosts) return rank;
  }
  return -1;
}

ELASTIC_DECL rendezvous_round::master_endpoint rendezvous_coordinator::choose_master() const {
  const auto first = members_.find(state_.participants.begin()->first);
  if (first == members_.end()) return {};
  const member& server = first->second;
  rendezvous_round::master_endpoint master = server.offer;
  if (!server.ends.is_loopback || master.address != server.ends.there) return master;
  for (const auto& [node, rank] : state_.participants) {
    const auto other = members_.find(node);
    if (other == members_.end() || other->second.ends.is_loopback) continue;
    master.address = other->second.ends.here;
    break;
  }
  return master;
}

// ---- viewers of the job -------------------------------------------------------------------------

ELASTIC_DECL void rendezvous_coordinator::demand_reports(report_demand demand,
                                                         std::string output) {
  if (!reports_.set_demand(demand, std::move(output))) return;
  const bool ends = demand == report_demand::nothing;
  for (auto& [node, entry] : counted(members_)) {
    ask_for_reports(entry);
    if (!ends || !std::exchange(entry.is_reporting, false)) continue;
    answer(entry, rendezvous_messages::report_wanted{demand, {}});
  }
}

/// Asks a member for reports. A member that is new, or has connected again, must be asked.
ELASTIC_DECL void rendezvous_coordinator::ask_for_reports(member& entry) {
  if (!entry.has_reports || !reports_.ask(entry.is_reporting)) return;
  answer(entry, rendezvous_messages::report_wanted{reports_.demand(), reports_.output()});
}

ELASTIC_DECL void rendezvous_coordinator::list(const node_id& node, member& entry) {
  roster_.mark_changed();
  if (entry.key == 0) entry.key = roster_.enter(node.host);
}

ELASTIC_DECL void rendezvous_coordinator::mark_lost(const node_id& node, const member& entry) {
  roster_.mark_changed();
  if (entry.key == 0) return;
  roster_.lose({entry.key, node.host, node.text(), node_presence::lost, -1});
}

ELASTIC_DECL node_presence rendezvous_coordinator::presence_of(const node_id& node) const {
  if (state_.participants.count(node) != 0) {
    return state_.complete ? node_presence::active : node_presence::waiting;
  }
  if (state_.wait_list.count(node) != 0) return node_presence::waiting;
  return state_.redundancy_list.count(node) != 0 ? node_presence::standing_by
                                                 : node_presence::meeting;
}

ELASTIC_DECL job_roster rendezvous_coordinator::roster() const {
  job_roster roster;
  roster.round = state_.round;
  roster.is_complete = state_.complete;
  roster.min_nodes = settings_.min_nodes;
  roster.max_nodes = settings_.max_nodes;
  std::vector<job_roster::entry> others;
  for (const auto& [node, entry] : members_) {
    // A placeholder for a node of a former server's round, which has sent nothing yet.
    if (entry.key == 0) continue;
    const node_presence presence = presence_of(node);
    const bool is_active = presence == node_presence::active;
    if (is_active) ++roster.active;
    if (presence == node_presence::waiting || presence == node_presence::standing_by) {
      ++roster.waiting;
    }
    const int rank = is_active ? state_.participants.at(node) : -1;
    (is_active ? roster.nodes : others)
        .push_back({entry.key, node.host, node.text(), presence, rank});
  }
  sort_stably(roster.nodes, [](const auto& left, const auto& right) {
    return left.group_rank < right.group_rank;
  });
  roster.nodes.insert(roster.nodes.end(), others.begin(), others.end());
  if (roster.active + roster.waiting < settings_.max_nodes) {
    const std::deque<job_roster::entry>& lost = roster_.lost();
    roster.lost = static_cast<int>(lost.size());
    roster.nodes.insert(roster.nodes.end(), lost.begin(), lost.end());
  }
  roster.nodes.resize(std::min(roster.nodes.size(), limits::viewed_nodes));
  return roster;
}

ELASTIC_DECL auto rendezvous_coordinator::links() const -> std::vector<connection> {
  std::vector<connection> list;
  for (const auto& [node, entry] : members_) {
    if (entry.contact.link) list.push_back(*entry.contact.link);
  }
  return list;
}

ELASTIC_DECL void rendezvous_coordinator::plan_next(time_point now) {
  next_ = own_fence_due();
  for (const auto& [node, entry] : counted(members_)) {
    wake_at(entry.contact.lost_at(settings_));
    if (entry.is_excluded) wake_at(excluded_.end_of(entry.name));
    if (entry.join_deadline && !waits_without_end(node, entry, now)) {
      wake_at(std::max(*entry.join_deadline, now) + duration(1));
    }
  }
  // The end of a last call changes nothing if all nodes are known, or if no round may begin.
  if (state_.deadline && state_.unknown_nodes && !is_held(now)) wake_at(*state_.deadline);
  if (is_held_by_former(now)) wake_at(former_.over_at());
  if (short_since_) wake_at(*short_since_ + settings_.last_call_timeout);
  // Once that time is over, nodes that could not enlarge the round wait for one more node, and no
  // timer is needed.
  if (state_.scale_up_at && *state_.scale_up_at > now) wake_at(*state_.scale_up_at);
}

ELASTIC_DECL bool rendezvous_coordinator::waits_without_end(const node_id& node,
                                                            const member& entry,
                                                            time_point now) const {
  return is_held(now) || entry.is_excluded || state_.redundancy_list.count(node) != 0 ||
         is_in_last_call(state_, node, settings_, round_rules::direct);
}

ELASTIC_DECL std::string_view rendezvous_coordinator::verb_of(round_action action) {
  switch (action) {
    case round_action::enter_round: return "enters the round";
    case round_action::enter_wait_list: return "waits for the next round";
    case round_action::enter_redundancy_list: return "stands by";
    case round_action::leave_round: return "leaves the round";
    case round_action::leave_wait_list: return "waits no longer";
    case round_action::leave_redundancy_list: return "stands by no longer";
    case round_action::leave_to_rejoin: return "leaves the round for the next";
    case round_action::complete_round: return "completes the round";
    default: return "stays";
  }
}

}  // namespace elastic::detail
