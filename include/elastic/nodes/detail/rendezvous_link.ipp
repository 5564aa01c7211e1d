// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/rendezvous_link.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>

#include <algorithm>
#include <variant>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL rendezvous_link::rendezvous_link(std::shared_ptr<message_connector> connector,
                                              rendezvous_messages::hello greeting,
                                              duration host_grace,
                                              std::shared_ptr<time_source> time, logger log,
                                              std::shared_ptr<report_exchange> reports)
    : connector_(std::move(connector)),
      server_("the rendezvous at " + connector_->name()),
      greeting_(std::move(greeting)),
      host_grace_(host_grace),
      settings_(greeting_.settings),
      time_(std::move(time)),
      log_(std::move(log)),
      reports_(std::move(reports)) {
  greeting_.has_reports = reports_ != nullptr;
}

ELASTIC_DECL rendezvous_link::~rendezvous_link() {
  if (reports_) reports_->on_report({});
}

ELASTIC_DECL void rendezvous_link::start(asio::any_io_executor executor, duration patience) {
  news_.emplace(executor);
  ended_.emplace(executor);
  has_report_.emplace(executor);
  if (reports_) {
    reports_->on_report([executor, weak = weak_from_this()] {
      post_work(executor, [weak] {
        if (const auto link = weak.lock()) link->has_report_->set();
      });
    });
  }
  auto on_end = [self = shared_from_this()](std::exception_ptr failure) {
    self->known_.broken = failure;
    self->notify();
    self->ended_->set();
  };
  start_task(executor, keep_connected(time_->now() + patience), std::move(on_end), cancel_.slot());
}

ELASTIC_DECL task<void> rendezvous_link::stop() {
  if (!ended_) co_return;
  const auto channel = channel_;
  if (channel) {
    try {
      const time_point limit = time_->now() + limits::rendezvous_leave_timeout;
      co_await with_deadline(*time_, limit, channel->flush());
    } catch (const error&) {
      // The receiver is gone.
    }
  }
  cancel_.emit(asio::cancellation_type::terminal);
  co_await ended_->wait();
  if (channel_) channel_->close();
  channel_.reset();
  witness_.reset();
  is_welcome_ = false;
}

ELASTIC_DECL std::string rendezvous_link::local_address() const {
  return channel_ ? channel_->local_address() : std::string();
}

ELASTIC_DECL task<void> rendezvous_link::news() { return news_->wait(); }

ELASTIC_DECL void rendezvous_link::send_until_superseded(rendezvous_request request) {
  standing_request_ = std::move(request);
  send(*standing_request_);
}

ELASTIC_DECL void rendezvous_link::send(const rendezvous_request& request) {
  if (is_welcome_) channel_->send(detail::to_text(request));
}

ELASTIC_DECL void rendezvous_link::begin_join(rendezvous_messages::join joining) {
  known_.placed.reset();
  known_.change.reset();
  known_.refused.reset();
  known_.all_finished = false;
  is_given_up_ = false;
  // From now on, the server may begin a round without this node's knowledge.
  if (greeting_.former && is_welcome_) greeting_.former->until_end = false;
  joining.after = std::max(joining.after, skipped_through_);
  begin_wait(joining.timeout);
  send_until_superseded(std::move(joining));
}

ELASTIC_DECL std::optional<duration> rendezvous_link::until_leader_is_fenced() const {
  if (!has_no_workers_ || is_welcome_ || !ended_at_) return std::nullopt;
  const duration grace = settings_.reconnect_grace;
  const time_point end = both_ended_at_ ? *both_ended_at_ + grace + end_skew
                                        : *ended_at_ + settings_.silence() + grace;
  return std::max(end - time_->now(), duration::zero());
}

ELASTIC_DECL void rendezvous_link::skip_rounds_through(std::int64_t last) {
  skipped_through_ = std::max(skipped_through_, last);
  if (!standing_request_) return;
  auto* const joining = std::get_if<rendezvous_messages::join>(&*standing_request_);
  if (joining != nullptr) joining->after = std::max(joining->after, last);
}

ELASTIC_DECL void rendezvous_link::begin_wait(duration timeout) {
  join_timeout_ = timeout;
  join_limit_ = time_->now() + timeout;
  may_extend_join_ = true;
}

ELASTIC_DECL void rendezvous_link::limit_join() {
  if (!connector_->knows_other_side() || !standing_request_) return;
  auto* const joining = std::get_if<rendezvous_messages::join>(&*standing_request_);
  if (joining == nullptr) return;
  const time_point now = time_->now();
  if (std::exchange(was_on_hold_, false)) begin_wait(join_timeout_);
  const duration least = settings_.silence() + std::chrono::seconds(1);
  // The new leader has to find the nodes first.
  if (join_limit_ - now < least && std::exchange(may_extend_join_, false)) {
    join_limit_ = now + least;
  }
  joining->timeout = std::max<duration>(join_limit_ - now, std::chrono::milliseconds(1));
}

ELASTIC_DECL void rendezvous_link::hold(std::optional<rendezvous_messages::pause> why) {
  hold_ = std::move(why);
  has_held_ = has_held_ || hold_;
  if (is_welcome_) send_hold(*channel_);
}

ELASTIC_DECL void rendezvous_link::send_hold(message_channel& channel) const {
  if (!has_held_) return;
  rendezvous_request word = rendezvous_messages::resume{};
  if (hold_) word = *hold_;
  channel.send(detail::to_text(word));
}

ELASTIC_DECL task<void> rendezvous_link::keep_connected(time_point deadline) {
  for (;;) {
    channel_ = co_await connect_until(deadline);
    std::string why;
    try {
      co_await race(listen(), keep_alive(), keep_witness(), report());
    } catch (const error& failure) {
      // A malformed message will be malformed the next time, too.
      if (failure.code() == errc::protocol_violation && !known_.closed) throw;
      why = failure.what();
    }
    channel_->close();
    channel_.reset();
    is_welcome_ = false;
    if (reports_) reports_->demanded(report_demand::nothing);
    if (known_.closed) {
      // The job is over; the server may leave before this node.
      witness_.reset();
      co_return;
    }
    log_.debug("the connection to {} broke: {}", server_, why);
    const time_point now = time_->now();
    begin_absence(now);
    deadline = now + host_grace_;
    notify();
    const bool have_both_ended = co_await end_witness();
    if (have_both_ended) both_ended_at_ = now;
  }
}

ELASTIC_DECL void rendezvous_link::begin_absence(time_point now) {
  ended_at_ = now;
  if (has_server_resigned_) {
    // The leader's successor ends the round. It does not know which connections have ended, so only
    // the time of silence counts.
    end_ = fencing::of_silence(settings_.silence());
    return mark_lost("the node that led the job no longer leads it");
  }
  const duration grace = settings_.reconnect_grace;
  end_ = connector_->reaches_own_process() ? fencing::of_step_down(grace) : fencing::of_end(grace);
  const time_point silent = known_alive_at_ + fencing::of_silence(settings_.silence()).notice;
  lost_at_ = std::min(now + end_.notice, silent);
}

ELASTIC_DECL auto rendezvous_link::connect_until(time_point deadline) -> task<channel_pointer> {
  const time_point begun = time_->now();
  duration pause = first_pause;
  has_warned_ = false;
  for (;;) {
    const channel_pointer channel = co_await try_connect(std::min(deadline, next_limit()));
    if (channel) co_return channel;
    const time_point now = time_->now();
    if (lost_at_ && now >= *lost_at_) {
      mark_lost(fmt::format("the connection to the rendezvous at {} was lost",
                            connector_->connected_to()));
      lost_at_.reset();
    }
    if (now >= deadline) throw error(errc::connection_failed, absence());
    if (now - begun >= silent_wait) warn_of_absence();
    notify();
    const time_point next_try = std::min({deadline, next_limit(), now + pause});
    co_await time_->sleep_until(next_try);
    pause = std::min<duration>(pause * 2, was_connected_ ? longest_search_pause : longest_pause);
  }
}

ELASTIC_DECL time_point rendezvous_link::next_limit() const {
  return lost_at_ ? std::max(*lost_at_, time_->now()) : time_point::max();
}

ELASTIC_DECL void rendezvous_link::warn_of_absence() {
  if (std::exchange(has_warned_, true)) return;
  if (!was_connected_) {
    return log_.warning("waiting for {} ({})", server_, last_problem_);
  }
  log_.warning("{} is gone ({}): waiting up to {} s for its return", server_, last_problem_,
               std::chrono::duration<double>(host_grace_).count());
}

ELASTIC_DECL std::string rendezvous_link::obstacle() const {
  if (is_welcome_) return {};
  return fmt::format("{} {} ({})", server_, was_connected_ ? "is gone" : "is not reached",
                     last_problem_.empty() ? "no answer" : last_problem_);
}

ELASTIC_DECL std::string rendezvous_link::absence() const {
  if (!was_connected_) {
    return fmt::format("could not reach {}: {}", server_, last_problem_);
  }
  return fmt::format("lost {}, and nobody served it again within {} s (host_grace): {}", server_,
                     std::chrono::duration<double>(host_grace_).count(), last_problem_);
}

ELASTIC_DECL auto rendezvous_link::try_connect(time_point deadline) -> task<channel_pointer> {
  const time_point limit = std::min(deadline, time_->now() + attempt_timeout);
  channel_pointer channel;
  try {
    auto connected = co_await with_deadline(*time_, limit, connector_->connect());
    if (connected) channel = std::move(*connected);
    if (!channel) last_problem_ = no_answer();
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
    last_problem_ = failure.what();
  }
  if (!channel) co_return nullptr;
  greeting_.excluded = excluded_.at(time_->now());
  channel->send(detail::to_text(rendezvous_request(greeting_)));
  second_message_at_.reset();
  // The search for the leader may have taken long.
  const time_point answer_limit = std::min(deadline, time_->now() + answer_patience());
  if (co_await is_welcomed(channel, answer_limit)) co_return channel;
  channel->close();
  co_return nullptr;
}

ELASTIC_DECL std::string rendezvous_link::no_answer() const {
  const std::string problem = connector_->problem();
  if (!problem.empty()) return problem;
  return last_problem_.empty() ? "no answer" : last_problem_;
}

ELASTIC_DECL duration rendezvous_link::answer_patience() const {
  // A leader sends nothing that a majority does not have, until it no longer leads.
  if (!connector_->knows_other_side()) return attempt_timeout;
  return std::max<duration>(attempt_timeout, settings_.silence());
}

ELASTIC_DECL task<std::optional<std::string>> rendezvous_link::first_answer(channel_pointer channel,
                                                                            time_point limit) {
  const time_point greeted_at = time_->now();
  std::optional<std::string> answer;
  if (examine_ && !is_server_known()) {
    const time_point patience = std::min<time_point>(limit, greeted_at + second_message);
    answer = co_await with_deadline(*time_, patience, channel->receive());
    if (answer) co_return answer;
    send_second_message(*channel);
  }
  if (!is_server_known()) {
    const time_point patience = std::min<time_point>(limit, greeted_at + silent_answer);
    answer = co_await with_deadline(*time_, patience, channel->receive());
    if (answer) co_return answer;
    last_problem_ = not_answering;
    warn_of_absence();
  }
  answer = co_await with_deadline(*time_, limit, channel->receive());
  if (!answer) last_problem_ = not_answering;
  co_return answer;
}

ELASTIC_DECL task<void> rendezvous_link::look_at_stranger(bool has_hung_up) {
  const time_point now = time_->now();
  if (has_hung_up && ++hang_ups_ == 1) first_hang_up_at_ = now;
  const bool is_last = hang_ups_ >= most_hang_ups && now >= *first_hang_up_at_ + hang_up_patience_;
  const bool ends_silence = second_message_at_ || !has_hung_up;
  if (examine_ && (is_last || ends_silence)) co_await examine_();
  if (is_last) throw error(errc::protocol_violation, stranger());
}

ELASTIC_DECL void rendezvous_link::send_second_message(message_channel& channel) {
  channel.send(detail::to_text(rendezvous_request(rendezvous_messages::keep_alive{})));
  second_message_at_ = time_->now();
}

ELASTIC_DECL task<bool> rendezvous_link::is_welcomed(channel_pointer channel, time_point limit) {
  std::optional<rendezvous_answer> reply;
  const time_point greeted_at = time_->now();
  bool has_hung_up = false;
  bool is_busy = false;
  try {
    const auto answer = co_await first_answer(channel, limit);
    if (answer) reply = parse_rendezvous_answer(*answer);
  } catch (const error& failure) {
    last_problem_ = failure.what();
    // The secrets differ, or only one side has one.
    if (failure.code() == errc::invalid_argument && !was_connected_) {
      throw error(errc::invalid_argument,
                  fmt::format("{}: {}", connector_->name(), failure.what()));
    }
    const bool is_garbled = failure.code() == errc::protocol_violation && !was_connected_;
    if (is_garbled) throw error(errc::protocol_violation, stranger());
    has_hung_up = true;
    is_busy = channel->is_in_handshake();
  }
  if (!reply && !is_server_known() && !is_busy) co_await look_at_stranger(has_hung_up);
  if (!reply) {
    // The server may have received the greeting, and may know this node only from it.
    has_server_resigned_ = false;
    co_return false;
  }
  if (const auto* refusal = std::get_if<rendezvous_messages::refused>(&*reply)) {
    throw error(errc::invalid_argument, refusal->why);
  }
  if (std::holds_alternative<rendezvous_messages::resigned>(*reply)) {
    last_problem_ = "it no longer leads the job";
    co_return false;
  }
  const auto* welcome = std::get_if<rendezvous_messages::welcome>(&*reply);
  if (welcome == nullptr) throw error(errc::protocol_violation, stranger());
  take_up(*channel, *welcome, greeted_at);
  co_return true;
}

ELASTIC_DECL std::string rendezvous_link::stranger() const {
  return fmt::format("the server at {} is not a rendezvous of elasticrun ({})", connector_->name(),
                     last_problem_);
}

ELASTIC_DECL void rendezvous_link::take_up(message_channel& channel,
                                           const rendezvous_messages::welcome& reply,
                                           time_point greeted_at) {
  settings_ = reply.settings;
  // A later hello repeats the settings that this node follows, so that the next server knows how
  // long the node can be silent.
  greeting_.settings.keep_alive_interval = settings_.keep_alive_interval;
  greeting_.settings.keep_alive_max_attempt = settings_.keep_alive_max_attempt;
  greeting_.settings.reconnect_grace = settings_.reconnect_grace;
  known_alive_at_ = greeted_at;
  unanswered_.clear();
  if (second_message_at_) unanswered_.push_back(*second_message_at_);
  is_welcome_ = true;
  was_connected_ = true;
  ended_at_.reset();
  lost_at_.reset();
  both_ended_at_.reset();
  const bool is_other_server = greeting_.highest_term != 0 && reply.term > greeting_.highest_term;
  greeting_.highest_term = std::max(greeting_.highest_term, reply.term);
  if (!reply.resumed || is_other_server) infer_end_of_round(reply.resumed, is_other_server);
  has_server_resigned_ = false;
  // Must precede a request to join, which could begin the round.
  send_hold(channel);
  if (is_other_server) limit_join();
  if (standing_request_) channel.send(detail::to_text(*standing_request_));
  notify();
}

ELASTIC_DECL void rendezvous_link::infer_end_of_round(bool is_known, bool is_other_server) {
  if (greeting_.former) greeting_.former->until_end = false;
  // A new server also reports that it knows this node if only its first welcome was lost. But if
  // the server before it resigned and it was greeted only once, it waits for the nodes of the
  // round.
  const bool is_waited_for = is_known && has_server_resigned_;
  if (known_.placed && !is_waited_for) is_given_up_ = true;
  mark_lost(is_other_server ? "the server of the rendezvous was restarted"
                            : "this node was given up by the others");
}

ELASTIC_DECL task<void> rendezvous_link::listen() {
  for (;;) {
    const std::string message = co_await channel_->receive();
    rendezvous_answer reply = parse_rendezvous_answer(message);
    std::visit([this](auto& content) { take(content); }, reply);
    notify();
  }
}

ELASTIC_DECL task<void> rendezvous_link::keep_alive() {
  const duration interval = settings_.keep_alive_interval;
  const duration patience = fencing::of_silence(settings_.silence()).notice;
  time_point next_word = time_->now() + interval;
  for (;;) {
    // If the server sees the connection end, the others continue sooner than after silence, so the
    // connection stays open until the workers are gone.
    const bool is_lost = time_->now() >= known_alive_at_ + patience;
    if (is_lost) {
      if (greeting_.former) greeting_.former->until_end = false;
      mark_lost(fmt::format("{} does not answer", server_));
    }
    const bool has_workers = known_.placed && !known_.all_finished;
    const time_point limit = is_lost && has_workers ? fence() : known_alive_at_ + patience;
    if (is_lost && time_->now() >= limit) {
      throw error(errc::connection_failed, "the server does not answer");
    }
    const time_point next_look = std::min(next_word, limit);
    co_await time_->sleep_until(next_look);
    const time_point now = time_->now();
    if (now < next_word) continue;
    send(rendezvous_messages::keep_alive{});
    unanswered_.push_back(now);
    next_word = now + interval;
  }
}

ELASTIC_DECL task<void> rendezvous_link::keep_witness() {
  for (duration pause = first_pause;; pause = std::min<duration>(pause * 2, longest_pause)) {
    try {
      co_await attend_witness();
    } catch (const error& failure) {
      log_.debug("a second connection to {}: {}", server_, failure.what());
    }
    const time_point next_try = time_->now() + pause;
    co_await time_->sleep_until(next_try);
  }
}

ELASTIC_DECL task<void> rendezvous_link::attend_witness() {
  const channel_pointer channel = co_await connector_->connect_again();
  witness_ = channel;
  witness_ended_at_.reset();
  channel->send(detail::to_text(rendezvous_messages::witness{greeting_.run_id, greeting_.node}));
  try {
    // This connection carries no messages; its end arrives as an error.
    co_await channel->receive();
  } catch (const error&) {
    witness_.reset();
    witness_ended_at_ = time_->now();
    throw;
  }
}

ELASTIC_DECL task<bool> rendezvous_link::end_witness() {
  const channel_pointer channel = std::exchange(witness_, nullptr);
  // A link without `tell_ends` reconnects at once.
  if (!tells_ends_) co_return false;
  const duration skew = std::min<duration>(end_skew, settings_.reconnect_grace / 8);
  if (!channel) co_return witness_ended_at_ && *witness_ended_at_ + skew >= *ended_at_;
  const time_point limit = *ended_at_ + skew;
  bool has_ended = false;
  try {
    co_await with_deadline(*time_, limit, channel->receive());
  } catch (const error&) {
    has_ended = true;
  }
  channel->close();
  co_return has_ended;
}

ELASTIC_DECL task<void> rendezvous_link::report() {
  if (!reports_) co_await time_->sleep_until(time_point::max());
  for (;;) {
    has_report_->reset();
    if (send_reports()) {
      const time_point next = time_->now() + limits::node_report_pause;
      co_await time_->sleep_until(next);
    } else {
      co_await has_report_->wait();
    }
  }
}

ELASTIC_DECL bool rendezvous_link::send_reports() {
  bool has_said = false;
  for (int part = 0; part < limits::node_reports_at_once; ++part) {
    std::string text = reports_->next_report();
    if (text.empty()) break;
    send(rendezvous_messages::report{std::move(text)});
    has_said = true;
  }
  return has_said;
}

ELASTIC_DECL void rendezvous_link::take(const rendezvous_messages::report_wanted& reply) {
  if (!reports_) return;
  reports_->demanded(reply.demand);
  reports_->demanded_output(reply.output);
}

ELASTIC_DECL void rendezvous_link::take(const rendezvous_messages::alive&) {
  if (unanswered_.empty()) return;
  known_alive_at_ = unanswered_.front();
  unanswered_.pop_front();
}

ELASTIC_DECL void rendezvous_link::take(const rendezvous_messages::resigned&) {
  // A successor does not wait for the node of the leader that resigned.
  has_server_resigned_ = !connector_->reaches_own_process();
}

ELASTIC_DECL void rendezvous_link::take(const rendezvous_messages::peers& reply) {
  if (known_.peers_round != reply.round) known_.peers = {};
  known_.peers_round = reply.round;
  known_.peers.add_list(reply.addresses, ' ');
}

ELASTIC_DECL void rendezvous_link::take(const rendezvous_messages::placed& reply) {
  const auto* joining =
      standing_request_ ? std::get_if<rendezvous_messages::join>(&*standing_request_) : nullptr;
  if (joining == nullptr || reply.round <= joining->after) return;
  standing_request_.reset();
  was_on_hold_ = false;
  has_no_workers_ = false;
  known_.placed = reply;
  excluded_ = {};
  for (const exclusion& who : reply.excluded) excluded_.add(who, time_->now());
  greeting_.former = rendezvous_messages::former_round{
      reply.term,      reply.round,    reply.rank, reply.world,
      reply.host_rank, reply.restarts, true,       channel_->remote_address()};
}

ELASTIC_DECL void rendezvous_link::take(const rendezvous_messages::on_hold& reply) {
  // The time in which this node cannot get a place does not count towards the join timeout.
  was_on_hold_ = true;
  log_.warning("this node waits: {}", reply.why);
}

ELASTIC_DECL void rendezvous_link::take(const rendezvous_messages::changed& reply) {
  if (known_.placed && known_.placed->round == reply.round && !known_.change) {
    known_.change = reply.what;
    greeting_.former->restarts = std::max(greeting_.former->restarts, reply.what.restarts);
    known_.change->on_other_node = reply.what.kind == rendezvous_change::cause::worker_failed &&
                                   reply.failed_rank != known_.placed->rank;
  }
}

ELASTIC_DECL void rendezvous_link::take(const rendezvous_messages::all_finished& reply) {
  if (known_.placed && known_.placed->round == reply.round) known_.all_finished = true;
}

ELASTIC_DECL time_point rendezvous_link::fence() const {
  // Nobody continues a job that was closed.
  if (!was_connected_ || known_.closed) return time_point::max();
  if (is_given_up_) return time_->now();
  const time_point of_silence = known_alive_at_ + fencing::of_silence(settings_.silence()).kill;
  if (!ended_at_) return of_silence;
  return std::min(of_silence, *ended_at_ + end_.kill);
}

ELASTIC_DECL task<void> rendezvous_link::wait_for_fence() {
  for (;;) {
    const time_point limit = fence();
    if (time_->now() >= limit) co_return;
    co_await race(time_->sleep_until(limit), news());
  }
}

ELASTIC_DECL void rendezvous_link::mark_lost(std::string why) {
  if (!known_.placed || known_.change || known_.all_finished) return;
  const int restarts = known_.placed->restarts;
  known_.change = rendezvous_change{rendezvous_change::cause::node_lost, std::move(why), restarts};
  // The successor of a server that resigned postpones the fence.
  if (!has_server_resigned_) {
    known_.change->grace = std::max(fence() - time_->now(), duration::zero());
  }
  notify();
}

ELASTIC_DECL void rendezvous_link::notify() {
  news_->set();
  news_->reset();
}

}  // namespace elastic::detail
