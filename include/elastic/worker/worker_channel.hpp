// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/job_roles.hpp>
#include <elastic/control/agent_message.hpp>
#include <elastic/control/detail/line_intake.hpp>

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

/// A worker's end of the control channel: reports the worker's state to the agent, and receives its
/// requests.
///
///     elastic::worker_channel agent;
///     for (int step = 0; step < steps; ++step) {
///       const auto limit = agent.expires(60s, "step");  // killed if the step takes longer
///       train(step);
///       agent.progress(step + 1, steps);
///     }
///
/// If there is no channel (because the program was started by hand, or by torchrun), or the agent
/// is gone, every call does nothing, so a worker needs no special case.
///
/// A worker that can continue in another process group keeps its process and its memory when
/// another worker fails (`worker_spec::on_failure`):
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
/// Errors: only the constructors, for an invalid address, `rejoin`, `roles` and `next_roles` throw.
/// Thread-safety: any thread may call any member at any time, but only one of `poll`, `wait`,
/// `next`, `is_change`, `rejoin` and `next_roles` at a time.
class worker_channel {
 public:
  /// Options of a worker_channel.
  struct options {
    /// Whether this worker accepts requests for checkpoints, for example before the agent stops the
    /// job on SIGTERM. The agent then waits for `saved`.
    bool checkpoints = false;
  };

  /// An epoch that a worker has joined without a new process.
  struct new_epoch {
    std::int64_t number = 0;
    /// The updated variables of this process. The environment itself is not changed, because other
    /// threads may read it at the same time.
    environment_map variables;
  };

  /// Connects to the channel that this process's environment names.
  ELASTIC_DECL worker_channel();
  ELASTIC_DECL explicit worker_channel(options settings);

  /// Connects to the channel that `variables` name: ELASTIC_CONTROL and LOCAL_RANK. ELASTIC_ROLES
  /// names the file of the job's roles.
  /// Errors: `errc::invalid_argument` if their values are invalid.
  ELASTIC_DECL explicit worker_channel(const environment_map& variables);
  ELASTIC_DECL worker_channel(const environment_map& variables, options settings);

  worker_channel(const worker_channel&) = delete;
  worker_channel& operator=(const worker_channel&) = delete;

  /// Tells the agent to stop watching this worker, so that it is not considered hung.
  ELASTIC_DECL ~worker_channel();

  /// Whether there is an agent at the other end.
  bool is_connected() const { return is_open_; }

  /// Reports that this worker is alive. From the first call on, the next is due within `timeout` if
  /// it is given, or else within --heartbeat-timeout, or within the learned time-out.
  ELASTIC_DECL void heartbeat(std::optional<duration> timeout = std::nullopt);

  /// Reports the progress of this worker; counts as a heartbeat. `total` 0: unknown.
  ELASTIC_DECL void progress(std::int64_t step, std::int64_t total = 0, std::string text = {},
                             std::map<std::string, double> metrics = {});

  /// A section of the work, from construction to destruction.
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

  /// Begins a section of the work. With a `timeout`, or a learned one, it must end in time, and no
  /// heartbeat is due meanwhile. Without one, it only appears in the report of a hang.
  ELASTIC_DECL section enter(std::string name, std::optional<duration> timeout = std::nullopt);

  /// A timer that runs from construction to destruction.
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

  /// The agent kills this worker, and reports it as hung, unless the result is destroyed within
  /// `after`.
  ELASTIC_DECL timer expires(duration after, std::string_view name = "scope");

  /// Asks for no restart: the next failure of a worker ends the job.
  ELASTIC_DECL void do_not_restart(std::string reason);

  /// Reports that this node cannot do the work: it leaves the job, and the others continue.
  ELASTIC_DECL void node_is_bad(std::string reason);

  /// Reports that the requested checkpoint is written, or why it is not.
  ELASTIC_DECL void saved(const control_messages::checkpoint& checkpoint);
  ELASTIC_DECL void not_saved(const control_messages::checkpoint& checkpoint, std::string reason);

  /// Declares that this worker can leave an epoch and take part in the next one: when the epoch
  /// ends, the agent does not kill it, but sends `control_messages::change`. Call it once.
  ELASTIC_DECL void survive();

  /// To be called when the work of this epoch failed: asks the agent whether the epoch has ended,
  /// because the agent may learn of other workers' failures later than this worker does. Waits for
  /// the answer, at most `worker_spec::rejoin_timeout`. Until then this worker must do nothing that
  /// others could notice: they may already be in the next epoch.
  /// Result: true: leave the epoch and call `rejoin`; false: the failure is this worker's own, or
  /// the agent is gone.
  ELASTIC_DECL bool is_change(std::int64_t epoch, std::string reason);

  /// Reports that this worker has closed its connections to the others of the epoch, and waits for
  /// the next epoch. Requests that arrive meanwhile are kept for `poll`.
  /// Errors: `errc::connection_failed` if there is no agent, or it is gone.
  ELASTIC_DECL new_epoch rejoin(std::int64_t epoch);

  /// Reports that the work of this worker has succeeded; it takes part in no further epoch.
  ELASTIC_DECL void finished(std::int64_t epoch);

  /// The current roles of the job; empty if it has no roles.
  /// Errors: `errc::file_access` if their file cannot be read, for example after the end of the
  /// agent; `errc::protocol_violation` if its content is invalid.
  ELASTIC_DECL std::optional<job_roles> roles() const;

  /// Waits until the roles of the job have changed since `revision`: a worker was started, has
  /// ended or has another port, or a role has another state. Messages of the agent that arrive
  /// meanwhile are kept for `poll`.
  ///
  /// @param revision  the revision of the roles that the caller knows; 0: none
  /// @param longest   the longest wait, at least 0
  /// Result: the roles; empty if they did not change in time, or there is no agent or no role.
  /// Errors: those of `roles`.
  ELASTIC_DECL std::optional<job_roles> next_roles(std::int64_t revision,
                                                   std::chrono::milliseconds longest);

  /// Asks the agent to send `control_messages::roles` once when the roles have changed since
  /// `revision`, for callers that wait for several things.
  ELASTIC_DECL void await_roles(std::int64_t revision);

  /// The oldest message of the agent that was not returned yet; empty if there is none. Does not
  /// wait.
  std::optional<control_messages::agent_message> poll() {
    return wait(std::chrono::milliseconds(0));
  }

  /// Like `poll`, but waits up to `longest` for a message. Without an agent it returns at once.
  ELASTIC_DECL std::optional<control_messages::agent_message> wait(
      std::chrono::milliseconds longest);

  /// The same for programs on Asio: waits for the next message without blocking a thread.
  ///
  /// Result: the message; empty if there is no agent, or it is gone.
  /// Errors: `errc::connection_failed` if this process has no descriptor left.
  /// Cancellation: all types; throws `operation_aborted`, and no message is lost.
  ELASTIC_DECL task<std::optional<control_messages::agent_message>> next() &;

  /// A descriptor that is readable if `poll` may return a message, for programs that wait for
  /// several events; -1 if there is no channel.
  int descriptor() const { return socket_; }

 private:
  static constexpr bool can_be_lost = true;
  ELASTIC_DECL static int rank_from(const environment_map& variables);

  // Sends a message. If the agent does not read, a message that may be lost (`loses`, such as a
  // heartbeat) is dropped; any other waits for a while.
  template <class Message>
  void say(const Message& message, bool loses = false);
  ELASTIC_DECL void receive();
  ELASTIC_DECL std::optional<control_messages::agent_message> next_message();
  // The next message that arrives before the deadline.
  ELASTIC_DECL std::optional<control_messages::agent_message> arrival_until(time_point deadline);
  // The next message that arrives; empty if the agent is gone.
  ELASTIC_DECL std::optional<control_messages::agent_message> await_message();

  /// Empty: the job has no roles.
  std::string roles_file_;
  int socket_ = -1;
  pid_t owner_ = ::getpid();
  std::atomic<bool> is_open_ = false;
  std::atomic<std::uint64_t> timers_ = 0;
  std::mutex sending_;
  detail::line_intake lines_;
  /// Messages that arrived while another one was awaited.
  std::deque<control_messages::agent_message> kept_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/worker/impl/worker_channel.ipp>
#endif
