// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/candidate.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/nodes/detail/leader_visitor.hpp>
#include <elastic/nodes/detail/rendezvous_coordinator.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace elastic::detail {

/// One connection to this candidate, from another candidate or from a node.
class candidate::visitor final : public leader_visitor {
 public:
  visitor(candidate& owner, client& peer) : leader_visitor(peer), of_(owner) {
    of_.visitors_.push_back(this);
  }
  ~visitor() override {
    leave();
    of_.gone(*this);
  }

  bool has_begun() const override { return claim || search; }

  /// Refuses a node that treats this candidate as the only server of its job.
  void refuse(const std::string& list) {
    const rendezvous_messages::refused refusal{
        false, fmt::format("this server is one of several endpoints, which each node of the job "
                           "has to name: {}",
                           list)};
    say_frame(detail::to_text(rendezvous_answer(refusal)));
  }

  /// The client is a candidate, and writes registers.
  void trust() { raise_bound(limits::rendezvous_register_bytes); }

  /// The index of the candidate that it is; -1: none.
  int index = -1;
  /// The candidate that it claims to be, and the question of a node.
  std::optional<candidate_messages::peer> claim;
  std::optional<candidate_messages::seek> search;
  /// The node knows that this candidate leads, and sends its hello next.
  bool knows_leader = false;

 private:
  void greet(std::string_view message) override {
    of_.received(*this, message);
    if (has_begun()) raise_bound(limits::rendezvous_message_bytes);
  }
  void noted() override { of_.wake(); }

  candidate& of_;
};

ELASTIC_DECL candidate::candidate(options chosen)
    : chosen_(std::move(chosen)),
      peers_(chosen_.others.size(), nullptr),
      routes_(chosen_.others.size()) {}

ELASTIC_DECL candidate::~candidate() = default;

ELASTIC_DECL task<void> candidate::run() {
  auto executor = co_await asio::this_coro::executor;
  {
    const std::lock_guard lock(executor_access_);
    executor_ = executor;
  }
  begin_votes();
  earlier_.emplace(executor);
  news_.emplace(executor);
  tasks_.emplace(executor);
  for (route& way : routes_) way.arrival = std::make_unique<event_flag>(executor);
  for (std::size_t peer = 0; peer < chosen_.others.size(); ++peer) {
    if (chosen_.others[peer]) tasks_->spawn(keep_connected(static_cast<int>(peer)));
  }
  co_await with_cleanup(keep_time(), end_tasks());
}

ELASTIC_DECL task<void> candidate::end_tasks() {
  end_service();
  co_await tasks_->stop();
  // The tasks that used these connections have ended.
  for (route& way : routes_) {
    way.connection.reset();
    way.channel.reset();
  }
}

ELASTIC_DECL auto candidate::begin(client& peer) -> std::unique_ptr<conversation> {
  return std::make_unique<visitor>(*this, peer);
}

ELASTIC_DECL task<void> candidate::retire(bool is_over) {
  std::optional<asio::any_io_executor> executor;
  {
    const std::lock_guard lock(executor_access_);
    executor = executor_;
  }
  if (!executor) co_return;
  task<void> leaving = hand_over(is_over);
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  co_await run_on(*executor, std::move(leaving), cancellation.slot());
}

ELASTIC_DECL task<void> candidate::hand_over(bool is_over) {
  time_source& time = *chosen_.time;
  const time_point limit = time.now() + 2 * chosen_.settings.silence();
  while (is_over) {
    const time_point next = std::min(limit, free_at());
    if (time.now() >= next) break;
    news_->reset();
    co_await with_deadline(time, next, news_->wait());
  }
  const bool is_quiet = is_over ? is_free() : votes_->value().round < 0;
  votes_->retire(is_over && is_quiet, time.now());
  apply_outputs();
  std::vector<std::shared_ptr<message_channel>> channels;
  for (const route& way : routes_) channels.push_back(way.channel);
  for (const auto& channel : channels) {
    if (!channel) continue;
    try {
      const time_point last = time.now() + limits::rendezvous_leave_timeout;
      co_await with_deadline(time, last, channel->flush());
    } catch (const error&) {
      // The other candidate is gone.
    }
  }
  if (is_quiet) remove_mark();
}

ELASTIC_DECL bool candidate::is_free() const {
  return service_ ? job_->is_idle() && votes_->is_kept() : votes_->is_done();
}

ELASTIC_DECL time_point candidate::free_at() const {
  if (is_free()) return time_point::min();
  // Without a majority, this candidate cannot send any decision to nodes.
  constexpr int patience = 4;
  if (!alone_since_) return time_point::max();
  return *alone_since_ + patience * chosen_.settings.reconnect_grace;
}

// ---- connections from others --------------------------------------------------------------------

ELASTIC_DECL void candidate::received(visitor& sender, std::string_view message) {
  const auto request = parse_candidate_request(message);
  if (request) {
    std::visit([&](const auto& content) { take(sender, content); }, *request);
  } else if (sender.search && service_ && votes_->serves()) {
    sender.enter(service_, message);
  } else {
    // A node that asked for the leader has been sent `wait`, and needs no other answer.
    if (!sender.search) sender.refuse(chosen_.list);
    sender.dismiss();
  }
  wake();
}

ELASTIC_DECL std::string candidate::objection(const std::string& run_id,
                                              const std::string& list) const {
  if (run_id != chosen_.run_id) {
    return fmt::format(
        "candidate {} serves the job '{}', not '{}': each job needs ports of its own", chosen_.self,
        chosen_.run_id, run_id);
  }
  if (list == chosen_.list) return {};
  return fmt::format(
      "the endpoints '{}': candidate {} of the job has the list '{}'; all nodes need the same one, "
      "in the same order",
      list, chosen_.self, chosen_.list);
}

ELASTIC_DECL std::string candidate::objection(const candidate_messages::peer& request) const {
  const std::string other_job = objection(request.run_id, request.list);
  if (!other_job.empty()) return other_job;
  if (request.node == chosen_.node) {
    return fmt::format(
        "two of the endpoints '{}' are the same server, {} by another name: the job bears no loss "
        "of that host",
        chosen_.list, chosen_.self);
  }
  const rendezvous_settings& mine = chosen_.settings;
  const rendezvous_settings& theirs = request.settings;
  // Times are compared with the precision of messages.
  const auto rounded = [](duration time) {
    return std::chrono::ceil<std::chrono::milliseconds>(time);
  };
  const bool is_alike = rounded(mine.keep_alive_interval) == rounded(theirs.keep_alive_interval) &&
                        mine.keep_alive_max_attempt == theirs.keep_alive_max_attempt &&
                        rounded(mine.reconnect_grace) == rounded(theirs.reconnect_grace);
  if (!is_alike) {
    return fmt::format(
        "candidate {} has another keep_alive_interval, keep_alive_max_attempt or reconnect_grace: "
        "all candidates need the same",
        chosen_.self);
  }
  const bool is_other =
      request.index < static_cast<int>(peers_.size()) && request.index != chosen_.self;
  return is_other ? std::string() : objection_to_second(request.index);
}

ELASTIC_DECL std::string candidate::objection_to_second(int index) const {
  return fmt::format(
      "candidate {} of '{}' is another agent, which is met at its address: each place of the list "
      "is for one agent (the setting candidate)",
      index, chosen_.list);
}

ELASTIC_DECL void candidate::take(visitor& sender, const candidate_messages::peer& request) {
  if (sender.claim || sender.search) return sender.dismiss();
  const std::string why = objection(request);
  if (!why.empty()) return sender.send(candidate_messages::rejected{why});
  sender.claim = request;
  sender.send(candidate_messages::present{chosen_.self, chosen_.node, chosen_.network});
  check_claim(sender);
}

ELASTIC_DECL void candidate::take(visitor& sender, const candidate_messages::seek& request) {
  std::string why = objection(request.run_id, request.list);
  const bool is_second = request.index == chosen_.self && request.node != chosen_.node;
  if (why.empty() && is_second) why = objection_to_second(request.index);
  if (!why.empty()) return sender.send(candidate_messages::rejected{why});
  sender.search = request;
  // The terms after it must fit into messages, too.
  if (request.highest_term <= limits::rendezvous_told_number / 4) {
    votes_->observe_term(request.highest_term, chosen_.time->now());
  }
  // The node asked again before it got the answer.
  if (sender.knows_leader) return;
  if (service_ && votes_->serves() && !is_in_doubt(sender)) {
    tell_leader(sender);
  } else {
    sender.send(candidate_messages::wait{chosen_.self});
  }
}

template <class Request>
void candidate::take(visitor& sender, const Request& request) {
  if (sender.index >= 0 && peers_[static_cast<std::size_t>(sender.index)] == &sender) {
    votes_->received(sender.index, request, chosen_.time->now());
  }
}

// ---- identities ---------------------------------------------------------------------------------

ELASTIC_DECL void candidate::check_claim(visitor& sender) {
  const candidate_messages::peer& claim = *sender.claim;
  route& way = route_to(claim.index);
  if (way.node != 0 && way.node == claim.node) return admit(sender);
  if (way.is_met && way.stranger == claim.node) {
    return sender.send(candidate_messages::rejected{objection_to_second(claim.index)});
  }
  // The agent may have restarted before the connection to its predecessor ended.
  if (!way.is_met || way.is_to_look) return way.arrival->set();
  look_again(claim.index);
}

ELASTIC_DECL void candidate::look_again(int peer) {
  route& way = route_to(peer);
  way.is_to_look = true;
  way.is_looking = true;
  if (way.connection) way.connection->close();
}

ELASTIC_DECL void candidate::end_look(int peer) {
  if (std::exchange(route_to(peer).is_looking, false)) announce_leader();
}

ELASTIC_DECL bool candidate::take(int peer, const candidate_messages::present& answer,
                                  std::string address) {
  if (answer.index != peer) {
    log_rejection(
        peer,
        fmt::format(
            "the endpoints '{}': candidate {} is met at the address of candidate {}: two of the "
            "list are one server, or its setting candidate is wrong",
            chosen_.list, answer.index, peer));
    return false;
  }
  route& way = route_to(peer);
  if (way.node != answer.node) {
    const bool is_same_network = !answer.network.empty() && way.network == answer.network;
    way.is_in_place = is_same_network && way.address == address;
  }
  way.node = answer.node;
  way.network = answer.network;
  way.address = std::move(address);
  way.is_met = true;
  way.is_looking = false;
  for (visitor* const entry : std::vector<visitor*>(visitors_)) {
    // Admitting one visitor may end another at once.
    const bool is_there = std::count(visitors_.begin(), visitors_.end(), entry) != 0;
    if (!is_there || !entry->claim || entry->claim->index != peer || entry->index >= 0) continue;
    if (entry->claim->node == answer.node) {
      admit(*entry);
    } else {
      way.stranger = entry->claim->node;
      entry->send(candidate_messages::rejected{objection_to_second(peer)});
    }
  }
  announce_leader();
  return true;
}

ELASTIC_DECL void candidate::admit(visitor& sender) {
  sender.index = sender.claim->index;
  visitor*& place = peers_[static_cast<std::size_t>(sender.index)];
  visitor* const former = std::exchange(place, &sender);
  if (former != nullptr) former->dismiss();
  sender.trust();
  route& way = route_to(sender.index);
  votes_->entered(sender.index, way.node, chosen_.time->now(), way.is_in_place);
  sender.send(candidate_messages::accepted());
  way.arrival->set();
}

ELASTIC_DECL bool candidate::is_in_doubt(const visitor& node) const {
  const int index = node.search->index;
  if (index < 0 || index == chosen_.self || index >= static_cast<int>(routes_.size())) return false;
  const route& way = routes_[static_cast<std::size_t>(index)];
  return (way.is_met || way.is_looking) && way.node != node.search->node;
}

ELASTIC_DECL void candidate::announce_leader() {
  if (!service_ || !votes_->serves()) return;
  for (visitor* const entry : std::vector<visitor*>(visitors_)) {
    if (entry->search && !entry->knows_leader && !is_in_doubt(*entry)) tell_leader(*entry);
  }
}

ELASTIC_DECL void candidate::tell_leader(visitor& node) {
  node.knows_leader = true;
  node.send(candidate_messages::leads{votes_->term(), chosen_.self});
}

ELASTIC_DECL void candidate::gone(visitor& sender) {
  std::erase(visitors_, &sender);
  if (sender.index >= 0 && peers_[static_cast<std::size_t>(sender.index)] == &sender) {
    peers_[static_cast<std::size_t>(sender.index)] = nullptr;
    votes_->left(sender.index, chosen_.time->now());
  }
  wake();
}

// ---- connections to others ----------------------------------------------------------------------

inline constexpr std::chrono::milliseconds first_peer_pause{20};
inline constexpr std::chrono::milliseconds longest_peer_pause{500};
inline constexpr std::chrono::seconds peer_attempt{5};
/// The time after which the log reports that another candidate is unreachable, and the interval at
/// which it repeats that.
inline constexpr std::chrono::seconds absence_warning{30};
inline constexpr std::chrono::minutes absence_reminder{10};

ELASTIC_DECL task<void> candidate::keep_connected(int peer) {
  event_flag& arrival = *route_to(peer).arrival;
  duration pause = first_peer_pause;
  mark_missing(route_to(peer), chosen_.time->now());
  for (;;) {
    warn_of_absence(peer);
    const std::shared_ptr<message_channel> channel = co_await try_connect(peer);
    if (channel) {
      const time_point begun = chosen_.time->now();
      co_await converse(peer, channel);
      if (chosen_.time->now() - begun > longest_peer_pause) pause = first_peer_pause;
      arrival.reset();
      if (std::exchange(route_to(peer).is_to_look, false)) continue;
    }
    // No agent serves there, unless one started just after the attempt.
    end_look(peer);
    const time_point next = chosen_.time->now() + pause;
    co_await with_deadline(*chosen_.time, next, arrival.wait());
    arrival.reset();
    pause = std::min<duration>(pause * 2, longest_peer_pause);
  }
}

ELASTIC_DECL task<std::shared_ptr<message_channel>> candidate::try_connect(int peer) {
  const auto connector = chosen_.others[static_cast<std::size_t>(peer)];
  const time_point limit = chosen_.time->now() + peer_attempt;
  std::shared_ptr<message_channel> channel;
  try {
    auto connected = co_await with_deadline(*chosen_.time, limit, connector->connect());
    if (connected) channel = std::move(*connected);
    if (!connected) route_to(peer).problem = "no answer";
  } catch (const error& failure) {
    route_to(peer).problem = failure.what();
    chosen_.log.debug("candidate {} does not reach candidate {}: {}", chosen_.self, peer,
                      failure.what());
  }
  co_return channel;
}

ELASTIC_DECL task<void> candidate::converse(int peer, std::shared_ptr<message_channel> channel) {
  const candidate_messages::peer greeting{chosen_.self, chosen_.run_id, chosen_.list, chosen_.node,
                                          chosen_.settings};
  channel->send(candidate_text(candidate_request(greeting)));
  route_to(peer).connection = channel;
  try {
    const time_point limit = chosen_.time->now() + peer_attempt;
    for (;;) {
      // A program that accepts connections and stays silent must not end the search.
      const time_point next = route_to(peer).is_met ? time_point::max() : limit;
      const std::optional<std::string> message =
          co_await with_deadline(*chosen_.time, next, channel->receive());
      if (!message) throw error(errc::connection_failed, "no answer");
      if (!take_answer(peer, parse_candidate_answer(*message), *channel)) break;
      wake();
    }
  } catch (const error& failure) {
    route_to(peer).problem = failure.what();
    chosen_.log.debug("the connection to candidate {} ended: {}", peer, failure.what());
  }
  channel->close();
  route& way = route_to(peer);
  way.connection.reset();
  way.is_met = false;
  const auto former = std::exchange(way.channel, nullptr);
  if (former) {
    mark_missing(way, chosen_.time->now());
    votes_->lost(peer, chosen_.time->now());
  }
  announce_leader();
  wake();
}

ELASTIC_DECL void candidate::mark_missing(route& way, time_point since) {
  way.missing_since = since;
  way.next_warning = since + absence_warning;
}

ELASTIC_DECL void candidate::warn_of_absence(int peer) {
  route& way = route_to(peer);
  const time_point now = chosen_.time->now();
  const bool is_over = votes_->value().ending || votes_->value().all_finished;
  if (now < way.next_warning || is_over) return;
  way.next_warning = now + absence_reminder;
  way.was_warned_of = true;
  const int spare = votes_->spare_candidates();
  std::string meaning = "without a majority of the endpoints the job waits";
  if (spare == 0) meaning = "the job survives no further loss";
  if (spare > 0) meaning = fmt::format("the job survives the loss of {} more", spare);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now - way.missing_since);
  chosen_.log.warning("candidate {} of the endpoints, {}, has been missing for {} s ({}): {}", peer,
                      chosen_.others[static_cast<std::size_t>(peer)]->name(), seconds.count(),
                      way.problem, meaning);
}

ELASTIC_DECL void candidate::log_return(int peer) {
  if (!std::exchange(route_to(peer).was_warned_of, false)) return;
  chosen_.log.info("candidate {} of the endpoints, {}, is reached again", peer,
                   chosen_.others[static_cast<std::size_t>(peer)]->name());
}

ELASTIC_DECL void candidate::log_rejection(int peer, const std::string& why) {
  constexpr std::size_t most_rejections = 16;
  route_to(peer).problem = why;
  const bool has_room = rejections_.size() < most_rejections;
  if (has_room && rejections_.insert(why).second) chosen_.log.error("{}", why);
}

ELASTIC_DECL bool candidate::take_answer(int peer, const candidate_answer& answer,
                                         message_channel& source) {
  const time_point now = chosen_.time->now();
  route& way = route_to(peer);
  if (const auto* present = std::get_if<candidate_messages::present>(&answer)) {
    return take(peer, *present, source.remote_address());
  }
  if (const auto* rejected = std::get_if<candidate_messages::rejected>(&answer)) {
    log_rejection(peer, rejected->why);
    return false;
  }
  const bool is_accepted = std::holds_alternative<candidate_messages::accepted>(answer);
  if (is_accepted && way.is_met && !way.channel) {
    way.channel = way.connection;
    votes_->reached(peer, now);
    log_return(peer);
  }
  if (!way.channel) return true;
  if (const auto* grant = std::get_if<candidate_messages::grant>(&answer)) {
    votes_->received(peer, *grant, now);
  } else if (const auto* ack = std::get_if<candidate_messages::ack>(&answer)) {
    votes_->received(peer, *ack, now);
  }
  return true;
}

ELASTIC_DECL void candidate::log_note(const vote_machine::note& note) const {
  const std::string text = fmt::format("rendezvous of job '{}': candidate {} {}", chosen_.run_id,
                                       chosen_.self, note.text);
  if (note.is_warning) {
    chosen_.log.warning("{}", text);
  } else {
    chosen_.log.info("{}", text);
  }
}

// ---- serving the job ----------------------------------------------------------------------------

ELASTIC_DECL void candidate::begin_votes() {
  vote_machine::options voter;
  voter.self = chosen_.self;
  voter.candidates = static_cast<int>(chosen_.others.size());
  voter.settings = chosen_.settings;
  voter.node = chosen_.node;
  voter.has_restarted = chosen_.marker && chosen_.marker->exists();
  voter.fast_takeover = chosen_.fast_takeover;
  voter.seed = chosen_.seed;
  const time_point now = chosen_.time->now();
  const auto today = chosen_.time->wall_now().time_since_epoch();
  votes_.emplace(voter, now, std::chrono::duration_cast<std::chrono::milliseconds>(today).count());
  if (voter.has_restarted) marked_until_ = now + chosen_.settings.silence();
  leave_mark();
}

ELASTIC_DECL void candidate::leave_mark() {
  if (!chosen_.marker || chosen_.marker->leave()) return;
  chosen_.log.warning(
      "the file '{}' cannot be made: if the agents of all endpoints are killed and started again, "
      "they do not wait for the end of the former world",
      chosen_.marker->path());
}

ELASTIC_DECL void candidate::remove_mark() {
  if (chosen_.marker && chosen_.time->now() >= marked_until_) chosen_.marker->remove();
}

ELASTIC_DECL void candidate::wake() {
  if (earlier_) earlier_->set();
}

ELASTIC_DECL task<void> candidate::keep_time() {
  for (;;) {
    earlier_->reset();
    apply_outputs();
    co_await with_deadline(*chosen_.time, votes_->next_deadline(), earlier_->wait());
    votes_->advance(chosen_.time->now());
  }
}

ELASTIC_DECL void candidate::apply_outputs() {
  for (;;) {
    if (votes_->serves() && !service_) begin_service();
    if (!votes_->serves() && service_) end_service();
    if (service_) service_->speak();
    const auto questions = votes_->take_questions();
    const auto replies = votes_->take_replies();
    for (const auto& question : questions) {
      const auto& channel = route_to(question.to).channel;
      if (channel) channel->send(candidate_text(question.request));
    }
    for (const auto& reply : replies) {
      visitor* const receiver = peers_[static_cast<std::size_t>(reply.to)];
      if (receiver != nullptr) receiver->send(reply.answer);
    }
    for (const vote_machine::note& note : votes_->take_notes()) log_note(note);
    if (questions.empty() && replies.empty()) break;
  }
  if (votes_->reaches_majority()) {
    alone_since_.reset();
  } else if (!alone_since_) {
    alone_since_ = chosen_.time->now();
  }
  if (news_) news_->set();
}

inline task<void> serve(std::shared_ptr<rendezvous_service> service,
                        std::shared_ptr<event_flag> end) {
  co_await race(service->run(), end->wait());
}

ELASTIC_DECL void candidate::begin_service() {
  const time_point now = chosen_.time->now();
  job_ = new_shared<rendezvous_coordinator>(chosen_.run_id, chosen_.log, votes_->term());
  proposed_version_.reset();
  job_->inherit(votes_->value(), chosen_.node, chosen_.settings, now, votes_->uncertain_until());
  service_ = new_shared<rendezvous_service>(
      job_, [this](const rendezvous_coordinator& job) { return may_answer(job); }, chosen_.log,
      chosen_.time);
  if (chosen_.reports) service_->show(chosen_.run_id, chosen_.reports);
  service_end_ = new_shared<event_flag>(*executor_);
  tasks_->spawn(serve(service_, service_end_));
  announce_leader();
}

ELASTIC_DECL void candidate::end_service() {
  if (!service_) return;
  service_end_->set();
  service_->resign();
  service_.reset();
  job_.reset();
  // The nodes look for the next leader, and their workers end.
  for (visitor* const entry : std::vector<visitor*>(visitors_)) {
    if (entry->knows_leader) entry->dismiss();
  }
}

ELASTIC_DECL bool candidate::may_answer(const rendezvous_coordinator& job) {
  votes_->advance(chosen_.time->now());
  if (&job != job_.get()) return false;
  if (!votes_->serves()) {
    wake();
    return false;
  }
  if (proposed_version_ != job.content_version()) {
    proposed_version_ = job.content_version();
    if (votes_->propose(job.content(), chosen_.time->now())) wake();
  }
  return votes_->is_kept();
}

}  // namespace elastic::detail
