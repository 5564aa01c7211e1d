// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/message_channel.hpp>
#include <elastic/rendezvous/rendezvous_message.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace elastic::detail {

/// A node's connection to the server of its rendezvous: keeps it, takes it up again where it
/// breaks, and holds the last that was heard.
///
/// Whoever waits for something looks at `heard()`, and awaits `news()` where it is not there yet.
///
/// Thread-safety: one strand at a time.
class rendezvous_link final : public std::enable_shared_from_this<rendezvous_link> {
 public:
  /// What the server said that still holds.
  struct knowledge {
    std::optional<rendezvous_messages::placed> placed;
    std::optional<rendezvous_change> change;
    std::optional<rendezvous_messages::closed> closed;
    std::optional<rendezvous_messages::refused> refused;
    std::optional<rendezvous_messages::status> status;
    bool all_finished = false;
    /// The link has ended for good; nothing more will be heard.
    std::exception_ptr broken;
  };

  rendezvous_link(std::shared_ptr<message_connector> connector, rendezvous_messages::hello greeting,
                  std::shared_ptr<time_source> time, logger log)
      : connector_(std::move(connector)),
        greeting_(std::move(greeting)),
        time_(std::move(time)),
        log_(std::move(log)) {}

  /// Begins to connect, for at most `patience`.
  void start(asio::any_io_executor executor, duration patience) {
    news_.emplace(executor);
    ended_.emplace(executor);
    auto on_end = [self = shared_from_this()](std::exception_ptr failure) {
      self->heard_.broken = failure;
      self->tell();
      self->ended_->set();
    };
    asio::co_spawn(executor, keep_connected(time_->now() + patience),
                   asio::bind_cancellation_slot(cancel_.slot(), std::move(on_end)));
  }

  /// Sends what is still to be said, for at most `limits::rendezvous_farewell`, and ends.
  task<void> stop() {
    if (!ended_) co_return;
    const auto channel = channel_;
    if (channel) {
      try {
        co_await with_deadline(*time_, time_->now() + limits::rendezvous_farewell,
                               channel->flush());
      } catch (const error&) {
        // Whom it was for is gone.
      }
    }
    cancel_.emit(asio::cancellation_type::terminal);
    co_await ended_->wait();
    if (channel_) channel_->close();
    channel_.reset();
    is_welcome_ = false;
  }

  const knowledge& heard() const { return heard_; }

  bool is_connected() const { return is_welcome_; }

  /// The address of this node on the way to the server; empty while there is no connection.
  std::string local_address() const { return channel_ ? channel_->local_address() : std::string(); }

  /// Waits until something more was heard.
  task<void> news() { co_await news_->wait(); }

  /// Says something now, and again whenever the connection was taken up, until something else is
  /// said so: its effect is the same whether it arrives once or twice.
  void insist(rendezvous_request what) {
    standing_ = std::move(what);
    say(*standing_);
  }

  /// Says something; without a connection it is lost.
  void say(const rendezvous_request& what) {
    if (is_welcome_) channel_->send(to_text(what));
  }

  /// This node is between two rounds: what was heard of the one that it leaves holds no longer.
  void begin_join(rendezvous_messages::join wish) {
    heard_.placed.reset();
    heard_.change.reset();
    heard_.refused.reset();
    heard_.all_finished = false;
    insist(std::move(wish));
  }

  void ask_status() {
    heard_.status.reset();
    insist_on_status_ = true;
    say(rendezvous_messages::ask_status{});
  }

  /// Why the last attempt to connect failed.
  const std::string& last_problem() const { return last_problem_; }

 private:
  using channel_pointer = std::shared_ptr<message_channel>;

  static constexpr std::chrono::milliseconds first_pause{20};
  static constexpr std::chrono::milliseconds longest_pause{1000};
  /// After this time without a connection the log says what is waited for.
  static constexpr std::chrono::seconds silent_wait{2};
  /// How long one attempt, and the first answer, may take.
  static constexpr std::chrono::seconds attempt_timeout{5};
  /// A server that is about to stop hangs up once; one that does not know us, always.
  static constexpr int most_hang_ups = 5;
  static constexpr int most_silences = 2;

  // ---- keeping the connection -----------------------------------------------------------------

  task<void> keep_connected(time_point deadline) {
    for (;;) {
      channel_ = co_await connect_until(deadline);
      std::string why;
      // The server waits for as long again until it lets the others go on.
      grace_ = greeting_.settings.reconnect_grace / 2;
      try {
        co_await race(listen(), keep_alive());
      } catch (const error& failure) {
        // A word that makes no sense will make none the next time.
        if (failure.code() == errc::protocol_violation && !heard_.closed) throw;
        why = failure.what();
      }
      channel_->close();
      channel_.reset();
      is_welcome_ = false;
      if (heard_.closed) {
        // The job is over; the server may leave before us.
        co_return;
      }
      log_.debug("the connection to the rendezvous at {} broke: {}", connector_->name(), why);
      const time_point now = time_->now();
      lost_at_ = now + greeting_.settings.reconnect_grace / 2;
      deadline = now + limits::rendezvous_absence;
    }
  }

  /// Tries again and again.
  task<channel_pointer> connect_until(time_point deadline) {
    const time_point begun = time_->now();
    duration pause = first_pause;
    bool has_warned = false;
    for (;;) {
      const channel_pointer channel = co_await try_connect(std::min(deadline, next_limit()));
      if (channel) co_return channel;
      const time_point now = time_->now();
      if (lost_at_ && now >= *lost_at_) {
        note_lost(fmt::format("the connection to the rendezvous at {} was lost",
                              connector_->name()),
                  grace_);
        lost_at_.reset();
      }
      if (now >= deadline) throw error(errc::connection_failed, absence());
      if (!has_warned && now - begun >= silent_wait) {
        has_warned = true;
        log_.warning("waiting for the rendezvous at {} ({})", connector_->name(), last_problem_);
      }
      const time_point next_try = std::min({deadline, next_limit(), now + pause});
      co_await time_->sleep_until(next_try);
      pause = std::min<duration>(pause * 2, longest_pause);
    }
  }

  time_point next_limit() const {
    return lost_at_ ? std::max(*lost_at_, time_->now()) : time_point::max();
  }

  std::string absence() const {
    return fmt::format("{} the rendezvous at {}: {}",
                       was_connected_ ? "lost" : "could not reach", connector_->name(),
                       last_problem_);
  }

  /// Result: null where this attempt failed.
  task<channel_pointer> try_connect(time_point deadline) {
    const time_point limit = std::min(deadline, time_->now() + attempt_timeout);
    channel_pointer channel;
    try {
      auto made = co_await with_deadline(*time_, limit, connector_->connect());
      if (made) channel = std::move(*made);
      if (!channel && last_problem_.empty()) last_problem_ = "no answer";
    } catch (const error& failure) {
      last_problem_ = failure.what();
    }
    if (!channel) co_return nullptr;
    channel->send(to_text(rendezvous_request(greeting_)));
    known_alive_at_ = time_->now();
    unanswered_.clear();
    if (co_await is_welcomed(channel, limit)) co_return channel;
    channel->close();
    co_return nullptr;
  }

  /// Whether the other side answers as a server of the rendezvous does.
  task<bool> is_welcomed(channel_pointer channel, time_point limit) {
    std::optional<rendezvous_answer> said;
    try {
      const auto answer = co_await with_deadline(*time_, limit, channel->receive());
      if (answer) said = parse_rendezvous_answer(*answer);
      if (!answer) {
        last_problem_ = "it accepts connections but does not answer";
        // PyTorch's servers of today ignore what they do not know.
        if (!was_connected_ && ++silences_ >= most_silences) {
          throw error(errc::protocol_violation, last_problem_);
        }
      }
    } catch (const error& failure) {
      last_problem_ = failure.what();
      const bool is_sure =
          failure.code() == errc::protocol_violation || ++hang_ups_ >= most_hang_ups;
      if (is_sure && !was_connected_) throw error(errc::protocol_violation, stranger());
    }
    if (!said) co_return false;
    if (const auto* refusal = std::get_if<rendezvous_messages::refused>(&*said)) {
      throw error(errc::invalid_argument, refusal->why);
    }
    const auto* welcome = std::get_if<rendezvous_messages::welcome>(&*said);
    if (welcome == nullptr) throw error(errc::protocol_violation, stranger());
    take_up(*channel, welcome->resumed);
    co_return true;
  }

  std::string stranger() const {
    return fmt::format("what answers at {} is no rendezvous of elasticrun ({})", connector_->name(),
                       last_problem_);
  }

  void take_up(message_channel& channel, bool resumed) {
    is_welcome_ = true;
    was_connected_ = true;
    lost_at_.reset();
    if (!resumed) note_lost("this node was given up by the others", duration::zero());
    if (standing_) channel.send(to_text(*standing_));
    if (insist_on_status_) channel.send(to_text(rendezvous_messages::ask_status{}));
    tell();
  }

  // ---- the conversation -----------------------------------------------------------------------

  task<void> listen() {
    for (;;) {
      const std::string message = co_await channel_->receive();
      rendezvous_answer said = parse_rendezvous_answer(message);
      std::visit([this](auto& what) { take(what); }, said);
      tell();
    }
  }

  /// Gives up a server that may have heard nothing of us for so long that it soon gives us up: what
  /// it says of itself proves nothing, only its answers do.
  task<void> keep_alive() {
    const duration interval = greeting_.settings.keep_alive_interval;
    const duration patience = std::max(greeting_.settings.silence() - interval, interval * 3 / 2);
    time_point next_word = time_->now() + interval;
    for (;;) {
      const time_point next_look = std::min(next_word, known_alive_at_ + patience);
      co_await time_->sleep_until(next_look);
      const time_point now = time_->now();
      if (now >= known_alive_at_ + patience) {
        grace_ = interval / 2;
        throw error(errc::connection_failed, "the server does not answer");
      }
      if (now < next_word) continue;
      say(rendezvous_messages::keep_alive{});
      unanswered_.push_back(now);
      next_word = now + interval;
    }
  }

  void take(const rendezvous_messages::welcome&) {}
  void take(const rendezvous_messages::alive&) {
    if (unanswered_.empty()) return;
    known_alive_at_ = unanswered_.front();
    unanswered_.pop_front();
  }
  void take(const rendezvous_messages::refused& said) { heard_.refused = said; }
  void take(const rendezvous_messages::closed& said) { heard_.closed = said; }
  void take(const rendezvous_messages::status& said) {
    heard_.status = said;
    insist_on_status_ = false;
  }
  void take(const rendezvous_messages::placed& said) {
    const auto* wish = standing_ ? std::get_if<rendezvous_messages::join>(&*standing_) : nullptr;
    if (wish == nullptr || said.round <= wish->after) return;
    standing_.reset();
    heard_.placed = said;
  }
  void take(const rendezvous_messages::changed& said) {
    if (heard_.placed && heard_.placed->round == said.round && !heard_.change) {
      heard_.change = said.what;
    }
  }
  void take(const rendezvous_messages::all_finished& said) {
    if (heard_.placed && heard_.placed->round == said.round) heard_.all_finished = true;
  }

  void note_lost(std::string why, duration grace) {
    if (!heard_.placed || heard_.change || heard_.all_finished) return;
    const int restarts = heard_.placed->restarts;
    heard_.change = rendezvous_change{change_kind::node_lost, std::move(why), restarts, grace};
    tell();
  }

  void tell() {
    news_->set();
    news_->reset();
  }

  std::shared_ptr<message_connector> connector_;
  rendezvous_messages::hello greeting_;
  std::shared_ptr<time_source> time_;
  logger log_;
  std::optional<event_flag> news_;
  std::optional<event_flag> ended_;
  asio::cancellation_signal cancel_;
  channel_pointer channel_;
  bool is_welcome_ = false;
  bool was_connected_ = false;
  /// When a connection that broke counts as the loss of this node, and how long its workers may
  /// then take to end.
  std::optional<time_point> lost_at_;
  duration grace_{};
  /// When we said the last that the server is known to have heard, and what it has not answered.
  time_point known_alive_at_;
  std::deque<time_point> unanswered_;
  std::optional<rendezvous_request> standing_;
  bool insist_on_status_ = false;
  knowledge heard_;
  std::string last_problem_;
  int hang_ups_ = 0;
  int silences_ = 0;
};

}  // namespace elastic::detail
