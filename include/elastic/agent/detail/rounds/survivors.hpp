// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rounds/rejoin_machine.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/control/agent_message.hpp>
#include <elastic/control/worker_channels.hpp>
#include <elastic/control/worker_message.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

struct survivors_options {
  /// False: no worker outlives its epoch, and `survivors` does nothing.
  bool is_on = false;
  /// The time that a worker may take to leave its epoch (see `rejoin_deadline`), and that the agent
  /// may take to answer a worker's question.
  duration timeout{};
  std::shared_ptr<time_source> time;
  logger log;
  /// Kills a worker that has left an epoch in which the others continue.
  std::function<void(std::size_t slot)> kill;
};

/// The workers of this node that can outlive an epoch: their state, and the messages by which they
/// leave one epoch and join the next. `rejoin_machine` decides.
///
/// Thread-safety: one strand at a time, that of the channels.
class survivors {
 public:
  /// `channels` must outlive this.
  ELASTIC_DECL survivors(asio::any_io_executor strand, worker_channels& channels,
                         survivors_options options);

  bool is_on() const { return options_.is_on; }

  // ---- events -----------------------------------------------------------------------------------

  /// Begins an epoch for the workers that run, and for those that `started` adds next.
  ELASTIC_DECL void begin(std::int64_t epoch, std::size_t workers, bool has_survivors);
  ELASTIC_DECL void started(std::size_t slot, int rank);
  ELASTIC_DECL void ended(std::size_t slot, bool succeeded);
  ELASTIC_DECL void take(int local_rank, const worker_messages::worker_message& message);

  // ---- state ------------------------------------------------------------------------------------

  /// The reason why all workers of the job must restart if one fails now; empty: as far as this
  /// node knows, the others can stay.
  ELASTIC_DECL std::string obstacle() const;

  /// Whether a worker waits for the next epoch.
  bool is_ready(std::size_t slot) const { return slot < places_.size() && places_[slot].is_ready; }

  /// How many workers wait for the next epoch.
  ELASTIC_DECL int ready() const;

  /// Whether a worker takes part in an epoch: it runs, has not left the epoch, and no error has
  /// taken it out.
  ELASTIC_DECL bool is_inside(std::size_t slot) const;

  // ---- messages ---------------------------------------------------------------------------------

  /// Answers workers that ask during the epoch whether it has ended. It answers as late as the
  /// time-out allows, since a change may still arrive.
  ///
  /// Cancellation: all types; nothing else ends it.
  ELASTIC_DECL task<void> answer() &;

  /// Ends the epoch: makes every worker that can stay leave it within the time-out.
  /// @param most  the time after which the agent kills the workers that are still inside; they are
  ///              told of it
  ///
  /// Result: the reason why all workers must restart; empty: those that are ready can stay.
  /// Cancellation: all types; some may have left.
  ELASTIC_DECL task<std::string> leave(bool is_pause, duration most) &;

  /// Tells a ready worker to take part in the epoch that has begun.
  /// Result: false if it cannot be told.
  /// Errors: those of `to_line`.
  ELASTIC_DECL bool rejoin(std::size_t slot, int rank, const control_messages::rejoin& message);

 private:
  struct place : survivor_facts {
    bool is_notified = false;
    /// An error has taken it out of the epoch before it was told of the end: it waits for the
    /// answer to its question, and does nothing else.
    bool is_out = false;
    /// The time since which it waits for the epoch to end: it has asked, or has left by itself.
    std::optional<time_point> waits_since;
    /// The time since which it has no other work in the epoch: it has asked whether the epoch has
    /// ended.
    std::optional<time_point> asked_at;
  };

  ELASTIC_DECL epoch_end facts() const;
  ELASTIC_DECL std::optional<int> finished_rank() const;
  ELASTIC_DECL void take(place& entry, const worker_messages::survive&);
  ELASTIC_DECL void take(place& entry, const worker_messages::ask& message);
  ELASTIC_DECL void take(place& entry, const worker_messages::ready& message);
  ELASTIC_DECL void take(place& entry, const worker_messages::finished& message);
  ELASTIC_DECL void take(place& entry, const worker_messages::withdraw& message);
  template <class Message>
  void take(place&, const Message&) {}
  ELASTIC_DECL void send(std::size_t slot, const control_messages::agent_message& message);
  ELASTIC_DECL time_point deadline_of(const place& entry, time_point began) const;
  // @param fence  the time at which the workers that are still inside are killed
  ELASTIC_DECL void announce_change(time_point began, time_point fence);
  // Result: the time of the next check.
  ELASTIC_DECL time_point answer_due(time_point now);

  worker_channels& channels_;
  survivors_options options_;
  event_flag changed_;
  std::int64_t epoch_ = 0;
  bool has_survivors_ = false;
  std::vector<place> places_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/rounds/survivors.ipp>
#endif
