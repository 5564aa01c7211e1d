// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/address_filter.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/nodes/detail/exclusion_list.hpp>
#include <elastic/nodes/detail/fencing.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/telemetry/detail/report_exchange.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic::detail {

/// A node's connection to the server of its rendezvous. It keeps the connection, reconnects after a
/// failure, and stores the latest messages of the server.
///
/// To wait for something, check `known()`, and await `news()` until it is there.
///
/// Thread-safety: one strand at a time.
class rendezvous_link final : public std::enable_shared_from_this<rendezvous_link> {
 public:
  /// The messages of the server that are still valid.
  struct knowledge {
    std::optional<rendezvous_messages::placed> placed;
    /// The addresses of the nodes of `peers_round`.
    address_filter peers;
    std::int64_t peers_round = -1;
    std::optional<rendezvous_change> change;
    std::optional<rendezvous_messages::closed> closed;
    std::optional<rendezvous_messages::refused> refused;
    bool all_finished = false;
    /// Set once the link has ended for good; nothing more will arrive.
    std::exception_ptr broken;
  };

  /// @param host_grace  the time for which a server that was reached before may be gone, if another
  ///                    one can take over its job
  /// @param reports  the reports that this node can send to the server; null: none
  ELASTIC_DECL rendezvous_link(std::shared_ptr<message_connector> connector,
                               rendezvous_messages::hello greeting, duration host_grace,
                               std::shared_ptr<time_source> time, logger log,
                               std::shared_ptr<report_exchange> reports = nullptr);
  ELASTIC_DECL ~rendezvous_link();

  rendezvous_link(const rendezvous_link&) = delete;
  rendezvous_link& operator=(const rendezvous_link&) = delete;

  /// Probes the address in another way if the server does not answer or closes the connection.
  /// Returns if the server may still be the rendezvous.
  /// Errors: any `error`, with which this link then ends.
  using examination = std::function<task<void>()>;

  /// Sets the examination of an unknown server whose first answer does not identify it. Call it
  /// before `start`.
  void examine_by(examination look) { examine_ = std::move(look); }

  /// Sets how long an unknown server has to keep closing connections before this link gives up. By
  /// default, a fixed number of times is enough. Call it before `start`.
  void set_hang_up_patience(duration patience) { hang_up_patience_ = patience; }

  /// Starts to connect, for at most `patience`.
  ELASTIC_DECL void start(asio::any_io_executor executor, duration patience);

  /// Sends the remaining messages, for at most `limits::rendezvous_leave_timeout`, and ends.
  ELASTIC_DECL task<void> stop();

  const knowledge& known() const { return known_; }

  bool is_connected() const { return is_welcome_; }

  /// The reason why it is not connected, for users; empty if it is connected.
  ELASTIC_DECL std::string obstacle() const;

  /// Whether it has ever been connected.
  bool was_connected() const { return was_connected_; }

  /// The server's settings, once it has welcomed this node.
  const rendezvous_settings& settings() const { return settings_; }

  /// This node's address on the connection to the server; empty without a connection.
  ELASTIC_DECL std::string local_address() const;

  /// Waits for the next message of the server, or for a failed attempt to reach it.
  ELASTIC_DECL task<void> news();

  /// The server belongs to this node from now on. Call it before the first connection.
  void set_own_server() { greeting_.hosts = true; }

  /// Sends a request now and after every reconnect, until another one supersedes it. Its effect
  /// must be the same whether it arrives once or twice.
  ELASTIC_DECL void send_until_superseded(rendezvous_request request);

  /// Sends a request. Without a connection it is lost.
  ELASTIC_DECL void send(const rendezvous_request& request);

  /// Notes that this node is between two rounds, and forgets everything about the round that it
  /// leaves.
  ELASTIC_DECL void begin_join(rendezvous_messages::join joining);

  /// Holds back the job's next round, now and after every reconnect; without a reason, stops doing
  /// so.
  ELASTIC_DECL void hold(std::optional<rendezvous_messages::pause> why);

  /// Waits for the time at which this node's workers must be gone, because the others can continue
  /// without it.
  ELASTIC_DECL task<void> wait_for_fence();

  /// Makes `both_ended_at` available: if its first connection breaks, the link then waits for up to
  /// an eighth of the grace, and at most 50 ms, to see whether the second one ends too. Call it
  /// before `start`.
  void tell_ends() { tells_ends_ = true; }

  /// The time at which the other side ended both connections of this node in quick succession, as a
  /// dead process does. Empty if it ended only one, or if there is a connection again.
  std::optional<time_point> both_ended_at() const { return both_ended_at_; }

  /// The remaining time for which a lost leader's own node may have workers, if that leader has
  /// lost this node as well. Empty if this node may have workers itself, if there is a connection,
  /// or if there never was one. A link that has `both_ended_at` need not wait for the leader to
  /// notice the silence.
  ELASTIC_DECL std::optional<duration> until_leader_is_fenced() const;

  /// Makes this node take part in no round up to this one, whatever it requests. Call it without a
  /// connection.
  ELASTIC_DECL void skip_rounds_through(std::int64_t last);

  /// This node has no worker until it is placed again.
  void set_no_workers() { has_no_workers_ = true; }

  /// The reason why the last attempt to connect failed.
  const std::string& last_problem() const { return last_problem_; }

 private:
  using channel_pointer = std::shared_ptr<message_channel>;

  static constexpr std::chrono::milliseconds first_pause{20};
  static constexpr std::chrono::milliseconds longest_pause{1000};
  /// The longest pause while workers wait for the server to return.
  static constexpr std::chrono::milliseconds longest_search_pause{200};
  /// After this time without a connection, the log names the server that the link waits for; after
  /// the second, shorter time, if the server accepts but stays silent.
  static constexpr std::chrono::seconds silent_wait{2};
  static constexpr std::chrono::seconds silent_answer{1};
  /// After this time without an answer, the link sends a second message: PyTorch's servers ignore
  /// the first unknown message, and close the connection at the next.
  static constexpr std::chrono::milliseconds second_message{100};
  /// The limit for one attempt, and for the first answer.
  static constexpr std::chrono::seconds attempt_timeout{5};
  static constexpr const char* not_answering = "it accepts connections but does not answer";
  /// A server that is about to stop closes the connection once; one that does not know the
  /// protocol, always.
  static constexpr int most_hang_ups = 5;
  /// The time that the system takes to report the ends of all connections of a process.
  static constexpr std::chrono::milliseconds end_skew{50};

  // ---- connection -----------------------------------------------------------------------------

  ELASTIC_DECL task<void> keep_connected(time_point deadline);

  // The connection has just ended. Determines when that counts as the loss of this node.
  ELASTIC_DECL void begin_absence(time_point now);

  /// Retries until it connects, or until the deadline.
  ELASTIC_DECL task<channel_pointer> connect_until(time_point deadline);
  ELASTIC_DECL time_point next_limit() const;
  ELASTIC_DECL std::string absence() const;
  bool is_server_known() const { return was_connected_ || connector_->knows_other_side(); }

  ELASTIC_DECL void warn_of_absence();

  /// Result: null if this attempt failed.
  ELASTIC_DECL task<channel_pointer> try_connect(time_point deadline);

  // How long the answer to the first message may take.
  ELASTIC_DECL duration answer_patience() const;

  // The reason why an attempt to connect timed out.
  ELASTIC_DECL std::string no_answer() const;

  // The first message of the other side; empty if it was silent until the limit.
  ELASTIC_DECL task<std::optional<std::string>> first_answer(channel_pointer channel,
                                                             time_point limit);
  ELASTIC_DECL void send_second_message(message_channel& channel);

  // Examines an unknown server that gave no first answer.
  // Errors: `errc::protocol_violation` if it always closes the connection; those of the
  // examination.
  ELASTIC_DECL task<void> look_at_stranger(bool has_hung_up);

  /// Whether the other side answers as a server of the rendezvous does.
  ELASTIC_DECL task<bool> is_welcomed(channel_pointer channel, time_point limit);
  ELASTIC_DECL std::string stranger() const;

  // Notes the end of the round that this node may be in, if the welcome implies it.
  ELASTIC_DECL void infer_end_of_round(bool is_known, bool is_other_server);
  ELASTIC_DECL void take_up(message_channel& channel, const rendezvous_messages::welcome& reply,
                            time_point greeted_at);

  ELASTIC_DECL void send_hold(message_channel& channel) const;

  // This node waits for a round from now on.
  ELASTIC_DECL void begin_wait(duration timeout);

  // Another server was found, which restarts the time that this node waits for a round. Limits it
  // to the remaining time, so that a series of leaders does not restart it each time. If the former
  // server had this node wait, however many nodes there were, the whole time remains.
  ELASTIC_DECL void limit_join();

  // ---- conversation ---------------------------------------------------------------------------

  ELASTIC_DECL task<void> listen();

  /// Gives up a server that may have received nothing from this node for so long that it will soon
  /// give up this node. Only answers prove that the server receives messages; its other messages
  /// prove nothing.
  ELASTIC_DECL task<void> keep_alive();

  /// Keeps a second connection beside the first if the server knows its purpose: one that breaks
  /// alone does not mean the end of this node.
  ELASTIC_DECL task<void> keep_witness();
  ELASTIC_DECL task<void> attend_witness();

  /// Sends the server the reports about this node that it demands, whenever there is news.
  ELASTIC_DECL task<void> report();
  ELASTIC_DECL bool send_reports();

  /// Closes the second connection after the first.
  /// Result: whether the other side has ended it as well, if the caller wants to know.
  ELASTIC_DECL task<bool> end_witness();

  void take(const rendezvous_messages::welcome&) {}
  ELASTIC_DECL void take(const rendezvous_messages::alive&);
  ELASTIC_DECL void take(const rendezvous_messages::resigned&);
  void take(const rendezvous_messages::refused& reply) { known_.refused = reply; }
  void take(const rendezvous_messages::closed& reply) { known_.closed = reply; }
  ELASTIC_DECL void take(const rendezvous_messages::report_wanted& reply);
  ELASTIC_DECL void take(const rendezvous_messages::peers& reply);
  ELASTIC_DECL void take(const rendezvous_messages::placed& reply);
  ELASTIC_DECL void take(const rendezvous_messages::on_hold& reply);
  ELASTIC_DECL void take(const rendezvous_messages::changed& reply);
  ELASTIC_DECL void take(const rendezvous_messages::all_finished& reply);
  ELASTIC_DECL void mark_lost(std::string why);

  /// The time at which the workers of this node must be gone.
  ELASTIC_DECL time_point fence() const;
  ELASTIC_DECL void notify();

  std::shared_ptr<message_connector> connector_;
  std::string server_;
  rendezvous_messages::hello greeting_;
  duration host_grace_;
  /// The settings of the server, once it has welcomed this node.
  rendezvous_settings settings_;
  std::shared_ptr<time_source> time_;
  logger log_;
  std::optional<event_flag> news_;
  std::optional<event_flag> ended_;
  asio::cancellation_signal cancel_;
  channel_pointer channel_;
  bool is_welcome_ = false;
  bool was_connected_ = false;
  /// The time at which the connection ended, and that at which the node counts as lost.
  std::optional<time_point> ended_at_;
  std::optional<time_point> lost_at_;
  channel_pointer witness_;
  std::optional<time_point> witness_ended_at_;
  std::optional<time_point> both_ended_at_;
  bool tells_ends_ = false;
  bool has_no_workers_ = false;
  /// The last round in which this node takes no part.
  std::int64_t skipped_through_ = -1;
  fencing end_;
  /// The last server resigned, and no other one has been greeted without an answer since.
  bool has_server_resigned_ = false;
  /// The others have continued without this node, which has not joined again yet.
  bool is_given_up_ = false;
  /// The time of the last message that the server is known to have received, and the times of those
  /// without an answer.
  time_point known_alive_at_;
  std::deque<time_point> unanswered_;
  std::optional<time_point> second_message_at_;
  std::optional<rendezvous_request> standing_request_;
  /// The time that this node waits for a round, the end of the wait, and whether a new leader may
  /// extend it once.
  duration join_timeout_{};
  time_point join_limit_;
  bool may_extend_join_ = false;
  /// The server had this node wait, for another reason than a lack of nodes.
  bool was_on_hold_ = false;
  /// The nodes that the server excludes, for its successor.
  exclusion_list excluded_;
  /// The reason why this node holds back the next round.
  std::optional<rendezvous_messages::pause> hold_;
  /// This node has held back a round before, so the server may not know that this is over.
  bool has_held_ = false;
  knowledge known_;
  std::string last_problem_;
  int hang_ups_ = 0;
  bool has_warned_ = false;
  examination examine_;
  duration hang_up_patience_{};
  std::optional<time_point> first_hang_up_at_;
  std::shared_ptr<report_exchange> reports_;
  std::optional<event_flag> has_report_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/rendezvous_link.ipp>
#endif
