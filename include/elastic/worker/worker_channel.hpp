// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/health/agent_message.hpp>
#include <elastic/health/detail/line_intake.hpp>

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace elastic {

/// A worker's end of the control channel: tells the agent how it is, and hears what it is to do.
///
///     elastic::worker_channel agent;
///     for (int step = 0; step < steps; ++step) {
///       const auto limit = agent.expires(60s, "step");  // killed if the step takes longer
///       train(step);
///       agent.progress(step + 1, steps);
///     }
///
/// Where there is no channel (a program that was started by hand, or by torchrun), and from the
/// moment on at which the agent is gone, every call does nothing: a worker needs no second way.
///
/// A worker that can go on in another process group keeps its process and its memory when another
/// worker fails (`worker_spec::on_failure`):
///
///     elastic::worker_context me = elastic::this_worker();
///     if (me.epoch) agent.survive();
///     for (;;) {
///       try {
///         train(me, state);  // connects to the others, and throws if one of them is gone
///         break;
///       } catch (const connection_lost& failure) {
///         if (!me.epoch || !agent.is_change(*me.epoch, failure.what())) throw;
///       }
///       me = elastic::worker_context_from(agent.rejoin(*me.epoch).variables);
///     }
///     if (me.epoch) agent.finished(*me.epoch);
///
/// Errors: none throws, but for a constructor that is given what is not an address, and `rejoin`.
/// Thread-safety: any thread may call any member at any time, but `poll`, `wait`, `is_change` and
/// `rejoin` one at a time.
class worker_channel {
 public:
  /// Options of a worker_channel.
  struct options {
    /// Whether the agent is to ask this worker for checkpoints, such as before it stops the job on
    /// SIGTERM: it then waits for `saved`.
    bool checkpoints = false;
  };

  /// An epoch that a worker has joined without a new process.
  struct new_epoch {
    std::int64_t number = 0;
    /// The variables of this process, brought up to date. The environment itself is left alone: to
    /// change it while other threads read it is an error.
    environment_map variables;
  };

  /// Connects to the channel that this process's environment names.
  ELASTIC_DECL worker_channel();
  ELASTIC_DECL explicit worker_channel(options settings);

  /// Connects to the channel that `variables` name: ELASTIC_CONTROL and LOCAL_RANK.
  /// Errors: `errc::invalid_argument` if these are set to what cannot be.
  ELASTIC_DECL explicit worker_channel(const environment_map& variables);
  ELASTIC_DECL worker_channel(const environment_map& variables, options settings);

  worker_channel(const worker_channel&) = delete;
  worker_channel& operator=(const worker_channel&) = delete;

  /// Says that this worker wants to be watched no longer: one that ends its channel is not hung.
  ELASTIC_DECL ~worker_channel();

  /// Whether there is an agent at the other end.
  bool connected() const { return is_open_; }

  /// This worker lives. From the first call on the agent waits for the next: for `timeout` if it
  /// is named, else for what it was told (--heartbeat-timeout) or has learned.
  ELASTIC_DECL void heartbeat(std::optional<duration> timeout = std::nullopt);

  /// How far this worker is; counts as a heartbeat. `total` 0: not known.
  ELASTIC_DECL void progress(std::int64_t step, std::int64_t total = 0, std::string text = {},
                             std::map<std::string, double> metrics = {});

  /// A part of the work, from its construction to its destruction.
  class [[nodiscard]] section {
   public:
    ELASTIC_DECL section(worker_channel& channel, std::string name);
    ELASTIC_DECL section(section&& other) noexcept;
    section& operator=(section&&) = delete;
    ELASTIC_DECL ~section();

   private:
    worker_channel* channel_;
    std::string name_;
  };

  /// Begins a part of the work. With a `timeout`, or a learned one, it has to end by then, and no
  /// heartbeat is due meanwhile; without one a report of a hang names it.
  ELASTIC_DECL section enter(std::string name, std::optional<duration> timeout = std::nullopt);

  /// A timer, from its construction to its destruction.
  class [[nodiscard]] timer {
   public:
    timer(worker_channel& channel, std::string name) : channel_(&channel), name_(std::move(name)) {}
    ELASTIC_DECL timer(timer&& other) noexcept;
    timer& operator=(timer&&) = delete;
    ELASTIC_DECL ~timer();

   private:
    worker_channel* channel_;
    std::string name_;
  };

  /// The agent kills this worker, and reports it as hung, unless the result is destroyed before
  /// `after` is over.
  ELASTIC_DECL timer expires(duration after, std::string_view name = "scope");

  /// Where workers fail from now on, the job is not started again: doing it once more would be in
  /// vain.
  ELASTIC_DECL void do_not_restart(std::string reason);

  /// This node cannot do the work: it leaves the job, and the others go on.
  ELASTIC_DECL void node_is_bad(std::string reason);

  /// The checkpoint that was asked for is written, or is not and why.
  ELASTIC_DECL void saved(const control_messages::checkpoint& checkpoint);
  ELASTIC_DECL void not_saved(const control_messages::checkpoint& checkpoint, std::string reason);

  /// This worker can leave an epoch and take part in the next one: the agent does not end it when
  /// the epoch ends, but says `control_messages::change`. Call it once.
  ELASTIC_DECL void survive();

  /// The work of this epoch failed: asks the agent whether the epoch has ended, which other
  /// workers' failures may show later than ours. Waits for the answer, for as long as the agent
  /// takes: at most `worker_spec::rejoin_timeout`.
  /// Result: true: leave the epoch and call `rejoin`. False: the failure is this worker's own, or
  /// the agent is gone.
  ELASTIC_DECL bool is_change(std::int64_t epoch, std::string reason);

  /// This worker has closed its connections to the others of the epoch, and waits for the next one.
  /// A checkpoint or a pause that the agent asks for meanwhile stays for `poll`.
  /// Errors: `errc::connection_failed` if the agent is gone, or has never been there.
  ELASTIC_DECL new_epoch rejoin(std::int64_t epoch);

  /// The work of this worker has ended with success; it takes part in no other epoch.
  ELASTIC_DECL void finished(std::int64_t epoch);

  /// What the agent said, the oldest first; none if it said nothing new. Does not wait.
  std::optional<control_messages::agent_message> poll() {
    return wait(std::chrono::milliseconds(0));
  }

  /// The same, but waits for it so long; without an agent it returns at once.
  ELASTIC_DECL std::optional<control_messages::agent_message> wait(
      std::chrono::milliseconds longest);

  /// Readable if `poll` may have something, for those who wait for several things; -1 if
  /// there is no channel.
  int descriptor() const { return socket_; }

 private:
  static constexpr bool can_be_lost = true;
  ELASTIC_DECL static int rank_from(const environment_map& variables);

  // Heartbeats are dropped if the agent does not read; the rest is waited for a while.
  template <class Message>
  void say(const Message& message, bool loses = false);
  ELASTIC_DECL void receive();
  ELASTIC_DECL std::optional<control_messages::agent_message> next_message();
  // The next message that arrives; none: the agent is gone.
  ELASTIC_DECL std::optional<control_messages::agent_message> await_message();

  int socket_ = -1;
  pid_t owner_ = ::getpid();
  std::atomic<bool> is_open_ = false;
  std::atomic<std::uint64_t> timers_ = 0;
  std::mutex sending_;
  detail::line_intake lines_;
  /// What came while this waited for something else.
  std::deque<control_messages::agent_message> kept_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/worker/impl/worker_channel.ipp>
#endif
