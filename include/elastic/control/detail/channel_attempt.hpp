// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/asio_local.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/control/detail/control_message.hpp>
#include <elastic/control/detail/line_intake.hpp>
#include <elastic/control/detail/worker_liveness.hpp>
#include <elastic/control/worker_channels.hpp>
#include <elastic/net/detail/stream_listener.hpp>

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// A connection of a worker, or of a client that has not sent hello yet.
struct channel_connection {
  ELASTIC_DECL explicit channel_connection(asio::generic::stream_protocol::socket accepted);
  asio::generic::stream_protocol::socket peer;
  std::optional<int> worker;
  bool checkpoints = false;
  /// The worker sent `survive`.
  bool survives = false;
  /// The revision in an unanswered `await_roles`; empty: there is none.
  std::optional<std::int64_t> seen_roles;
  bool is_closed = false;
  /// The worker has closed its end.
  bool has_ended = false;
  line_intake lines;
};

/// The state of one worker.
struct watched_worker {
  ELASTIC_DECL watched_worker(const liveness_settings& settings, learned_timeouts& learned);
  worker_liveness liveness;
  bool running = false;
  bool said_bye = false;
};

/// A checkpoint that was asked for.
struct checkpoint_question {
  explicit checkpoint_question(asio::any_io_executor strand) : answered(std::move(strand)) {}
  std::int64_t id = 0;
  time_point deadline{};
  /// The local ranks that were asked, that have yet to answer, and that have saved.
  std::set<int> asked;
  std::set<int> waiting;
  std::set<int> saved;
  worker_channels::checkpoint_outcome outcome;
  event_flag answered;
  ELASTIC_DECL void settle(int local_rank, const std::string& problem);
};

/// The control channel and the watch during one attempt; used only by `worker_channels`. Shared
/// with its coroutines, which may briefly outlive it.
struct channel_attempt : std::enable_shared_from_this<channel_attempt> {
  using socket = asio::generic::stream_protocol::socket;
  using connection = channel_connection;
  using connection_pointer = std::shared_ptr<connection>;
  using place = watched_worker;
  using question = checkpoint_question;
  using self_pointer = std::shared_ptr<channel_attempt>;
  ELASTIC_DECL channel_attempt(asio::any_io_executor executor,
                               const worker_channels::options& chosen,
                               std::shared_ptr<learned_timeouts> shared, int workers);

  asio::any_io_executor strand;
  worker_channels::options options;
  std::shared_ptr<learned_timeouts> learned;
  std::vector<place> places;
  std::optional<stream_listener> listener;
  std::string address;
  asio::posix::stream_descriptor timer_file;
  std::string timer_path;
  bool made_timer_file = false;
  std::list<connection_pointer> connections;
  std::list<std::shared_ptr<question>> questions;
  std::int64_t last_question = 0;
  int complaints = 0;
  event_flag closing;
  task_group tasks;
  // Wakes the watch, which runs only while something is due.
  event_flag changed;
  bool is_watching = false;
  time_point watched_until = time_point::max();

  time_source& time() const { return *options.time; }
  bool is_closing() const { return closing.is_set(); }

  // ---- opening and closing --------------------------------------------------------------------

  ELASTIC_DECL void listen();
  ELASTIC_DECL void open_timer_file();
  ELASTIC_DECL void shut();

  // Runs `work` concurrently. An exception is logged after `problem` and ends nothing else.
  ELASTIC_DECL void run(std::string problem, task<void> work);
  ELASTIC_DECL static task<void> run_and_log(self_pointer attempt, std::string problem,
                                             task<void> work);
  ELASTIC_DECL task<void> rest_until(time_point when);

  // ---- connections ----------------------------------------------------------------------------

  template <class... Args>
  void complain(fmt::format_string<Args...> text, Args&&... args) {
    if (complaints >= limits::control_complaints) return;
    ++complaints;
    options.log.warning("{}{}", fmt::format(text, std::forward<Args>(args)...),
                        complaints == limits::control_complaints
                            ? "; more of this is not logged in this attempt"
                            : "");
  }

  // Admits this user, root, and workers that have switched to another user.
  ELASTIC_DECL bool may_enter(const ucred& peer) const;
  ELASTIC_DECL void admit(accepted_connection accepted);
  ELASTIC_DECL static void disconnect(connection& client);
  ELASTIC_DECL void forget(const connection_pointer& client);
  ELASTIC_DECL bool can_save(int local_rank) const;
  ELASTIC_DECL bool survives(int local_rank) const;
  // Sends a message to the connections that sent `survive`. Result: whether one accepted it.
  ELASTIC_DECL bool send_survivor(int local_rank, const control_messages::agent_message& message);
  ELASTIC_DECL static std::string name_of(const connection& client);

  // Result: whether the socket accepted the line; a client that does not read is disconnected.
  ELASTIC_DECL bool send(connection& client, const std::string& line);
  ELASTIC_DECL void send_all(const control_messages::agent_message& message);
  // Answers `await_roles` of the workers that know an earlier revision.
  ELASTIC_DECL void tell_of_roles(std::int64_t revision);
  ELASTIC_DECL void refuse(connection& client, const std::string& why);

  // Result: how many lines it contained.
  ELASTIC_DECL int take(connection& client, std::string_view bytes);
  ELASTIC_DECL void take_line(connection& client, std::string_view line);

  // ---- messages of workers --------------------------------------------------------------------

  ELASTIC_DECL worker_liveness& liveness_of(const connection& client);
  ELASTIC_DECL void handle(connection& client, const worker_messages::hello& message);
  ELASTIC_DECL void handle(connection& client, const worker_messages::heartbeat& message);
  ELASTIC_DECL void handle(connection& client, const worker_messages::enter& message);
  ELASTIC_DECL void handle(connection& client, const worker_messages::leave& message);
  ELASTIC_DECL void handle(connection& client, const worker_messages::expires& message);
  ELASTIC_DECL void handle(connection& client, const worker_messages::release& message);
  ELASTIC_DECL void handle(connection& client, const worker_messages::progress&);
  ELASTIC_DECL void handle(connection& client, const worker_messages::saved& message);
  ELASTIC_DECL void handle(connection& client, const worker_messages::not_saved& message);
  ELASTIC_DECL void handle(connection& client, const worker_messages::bye&);
  ELASTIC_DECL void handle(connection& client, const worker_messages::survive&);
  ELASTIC_DECL void handle(connection& client, const worker_messages::await_roles& message);
  ELASTIC_DECL void handle(connection& client, const worker_messages::ask&);
  ELASTIC_DECL void handle(connection& client, const worker_messages::ready&);
  ELASTIC_DECL void handle(connection& client, const worker_messages::finished&);
  ELASTIC_DECL void handle(connection& client, const worker_messages::withdraw&);
  // Messages that are only for the caller.
  void handle(connection&, const worker_messages::no_restart&) {}
  void handle(connection&, const worker_messages::bad_node&) {}
  void handle(connection&, const worker_messages::prepared&) {}
  // Refuses a message about an epoch of a worker that did not send `survive`.
  ELASTIC_DECL static void check_survives(const connection& client);
  ELASTIC_DECL void answer(std::int64_t id, int local_rank, const std::string& problem);

  // ---- PyTorch's timers -----------------------------------------------------------------------

  ELASTIC_DECL void take_timer(std::string_view line);

  // ---- watch ----------------------------------------------------------------------------------

  // Errors: `errc::invalid_argument` if there is no such worker.
  ELASTIC_DECL place& place_of(int local_rank);
  ELASTIC_DECL void started(int local_rank);
  ELASTIC_DECL void ended(int local_rank);
  ELASTIC_DECL void pause();
  ELASTIC_DECL void resume();

  // Notes that something of this worker may be due earlier than known. If it is due later, the
  // watch finds that out when it wakes, so a heartbeat restarts no timer.
  ELASTIC_DECL void look_again(int local_rank);
  ELASTIC_DECL time_point next_expiry() const;

  // Reads what a worker has already sent, before anything is concluded from its silence or its end:
  // its death is often seen before its last messages.
  ELASTIC_DECL void drain_input(int local_rank);

  // Reads what has arrived, at most `most_pieces`. Nothing else reads from a connection, so no byte
  // can be in a pending Asio operation meanwhile. Result: how many lines arrived.
  ELASTIC_DECL int read_now(connection& client, int most_pieces);
  ELASTIC_DECL void judge(time_point now);

  // ---- background tasks -------------------------------------------------------------------------

  ELASTIC_DECL task<void> accept_workers();
  ELASTIC_DECL static task<void> serve(self_pointer self, connection_pointer client);
  ELASTIC_DECL static task<void> read_lines(self_pointer self, connection_pointer client);
  ELASTIC_DECL static task<void> read_timers(self_pointer self);

  // Restarts after an error, so that no worker hangs unnoticed.
  ELASTIC_DECL static task<void> watch(self_pointer attempt);
  ELASTIC_DECL static task<void> watch_while_due(self_pointer self);
  // Asks the worker of a connection, if it accepts requests and has not saved.
  ELASTIC_DECL void ask(question& pending, connection& client, duration within);
  ELASTIC_DECL static task<worker_channels::checkpoint_outcome> ask_checkpoint(self_pointer self,
                                                                               duration timeout);
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/control/detail/channel_attempt.ipp>
#endif
