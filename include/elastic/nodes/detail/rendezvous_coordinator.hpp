// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/exclusion_list.hpp>
#include <elastic/nodes/detail/member_queue.hpp>
#include <elastic/nodes/detail/newest_round.hpp>
#include <elastic/nodes/detail/node_contact.hpp>
#include <elastic/nodes/detail/own_fence.hpp>
#include <elastic/nodes/detail/previous_membership.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/nodes/detail/report_collector.hpp>
#include <elastic/nodes/detail/roster_book.hpp>
#include <elastic/nodes/detail/round_machine.hpp>
#include <elastic/nodes/detail/round_register.hpp>
#include <elastic/nodes/detail/round_state.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The server's side of one job's rendezvous, without sockets and clocks. Its inputs are messages
/// of nodes and the time; its outputs are answers.
///
/// A round of N nodes costs O(N) messages. If a node's message arrives twice, because its
/// connection broke in between, it takes effect once.
///
/// Nodes that were connected to a former server of the job report their last round. The numbers of
/// rounds and restarts then continue, and the first round waits until no worker of the former world
/// can be left (`detail::previous_membership`).
///
/// Its memory for nodes is bounded: it keeps connections to `2 * max_nodes` nodes and
/// `limits::rendezvous_spare_nodes` more, and remembers `max_nodes` nodes and
/// `limits::rendezvous_gone_nodes` more that have no connection.
///
/// Thread-safety: one strand at a time.
class rendezvous_coordinator {
 public:
  /// A connection, by its owner's number. Never reused.
  using connection = node_contact::connection;

  /// The two ends of a connection, as the server sees them; numeric.
  struct addresses {
    std::string here;
    std::string there;
    /// The node is on the server's own host, and reaches it without a network.
    bool is_loopback = true;
  };

  struct sending {
    connection to;
    rendezvous_answer what;
  };

  /// @param term  greater than that of any former server of the job, as far as is known here
  ELASTIC_DECL explicit rendezvous_coordinator(std::string run_id, logger log = {},
                                               std::int64_t term = 1);

  const std::string& run_id() const { return run_id_; }

  // ---- requests of the server's own agent ------------------------------------------------------

  /// Makes the job that of the server's own agent: its settings apply, regardless of the first
  /// hello. Call it before anything else.
  ELASTIC_DECL void begin_with(const rendezvous_settings& settings);

  /// Limits how long any node of the job may be silent, or without a connection, to what `most`
  /// allows. Call it before anything else.
  void bound_patience(const rendezvous_settings& most) { most_patience_ = most; }

  // ---- takeover of a former server's job --------------------------------------------------------

  /// Takes over the job from another server. Its newest round ends: each of its nodes counts as
  /// silent from now on, until it joins. Call it before anything else.
  /// @param own_node  the number of the node that ends with this server; 0: none
  /// @param settings  the job's settings
  /// @param begin     no round begins before this time
  ELASTIC_DECL void inherit(const round_register& kept, std::uint64_t own_node,
                            const rendezvous_settings& settings, time_point now, time_point begin);

  /// Makes the server's own node stop its workers once no other node of the round has a connection,
  /// since the others may then continue without it: ends that node's connections half of the grace
  /// after the last of theirs. Call it after `inherit`.
  void fence_own_node() { own_fence_.enable(); }

  /// Suspends all decisions, because they could not be stored: no node gets a place, and no round
  /// ends for lack of a node. When the suspension ends, the join timeouts of the nodes start again.
  ELASTIC_DECL void suspend(bool is_suspended, time_point now);

  /// The facts that another server needs to take over the job, including those that no node has
  /// received yet.
  ELASTIC_DECL round_register content() const;

  /// Changes whenever `content` may have changed.
  std::uint64_t content_version() const { return content_version_; }

  // ---- events ---------------------------------------------------------------------------------

  void connected(connection link, addresses ends) { ends_[link] = std::move(ends); }

  /// A node sends a message. The first one must be its `hello`, or the `witness` of a node that was
  /// welcomed. A connection that sends anything else first is dropped, and so is one that sends
  /// anything after it was refused or its node has left or was given up.
  ELASTIC_DECL void received(connection link, const rendezvous_request& request, time_point now);

  /// The connection is gone. Its node may return over another one within the grace. If its witness
  /// is still connected, or ended long before, perhaps only the network failed: the node may then
  /// return for as long as it may be silent.
  ELASTIC_DECL void disconnected(connection link, time_point now);

  /// The time is now `now`.
  ELASTIC_DECL void advance(time_point now);

  // ---- results --------------------------------------------------------------------------------

  /// When `advance` is due; `time_point::max()`: never.
  time_point next_deadline() const { return next_; }

  /// The answers since the last call, in their order.
  std::vector<sending> take_answers() { return std::exchange(answers_, {}); }

  // ---- viewers of the job -----------------------------------------------------------------------

  /// From now on, asks each node that can report about itself for these reports. Asks at most as
  /// many nodes as viewers see (`limits::viewed_nodes`).
  /// @param output  see report_exchange::output_demand
  ELASTIC_DECL void demand_reports(report_demand demand, std::string output = {});

  /// The reports since the last call; none if none were asked for.
  std::vector<report_collector::report> take_reports() { return reports_.take(); }

  ELASTIC_DECL job_roster roster() const;

  /// The connections of the nodes that take part.
  ELASTIC_DECL std::vector<connection> links() const;

  /// Whether a round has some nodes, but too few, and the job is not paused.
  bool is_short() const {
    return !state_.complete && !state_.participants.empty() && !ending_ && !is_paused();
  }

  /// Notifies the waiting nodes of a likely reason why others do not join.
  ELASTIC_DECL void notify_waiting(const std::string& why);

  /// Changes whenever the roster may have changed.
  std::uint64_t roster_version() const { return roster_.version(); }

  /// The connections to close since the last call.
  std::vector<connection> take_dropped() { return std::exchange(dropped_, {}); }

  const round_state& state() const { return state_; }

  /// Why a node with this fingerprint cannot take part in the job, or in another role of it. Empty:
  /// it can, or no node takes part at present.
  ELASTIC_DECL std::optional<std::string> objection_to_file(std::string_view fingerprint) const;

  /// Whether the node takes part: it has said hello, and has neither left nor been lost.
  bool knows(const node_id& node) const { return members_.count(node) != 0; }

  int restarts() const { return restarts_; }
  std::int64_t term() const { return term_; }

  /// How many nodes take part or are remembered.
  std::size_t size() const { return members_.size(); }

  /// The memory that the node of this connection uses here, in bytes; 0 if it has no node.
  ELASTIC_DECL std::size_t bytes_of(connection link) const;

  /// The number of nodes that it has visited in its loops so far, which measures its work.
  std::uint64_t visited_nodes() const { return visited_nodes_; }

  /// Whether the job has ended, or the workers of all nodes have succeeded.
  bool is_over() const { return ending_.has_value() || all_finished_; }

  /// Whether no node takes part, so that only the end of the job is worth keeping. The connections
  /// that still exist cannot take part any more, but they may send messages and end.
  bool is_idle() const { return members_.empty(); }

 private:
  struct member {
    node_contact contact;
    addresses ends;
    /// The end of its wait for a place; empty: it does not wait.
    std::optional<time_point> join_deadline;
    duration join_timeout{};
    rendezvous_round::master_endpoint offer;
    std::string own_addresses;
    bool has_finished = false;
    /// It belongs to the agent that runs the server.
    bool hosts = false;
    std::optional<rendezvous_messages::former_round> former;
    /// Its key in the roster.
    std::int64_t key = 0;
    /// It has asked for a place in a round.
    bool has_asked = false;
    /// Its tickets in `idle_` and `gone_`.
    std::optional<member_queue::ticket> idle;
    std::optional<member_queue::ticket> gone;
    bool has_reports = false;
    /// It was asked for reports.
    bool is_reporting = false;
    /// The reason of its request to pause the job; empty: it has made none.
    std::optional<std::string> pause;
    /// See rendezvous_messages::hello.
    std::string name;
    bool is_excluded = false;
    /// It has been notified that it stands by.
    bool knows_standby = false;
    /// It was in the newest complete round.
    bool was_in_newest = false;
  };

  using known_node = std::pair<const node_id, member>;

  // ---- connections ----------------------------------------------------------------------------

  ELASTIC_DECL void welcome(connection link, const rendezvous_messages::hello& request,
                            time_point now);
  // Assigns a connection to its node, which may be new.
  ELASTIC_DECL member& connect(connection link, const rendezvous_messages::hello& request,
                               time_point now);
  ELASTIC_DECL void greet(const node_id& node, member& entry, bool is_new);

  ELASTIC_DECL void refuse(connection link, std::string why);

  // Makes room for one more node with a connection. Result: whether there is room.
  ELASTIC_DECL bool make_room_for(const node_id& node, time_point now);
  ELASTIC_DECL std::size_t most_connected() const;
  ELASTIC_DECL std::string no_room() const;

  // A node has a connection from now on.
  ELASTIC_DECL void mark_present(const node_id& node, member& entry);
  // A node has no connection any more.
  ELASTIC_DECL void mark_absent(const node_id& node, member& entry, time_point now);

  ELASTIC_DECL void welcome_witness(connection link, const node_id& node);

  // Ignores the connection from now on.
  ELASTIC_DECL void drop(connection link);
  ELASTIC_DECL std::optional<std::string> objection(
      const rendezvous_messages::hello& request) const;

  // Takes over what the node knows from a former server.
  ELASTIC_DECL void take_over(const rendezvous_messages::hello& request, const member& node,
                              time_point now);
  ELASTIC_DECL void apply_account(const member& node, std::int64_t after);

  // Makes the numbers of rounds continue from there.
  ELASTIC_DECL void begin_at(std::int64_t round);

  // Repeats the news that a returning node may have missed.
  ELASTIC_DECL void repeat_news(const node_id& node, time_point now);

  // ---- messages of nodes ----------------------------------------------------------------------

  // `received` handles these two itself.
  void take(const node_id&, const rendezvous_messages::hello&, time_point) {}
  void take(const node_id&, const rendezvous_messages::witness&, time_point) {}

  ELASTIC_DECL void take(const node_id& node, const rendezvous_messages::join& request,
                         time_point now);
  ELASTIC_DECL void take(const node_id& node, const rendezvous_messages::report& request,
                         time_point);
  ELASTIC_DECL void take(const node_id& node, const rendezvous_messages::keep_alive&, time_point);
  ELASTIC_DECL void take(const node_id& node, const rendezvous_messages::failed& request,
                         time_point);
  ELASTIC_DECL void take(const node_id& node, const rendezvous_messages::finished& request,
                         time_point);
  ELASTIC_DECL void take(const node_id& node, const rendezvous_messages::pause& request,
                         time_point);
  ELASTIC_DECL void take(const node_id& node, const rendezvous_messages::resume&, time_point now);
  ELASTIC_DECL void take(const node_id& node, const rendezvous_messages::leave&, time_point now);
  ELASTIC_DECL void take(const node_id&, const rendezvous_messages::close_job& request, time_point);

  // ---- the round of a former server -----------------------------------------------------------

  // The placeholder for a node of the former server that has sent nothing yet. No `hello` can carry
  // this id.
  ELASTIC_DECL static node_id former_node(std::uint64_t number);
  ELASTIC_DECL static std::string name_of(const node_id& node);
  ELASTIC_DECL void expect(std::uint64_t number, time_point until);
  ELASTIC_DECL void recognize(const node_id& node);

  // ---- steps of the round machine -------------------------------------------------------------

  // Takes all steps that a node can take now.
  ELASTIC_DECL void step(const node_id& node, member& entry, time_point now);
  ELASTIC_DECL void carry_out(round_action action, std::string_view reason, const node_id& node,
                              time_point now);
  ELASTIC_DECL void begin_round();

  // Whether the first round has to wait for the end of a former world.
  ELASTIC_DECL bool is_held_by_former(time_point now) const;

  // Whether no round may begin now.
  bool is_held(time_point now) const {
    return is_held_by_former(now) || is_paused() || (is_suspended_ && !state_.closed);
  }

  // ---- pauses ---------------------------------------------------------------------------------

  // Whether a node holds back the next round.
  bool is_paused() const { return pauses_ > 0 && !ending_; }
  ELASTIC_DECL void end_pause(const node_id& node, time_point now);
  ELASTIC_DECL void begin_waits_again(time_point now);

  // The waiting nodes know of each other, so there is no last call.
  ELASTIC_DECL void release(time_point now);

  // Takes the steps that one node's step makes possible for others.
  ELASTIC_DECL void settle(time_point now);
  ELASTIC_DECL void end_joining(const node_id& node, member& entry);

  // ---- excluded nodes ---------------------------------------------------------------------------

  ELASTIC_DECL void exclude(const exclusion& who, time_point now);
  // Makes a node that joins wait without a place if it is excluded. Result: whether it waits.
  ELASTIC_DECL bool hold_if_excluded(const node_id& node, member& entry, time_point now);
  // Result: whether the node was excluded before.
  ELASTIC_DECL bool set_excluded(member& entry, bool is_excluded);
  // Notifies a waiting node that begins to stand by: its wait then has no limit.
  ELASTIC_DECL void mark_standby(const node_id& node, member& entry);
  ELASTIC_DECL std::vector<std::string> excluded_names() const;
  // If the job has had too few other nodes for the length of a last call, readmits the node that
  // was excluded first. Result: whether it did.
  ELASTIC_DECL bool readmit_if_short(time_point now);
  // The nodes that wait for a place: first those that have one in a complete round, then those that
  // were in the job before.
  ELASTIC_DECL std::vector<known_node*> waiting_nodes();

  // ---- losses ---------------------------------------------------------------------------------

  // When the server's own node, alone in its round, must have no workers left.
  ELASTIC_DECL time_point own_fence_due() const;
  ELASTIC_DECL void fence_if_alone(time_point now);
  ELASTIC_DECL void wake_for_fence(time_point now);

  ELASTIC_DECL std::vector<node_id> overdue_nodes(time_point now) const;
  ELASTIC_DECL void give_up(const node_id& node, time_point now);
  ELASTIC_DECL void remove(const node_id& node, std::string_view how, time_point now);
  ELASTIC_DECL std::optional<node_id> missing_participant() const;

  // ---- news -----------------------------------------------------------------------------------

  // The first change of a round counts: later ones are its consequences.
  ELASTIC_DECL void announce(rendezvous_change::cause kind, std::string reason);
  /// @param failed_rank  see `rendezvous_messages::changed`
  ELASTIC_DECL void announce(rendezvous_change change, int failed_rank = -1);
  ELASTIC_DECL void check_all_finished();
  ELASTIC_DECL void answer_placed(const node_id& node, const member& entry, time_point now);
  ELASTIC_DECL void ask_for_reports(member& entry);

  // Sends the addresses of all nodes to the one that serves the workers' store.
  ELASTIC_DECL void answer_peers(const node_id& node);
  ELASTIC_DECL void answer(const node_id& node, rendezvous_answer reply);
  ELASTIC_DECL void answer(const member& entry, rendezvous_answer reply);

  // What a node lacked for a place that has just given up, and is counted too.
  ELASTIC_DECL std::string lack_in_time() const;
  // "node a_1_0, node b_1_0, node c_1_0 and 2 more"
  ELASTIC_DECL std::string some_participants() const;

  ELASTIC_DECL void record_round();
  ELASTIC_DECL newest_round describe_round() const;
  ELASTIC_DECL void mark_members();
  ELASTIC_DECL int host_rank() const;

  // The node of rank 0 serves the workers. If it is on this host, it reached the server without a
  // network and does not know by which address the others reach it. The server knows that from
  // their connections.
  ELASTIC_DECL rendezvous_round::master_endpoint choose_master() const;

  // ---- roster ---------------------------------------------------------------------------------

  ELASTIC_DECL void list(const node_id& node, member& entry);
  ELASTIC_DECL void mark_lost(const node_id& node, const member& entry);
  ELASTIC_DECL node_presence presence_of(const node_id& node) const;

  // ---- time -----------------------------------------------------------------------------------

  void wake_at(time_point when) { next_ = std::min(next_, when); }

  ELASTIC_DECL void plan_next(time_point now);
  // Whether the wait of a node that joins has no limit.
  ELASTIC_DECL bool waits_without_end(const node_id& node, const member& entry,
                                      time_point now) const;

  // Every loop over nodes goes through this. @see visited_nodes
  template <class Nodes>
  Nodes& counted(Nodes& nodes) const {
    visited_nodes_ += nodes.size();
    return nodes;
  }
  ELASTIC_DECL static std::string_view verb_of(round_action action);

  std::string run_id_;
  logger log_;
  std::int64_t term_;
  rendezvous_settings settings_;
  round_state state_;
  std::map<node_id, member> members_;
  std::unordered_map<connection, node_id> nodes_;
  std::unordered_map<connection, node_id> witnesses_;
  /// The connections that may send messages.
  std::unordered_map<connection, addresses> ends_;
  /// The nodes that wait for a place, and how many of them are excluded.
  std::set<node_id> joining_;
  std::size_t excluded_joining_ = 0;
  /// How many members want a pause.
  int pauses_ = 0;
  exclusion_list excluded_;
  /// Since when the job has had too few nodes without the excluded ones.
  std::optional<time_point> short_since_;
  /// The names of the nodes that have been in a round.
  std::set<std::string, std::less<>> known_names_;
  bool settle_all_ = false;
  previous_membership former_;
  /// The least number of the next round.
  std::int64_t next_round_ = 0;
  bool has_released_ = false;
  bool has_made_round_ = false;
  /// Why the round ends.
  std::optional<rendezvous_messages::changed> change_;
  bool some_finished_ = false;
  bool all_finished_ = false;
  /// How many nodes of the round have finished.
  std::size_t finished_ = 0;
  mutable std::uint64_t visited_nodes_ = 0;
  std::uint64_t content_version_ = 0;
  std::optional<job_ending> ending_;
  int restarts_ = 0;
  /// The settings come from the server, not from the first node.
  bool has_settings_ = false;
  /// Of the first of the nodes that has one.
  std::string fingerprint_;
  /// The job has several servers, and a majority elected this one.
  bool is_elected_ = false;
  /// The limits on how long nodes may be silent.
  std::optional<rendezvous_settings> most_patience_;
  /// Nodes with a connection that have never asked for a place.
  member_queue idle_;
  /// Nodes without a connection.
  member_queue gone_;
  /// The round was made by a former server.
  bool is_inherited_ = false;
  newest_round newest_;
  std::uint64_t own_node_ = 0;
  own_fence own_fence_;
  bool is_suspended_ = false;
  time_point next_ = time_point::max();
  report_collector reports_;
  roster_book roster_;
  std::vector<sending> answers_;
  std::vector<connection> dropped_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/rendezvous_coordinator.ipp>
#endif
