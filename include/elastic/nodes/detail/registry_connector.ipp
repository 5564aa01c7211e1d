// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/registry_connector.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <elastic/nodes/detail/job_file_fingerprint.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr std::chrono::milliseconds first_registry_look{10};
inline constexpr std::chrono::milliseconds longest_registry_look{500};
/// The limit for one attempt to connect to a leader.
inline constexpr std::chrono::seconds leader_attempt{2};

/// How long a record must stay unchanged until its leader and all of its nodes have given up, even
/// if one clock runs 2 % faster than another.
inline duration expiry_of(const leader_record& record) {
  const duration whole = record.lease + record.silence;
  return whole + whole / 50 + std::chrono::seconds(1);
}

/// Whether both show the same write of a record. The version does not show that: etcd's
/// changes with every other key, such as those of other jobs and roles.
inline bool shows_same_write(const leader_registry::sight& left,
                             const leader_registry::sight& right) {
  if (!left.record || !right.record) return left.record.has_value() == right.record.has_value();
  return left.record->password == right.record->password &&
         left.record->kept.term == right.record->kept.term &&
         left.record->kept.sequence == right.record->kept.sequence;
}

/// The nodes of the newest round, except the leader's own.
inline std::vector<std::uint64_t> followers_of(const leader_record& record) {
  std::vector<std::uint64_t> followers = record.kept.members;
  std::erase(followers, record.kept.leader_node);
  return followers;
}

/// A function that reads the record and ignores its content.
inline std::function<task<void>()> reading_of(std::shared_ptr<leader_registry> registry) {
  return [registry]() -> task<void> { co_await registry->look(); };
}

ELASTIC_DECL registry_connector::registry_connector(options chosen)
    : chosen_(std::move(chosen)),
      registry_(chosen_.registry()),
      watch_(registry_->name(), reading_of(chosen_.registry()), chosen_.time) {}

ELASTIC_DECL std::string registry_connector::connected_to() const {
  return connected_.address.port == 0 ? name() : to_text(connected_.address);
}

ELASTIC_DECL task<std::shared_ptr<store>> registry_connector::agents() {
  if (!agents_) {
    endpoint address = connected_.address;
    agents_ = co_await chosen_.network->store_at(std::move(address));
  }
  co_return agents_;
}

ELASTIC_DECL task<std::shared_ptr<message_channel>> registry_connector::connect() {
  duration pause = first_registry_look;
  for (;;) {
    if (leader_ && !leader_->problem().empty()) problem_ = leader_->problem();
    co_await end_own_leader();
    if (seen_) {
      const std::shared_ptr<message_channel> channel = co_await try_leader();
      if (channel) {
        const bool is_noted = co_await record_job_file();
        if (is_noted) co_return channel;
      }
    }
    const std::optional<leader_registry::sight> before = seen_;
    const bool is_known = co_await look();
    const bool is_new = is_known && (!before || !shows_same_write(*before, *seen_));
    if (is_new && seen_->record && seen_->record->address.port != 0) continue;
    if (is_known) {
      throw_if_over();
      co_await claim_loss();
      const std::optional<duration> wait = co_await may_lead();
      if (wait) co_await try_to_lead(*wait);
    }
    const time_point next_look = chosen_.time->now() + pause;
    try {
      std::string version = is_known ? seen_->version : std::string();
      if (version.empty()) co_await chosen_.time->sleep_until(next_look);
      task<void> waiting = registry_->wait_for_change(std::move(version));
      co_await with_deadline(*chosen_.time, next_look, std::move(waiting));
    } catch (const error& failure) {
      if (failure.code() == errc::invalid_argument) throw;
    }
    pause = std::min<duration>(pause * 2, longest_registry_look);
  }
}

ELASTIC_DECL task<bool> registry_connector::look() {
  try {
    leader_registry::sight seen = co_await registry_->look();
    if (!seen_ || !shows_same_write(*seen_, seen)) seen_at_ = chosen_.time->now();
    seen_ = std::move(seen);
    co_return true;
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
    problem_ = failure.what();
  }
  const time_point next_look = chosen_.time->now() + longest_registry_look;
  co_await chosen_.time->sleep_until(next_look);
  co_return false;
}

ELASTIC_DECL task<std::shared_ptr<message_channel>> registry_connector::try_leader() {
  if (!seen_->record || seen_->record->address.port == 0) co_return nullptr;
  leader_record record = *seen_->record;
  const bool is_own = record.agent == node_.number;
  if (record.kept.term < connected_.kept.term || (is_own && !leader_)) co_return nullptr;
  try {
    const time_point limit = chosen_.time->now() + leader_attempt;
    task<std::shared_ptr<message_channel>> asking = ask(record);
    auto found = co_await with_deadline(*chosen_.time, limit, std::move(asking));
    if (found) {
      if (connected_.kept.term != record.kept.term) agents_.reset();
      connected_ = std::move(record);
      problem_.clear();
      co_return std::move(*found);
    }
    problem_ = fmt::format("{}: no answer", to_text(record.address));
  } catch (const error& failure) {
    // The secrets differ, or only one side has one.
    const bool is_final = failure.code() == errc::invalid_argument && connected_.kept.term == 0;
    problem_ = fmt::format("{}: {}", to_text(record.address), failure.what());
    if (is_final) throw error(errc::invalid_argument, problem_);
  }
  co_return nullptr;
}

/// The term of the agent at the other end of a channel; empty: it does not lead the job.
inline task<std::optional<std::int64_t>> term_of_leader(std::shared_ptr<message_channel> channel,
                                                        std::string run_id, std::string password) {
  candidate_messages::seek asked;
  asked.run_id = std::move(run_id);
  asked.list = std::move(password);
  channel->send(candidate_text(candidate_request(asked)));
  const std::string message = co_await channel->receive();
  const candidate_answer answer = parse_candidate_answer(message);
  const auto* leads = std::get_if<candidate_messages::leads>(&answer);
  co_return leads == nullptr ? std::nullopt : std::optional(leads->term);
}

ELASTIC_DECL auto registry_connector::ask(leader_record record)
    -> task<std::shared_ptr<message_channel>> {
  const auto connector = chosen_.network->connector_to(record.address);
  const std::shared_ptr<message_channel> channel = co_await connector->connect();
  auto asking = term_of_leader(channel, chosen_.run_id, record.password);
  const std::optional<std::int64_t> term = co_await std::move(asking);
  if (term == record.kept.term) co_return channel;
  throw error(errc::connection_failed, "it does not lead the job");
}

// ---- job files ----------------------------------------------------------------------------------

ELASTIC_DECL task<bool> registry_connector::record_job_file() {
  const bool is_due =
      chosen_.job_files && reaches_own_process() && noted_term_ != connected_.kept.term;
  if (!is_due) co_return true;
  try {
    bool is_noted = false;
    while (!is_noted) is_noted = co_await try_note_job_file();
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
    problem_ = failure.what();
    co_return false;
  }
  noted_term_ = connected_.kept.term;
  co_return true;
}

/// Result: false if another agent was faster.
ELASTIC_DECL task<bool> registry_connector::try_note_job_file() {
  const job_file_registry::sight seen = co_await chosen_.job_files->look();
  job_file_record next;
  next.fingerprint = chosen_.fingerprint;
  if (seen.record && seen.record->fingerprint == next.fingerprint) {
    next = *seen.record;
  } else if (seen.record) {
    const std::string role = co_await running_role(*seen.record);
    const auto why = objection_to_file(role, seen.record->fingerprint, chosen_.fingerprint);
    if (!role.empty() && why) throw error(errc::invalid_argument, *why);
  }
  if (!next.note({chosen_.run_id, connected_.address, connected_.password})) co_return true;
  co_return co_await chosen_.job_files->try_put(std::move(next), seen.version);
}

/// Errors: none, whatever the agent does.
inline task<void> ask_of_role(std::shared_ptr<message_connector> connector,
                              job_file_record::leader leader,
                              std::shared_ptr<std::string> running) {
  try {
    const std::shared_ptr<message_channel> channel = co_await connector->connect();
    auto asking = term_of_leader(channel, leader.run_id, leader.password);
    const std::optional<std::int64_t> term = co_await std::move(asking);
    if (term) *running = std::move(leader.run_id);
  } catch (const error&) {
    // That agent no longer leads.
  }
}

ELASTIC_DECL task<std::string> registry_connector::running_role(job_file_record record) {
  const auto running = new_shared<std::string>();
  std::vector<task<void>> asking;
  for (const job_file_record::leader& each : record.leaders) {
    asking.push_back(ask_of_role(chosen_.network->connector_to(each.address), each, running));
  }
  const time_point limit = chosen_.time->now() + leader_attempt;
  co_await with_deadline(*chosen_.time, limit, when_all(std::move(asking)));
  co_return *running;
}

ELASTIC_DECL task<std::shared_ptr<message_channel>> registry_connector::connect_again() {
  return ask(connected_);
}

ELASTIC_DECL void registry_connector::throw_if_over() const {
  if (!seen_->record) return;
  const round_register& kept = seen_->record->kept;
  if (!kept.ending && !kept.all_finished) return;
  const bool has_succeeded =
      kept.all_finished || kept.ending->how == rendezvous_handler::job_end::succeeded;
  throw error(has_succeeded ? errc::rendezvous_finished : errc::rendezvous_closed,
              kept.ending ? kept.ending->why : "all workers succeeded");
}

// ---- leading ------------------------------------------------------------------------------------

ELASTIC_DECL task<void> registry_connector::claim_loss() {
  if (!seen_->record || !node_.loss) co_return;
  const leader_record& record = *seen_->record;
  const auto& members = record.kept.members;
  if (std::find(members.begin(), members.end(), node_.number) == members.end()) co_return;
  std::optional<duration> wait = node_.loss();
  const bool is_new = record.kept.term != connected_.kept.term;
  // That leader has made no round. Perhaps it is only slow to begin.
  if (wait && is_new) {
    const bool is_gone = record.kept.leader_node == 0 &&
                         chosen_.time->now() >= seen_at_ + chosen_.settings.reconnect_grace;
    wait = is_gone ? std::optional(duration::zero()) : std::nullopt;
  }
  const bool is_claimed = claimed_term_ == record.kept.term && claimed_round_ == record.kept.round;
  if (!wait || is_claimed) co_return;
  loss_claim claim;
  claim.term = record.kept.term;
  claim.round = record.kept.round;
  claim.wait = *wait;
  // This node must skip the rounds before any other node can rely on the claim.
  node_.skip_rounds_through(claim.round);
  try {
    co_await registry_->claim(node_.number, claim);
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
    problem_ = failure.what();
    co_return;
  }
  claimed_term_ = claim.term;
  claimed_round_ = claim.round;
  claimed_wait_ = claim.wait;
  claimed_at_ = chosen_.time->now();
}

ELASTIC_DECL task<std::optional<duration>> registry_connector::may_lead() {
  if (leader_) co_return std::nullopt;
  if (!seen_->record) co_return duration::zero();
  const leader_record& record = *seen_->record;
  const time_point now = chosen_.time->now();
  if (now >= seen_at_ + expiry_of(record)) co_return duration::zero();
  if (record.kept.term < connected_.kept.term) co_return std::nullopt;
  // The record's leader still waits for the end of its predecessor's round.
  const duration grace = chosen_.settings.reconnect_grace;
  const duration debt = record.kept.is_uncertain ? record.silence + grace : duration::zero();
  if (record.address.port == 0) co_return debt;
  // The record's leader is this agent, which gave up or never learned that it leads.
  if (record.agent == node_.number) co_return debt + grace / 2;
  const std::optional<duration> loss = node_.loss ? node_.loss() : std::nullopt;
  const bool has_lost_it = loss && connected_.kept.term == record.kept.term;
  // No node has been in a round.
  const bool is_first = record.kept.round < 0 && has_lost_it && *loss == duration::zero();
  if (is_first) co_return debt;
  const std::optional<duration> wait = co_await all_claims();
  if (!wait) co_return std::nullopt;
  // The former leader has this long to notice that it was replaced.
  co_return debt + std::max<duration>(*wait, grace / 2);
}

ELASTIC_DECL task<std::optional<duration>> registry_connector::all_claims() {
  const leader_record record = *seen_->record;
  const std::vector<std::uint64_t> followers = followers_of(record);
  const bool is_claimed = claimed_term_ == record.kept.term && claimed_round_ == record.kept.round;
  // Only one node asks, so that not every node reads every claim.
  if (followers.empty() || followers.front() != node_.number || !is_claimed) co_return std::nullopt;
  duration wait =
      std::max<duration>(claimed_at_ + claimed_wait_ - chosen_.time->now(), duration::zero());
  for (const std::uint64_t other : followers) {
    if (other == node_.number) continue;
    std::optional<loss_claim> claim;
    try {
      claim = co_await registry_->claim_of(other);
    } catch (const error& failure) {
      if (failure.code() != errc::connection_failed) throw;
      problem_ = failure.what();
    }
    const bool is_theirs =
        claim && claim->term == record.kept.term && claim->round == record.kept.round;
    if (!is_theirs) co_return std::nullopt;
    wait = std::max(wait, claim->wait);
  }
  co_return wait;
}

ELASTIC_DECL task<void> registry_connector::try_to_lead(duration wait) {
  registered_leader::options leading;
  leading.run_id = chosen_.run_id;
  leading.node = node_.number;
  leading.settings = chosen_.settings;
  // The leader writes every quarter of the lease, so the registry may be unreachable for the whole
  // grace, even if that begins just before a write.
  leading.lease = chosen_.registry_grace / 3 * 4;
  leading.registry = chosen_.registry();
  leading.reports = chosen_.reports;
  leading.time = chosen_.time;
  leading.log = chosen_.log;
  auto leader = new_shared<registered_leader>(std::move(leading));
  registered_leader::candidacy own;
  own.address = co_await chosen_.network->serve(leader);
  own.former = *seen_;
  own.least_term = connected_.kept.term + 1;
  own.wait = wait;
  leader_ = std::move(leader);
  leader_->try_to_lead(std::move(own));
}

ELASTIC_DECL task<void> registry_connector::end_own_leader() {
  if (!leader_ || !leader_->is_over()) co_return;
  co_await chosen_.network->stop();
  leader_.reset();
}

ELASTIC_DECL task<void> registry_connector::leave(bool is_job_over) {
  if (leader_) co_await leader_->retire(is_job_over);
  co_await chosen_.network->stop();
  leader_.reset();
}

}  // namespace elastic::detail
