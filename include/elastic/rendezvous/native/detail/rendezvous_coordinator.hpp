// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/detail/round_machine.hpp>
#include <elastic/rendezvous/detail/round_state.hpp>
#include <elastic/rendezvous/native/detail/exclusion_list.hpp>
#include <elastic/rendezvous/native/detail/former_world.hpp>
#include <elastic/rendezvous/native/detail/member_queue.hpp>
#include <elastic/rendezvous/native/detail/rendezvous_message.hpp>
#include <elastic/rendezvous/native/detail/round_register.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The server's side of one job's rendezvous, without sockets and clocks: messages of nodes and
/// the time go in, answers come out.
///
/// What it does costs O(N) messages for a round of N nodes. A node's message that arrives twice,
/// because its connection broke in between, has its effect once.
///
/// Nodes that were with a former server of the job tell of their last round. Then rounds and
/// restarts are counted on, and the first round waits until no worker of the former world can be
/// left (`detail::former_world`).
///
/// Its memory for nodes is bounded: it keeps connections to `2 * max_nodes` nodes and
/// `limits::rendezvous_spare_nodes` more, and remembers `max_nodes` nodes and
/// `limits::rendezvous_gone_nodes` more that have no connection.
///
/// Thread-safety: one strand at a time.
class rendezvous_coordinator {
 public:
  /// A connection, as its owner numbers it. Never used twice.
  using connection = std::uint64_t;

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

  /// @param term  greater than that of a former server of the job, as far as can be known here
  ELASTIC_DECL explicit rendezvous_coordinator(std::string run_id, logger log = {},
                                               std::int64_t term = 1);

  const std::string& run_id() const { return run_id_; }

  // ---- what the server's own agent says --------------------------------------------------------

  /// The job is that of the server's own agent: its settings apply, regardless of the first hello.
  /// Call it before anything else.
  ELASTIC_DECL void begin_with(const rendezvous_settings& settings);

  /// No node of the job may be silent, or without a connection, for longer than `most` allows. Call
  /// it before anything else.
  void bound_patience(const rendezvous_settings& most) { most_patience_ = most; }

  // ---- one server after another -----------------------------------------------------------------

  /// Takes the job up as another server left it. Its newest round ends: each of its nodes counts
  /// as silent from now on, until it joins. Call it first, on a coordinator of which nobody asks
  /// anything but by `hello`.
  /// @param own_node  the number of the node that ends with this server; 0: none does
  /// @param settings  the job's
  /// @param begin     no round begins before
  ELASTIC_DECL void inherit(const round_register& kept, std::uint64_t own_node,
                            const rendezvous_settings& settings, time_point now, time_point begin);

  /// Has the server's own node stop its workers when no other node of the round has a connection
  /// any more, since the others may then go on without it: ends that node's connections half of the
  /// grace after the last of theirs. Call it after `inherit`.
  void fence_own_node() { fences_own_node_ = true; }

  /// While it is suspended, nodes neither get a place nor end a round for want of one: what would
  /// be decided could not be kept. Time in which they wait does not count.
  ELASTIC_DECL void suspend(bool is_suspended, time_point now);

  /// What another server needs to know to take the job up, whatever was said to nodes so far.
  ELASTIC_DECL round_register content() const;

  /// Another number means that `content` may have changed.
  std::uint64_t content_version() const { return content_version_; }

  // ---- what happens ---------------------------------------------------------------------------

  void connected(connection from, addresses ends) { ends_[from] = std::move(ends); }

  /// A node says something. The first thing is its `hello`, or the `witness` of one that was
  /// welcomed; a connection that says anything else before, or anything at all after it was refused
  /// or its node has left or was given up, is dropped.
  ELASTIC_DECL void received(connection from, const rendezvous_request& request, time_point now);

  /// The connection is gone. Its node has the grace to come back by another one; but if its witness
  /// is still there, or has gone long before, only the way to it may be: then it has the time that
  /// it may be silent.
  ELASTIC_DECL void disconnected(connection from, time_point now);

  /// The time is now `now`.
  ELASTIC_DECL void advance(time_point now);

  // ---- what comes of it -----------------------------------------------------------------------

  /// When `advance` is due; `time_point::max()` if nothing is.
  time_point next_deadline() const { return next_; }

  /// The answers since the last call, in their order.
  std::vector<sending> take_answers() { return std::exchange(answers_, {}); }

  // ---- for those who look at the job ------------------------------------------------------------

  /// A node's report. @see job_roster::entry::key
  struct told_report {
    std::int64_t node;
    std::string text;
  };

  /// Asks each node that can tell of itself for this much from now on.
  /// No more nodes are asked than are shown (`limits::viewed_nodes`).
  ELASTIC_DECL void demand_reports(report_demand demand);

  /// What nodes have told since the last call; nothing if nothing was asked for.
  std::vector<told_report> take_reports() { return std::exchange(reports_, {}); }

  ELASTIC_DECL job_roster roster() const;

  /// The connections of the nodes that take part.
  ELASTIC_DECL std::vector<connection> links() const;

  /// Whether nodes wait in a round that has not enough of them, and the job does not pause.
  bool is_short() const {
    return !state_.complete && !state_.participants.empty() && !ending_ && !is_paused();
  }

  /// Tells them what may keep others away.
  ELASTIC_DECL void tell_waiting(const std::string& why);

  /// Another number means that the roster may have changed.
  std::uint64_t roster_version() const { return roster_version_; }

  /// The connections to close since the last call.
  std::vector<connection> take_dropped() { return std::exchange(dropped_, {}); }

  const round_state& state() const { return state_; }

  /// Whether the node takes part: it has said hello, and was neither lost nor has it left.
  bool knows(const node_id& node) const { return members_.count(node) != 0; }

  int restarts() const { return restarts_; }
  std::int64_t term() const { return term_; }

  /// How many nodes take part or are remembered.
  std::size_t size() const { return members_.size(); }

  /// How many bytes the node of this connection takes here; 0 if the connection has no node.
  ELASTIC_DECL std::size_t bytes_of(connection link) const;

  /// How many nodes it has visited since it was made: a measure of its work.
  std::uint64_t looked_at() const { return looked_at_; }

  /// Whether the job has ended, or the workers of all nodes have succeeded.
  bool is_over() const { return ending_.has_value() || all_finished_; }

  /// Whether nobody takes part, so that nothing but the end of the job is worth keeping. None of
  /// the connections so far can take part any more; they may still speak, and end.
  bool is_idle() const { return members_.empty(); }

 private:
  struct member {
    std::optional<connection> link;
    addresses ends;
    time_point heard;
    /// The second connection, of a node that has one, and when each of them ended.
    bool has_witness = false;
    std::optional<connection> witness;
    std::optional<time_point> link_ended_at;
    std::optional<time_point> witness_ended_at;
    /// Until when it waits for a place; none: it does not.
    std::optional<time_point> join_deadline;
    duration join_timeout{};
    rendezvous_round::master_endpoint offer;
    std::string own_addresses;
    bool has_finished = false;
    /// The server is its own.
    bool hosts = false;
    std::optional<rendezvous_messages::former_round> former;
    /// In the roster.
    std::int64_t key = 0;
    /// It has asked for a place in a round.
    bool has_asked = false;
    /// In `idle_` and `gone_`.
    std::optional<member_queue::ticket> idle;
    std::optional<member_queue::ticket> gone;
    bool has_reports = false;
    /// It was asked for them.
    bool is_reporting = false;
    /// Why no round is to begin.
    std::optional<std::string> pause;
    /// See rendezvous_messages::hello; of an earlier release its host.
    std::string name;
    bool knows_hold = false;
    bool is_kept_out = false;
    /// In the newest round that was complete.
    bool was_in_newest = false;
  };

  using known_node = std::pair<const node_id, member>;

  // ---- connections ----------------------------------------------------------------------------

  ELASTIC_DECL void welcome(connection from, const rendezvous_messages::hello& request,
                            time_point now);

  ELASTIC_DECL void refuse(connection from, std::string why);

  // Makes room for one more node with a connection. Result: whether there is room.
  ELASTIC_DECL bool make_room_for(const node_id& node, time_point now);
  ELASTIC_DECL std::size_t most_connected() const;
  ELASTIC_DECL std::string no_room() const;

  // A node has a connection from now on.
  ELASTIC_DECL void note_arrival(const node_id& node, member& entry);
  // A node has no connection any more.
  ELASTIC_DECL void note_absence(const node_id& node, member& entry, time_point now);

  ELASTIC_DECL void welcome_witness(connection from, const node_id& node);

  // It has no say here any more.
  ELASTIC_DECL void drop(connection link);
  ELASTIC_DECL std::optional<std::string> objection(
      const rendezvous_messages::hello& request) const;

  // What the node knows from a former server.
  ELASTIC_DECL void take_over(const rendezvous_messages::hello& request, const member& node,
                              time_point now);
  ELASTIC_DECL void note_account(const member& node, std::int64_t after, time_point now);

  // Rounds are counted on from there.
  ELASTIC_DECL void begin_at(std::int64_t round);

  // What a node that has come back may have missed.
  ELASTIC_DECL void repeat_news(const node_id& node, time_point now);

  // ---- what nodes say -------------------------------------------------------------------------

  // Taken before it comes to this.
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

  // ---- a former server's round ----------------------------------------------------------------

  // A node of the former server that has said nothing yet. No node can say hello by this name.
  ELASTIC_DECL static node_id former_node(std::uint64_t number);
  ELASTIC_DECL static std::string name_of(const node_id& node);
  ELASTIC_DECL void expect(std::uint64_t number, time_point until);
  ELASTIC_DECL void recognize(const node_id& node);

  // ---- the machine ----------------------------------------------------------------------------

  // All steps that a node can take now.
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

  // Whether a node wants no round to begin.
  bool is_paused() const { return pauses_ > 0 && !ending_; }
  ELASTIC_DECL void end_pause(const node_id& node, time_point now);
  ELASTIC_DECL void begin_waits_again(time_point now);

  // Those who wait for it know of each other, so that there is no last call.
  ELASTIC_DECL void release(time_point now);

  // What one node's step makes possible for others.
  ELASTIC_DECL void settle(time_point now);
  ELASTIC_DECL void end_joining(const node_id& node, member& entry);

  // ---- nodes that are kept out ------------------------------------------------------------------

  ELASTIC_DECL void keep_out(const exclusion& who, time_point now);
  // Whether a node that joins has to wait until its time is over; then it has no place.
  ELASTIC_DECL bool stands_aside(const node_id& node, member& entry, time_point now);
  // Result: whether it was kept out before.
  ELASTIC_DECL bool note_kept_out(member& entry, bool is_kept_out);
  ELASTIC_DECL std::vector<std::string> kept_out_names() const;
  // If the job has too few nodes without those that are kept out, and has waited for others, the
  // one that was excluded first comes back. Result: whether one did.
  ELASTIC_DECL bool forgive_if_short(time_point now);
  // The nodes that wait for a place: those that were in the job before come before strangers.
  ELASTIC_DECL std::vector<known_node*> waiting_nodes();

  // ---- losses ---------------------------------------------------------------------------------

  // When the server's own node has to be without workers soon, as it is alone in its round.
  ELASTIC_DECL time_point own_fence() const;
  ELASTIC_DECL void fence_if_alone(time_point now);
  ELASTIC_DECL void wake_for_fence(time_point now);

  ELASTIC_DECL std::vector<node_id> overdue_nodes(time_point now) const;
  ELASTIC_DECL time_point lost_at(const member& entry) const;
  // Of a node without a connection.
  ELASTIC_DECL static time_point last_end_of(const member& entry);
  ELASTIC_DECL void give_up(const node_id& node, time_point now);
  ELASTIC_DECL void remove(const node_id& node, std::string_view how, time_point now);
  ELASTIC_DECL std::optional<node_id> missing_participant() const;

  // ---- news -----------------------------------------------------------------------------------

  // The first change of a round is the one that counts: what follows, follows from it.
  ELASTIC_DECL void announce(rendezvous_change::cause kind, std::string reason);
  /// @param failed_rank  see `rendezvous_messages::changed`
  ELASTIC_DECL void announce(rendezvous_change change, int failed_rank = -1);
  ELASTIC_DECL void look_whether_all_finished();
  ELASTIC_DECL void answer_placed(const node_id& node, const member& entry, time_point now);
  ELASTIC_DECL void ask_for_reports(member& entry);
  ELASTIC_DECL void answer_hold(const node_id& node, std::string why);

  // From where workers come, for the node that serves their store.
  ELASTIC_DECL void answer_peers(const node_id& node);
  ELASTIC_DECL void answer(const node_id& node, rendezvous_answer reply);
  ELASTIC_DECL void answer(const member& entry, rendezvous_answer reply);

  // For a node that has just given up its place, and is counted all the same.
  ELASTIC_DECL std::string missing_nodes() const;

  // Kept, because some of the nodes may have left when another asks again for its place.
  ELASTIC_DECL void note_completion();
  ELASTIC_DECL int host_rank() const;

  // The node of rank 0 serves the workers. One on this host reached us without a network and does
  // not know by which address the others reach it; we do, by the way that they came.
  ELASTIC_DECL void choose_master();

  // ---- who is there ---------------------------------------------------------------------------

  ELASTIC_DECL void list(const node_id& node, member& entry);
  ELASTIC_DECL void note_lost(const node_id& node, const member& entry);
  ELASTIC_DECL node_presence presence_of(const node_id& node) const;

  // ---- time -----------------------------------------------------------------------------------

  void wake_at(time_point when) { next_ = std::min(next_, when); }

  ELASTIC_DECL void plan_next(time_point now);
  // Whether a node that joins waits for as long as it takes.
  ELASTIC_DECL bool waits_without_end(const node_id& node, const member& entry,
                                      time_point now) const;

  // Every loop over nodes goes through this. @see looked_at
  template <class Nodes>
  Nodes& counted(Nodes& nodes) const {
    looked_at_ += nodes.size();
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
  /// The connections that may speak.
  std::unordered_map<connection, addresses> ends_;
  /// Those that wait for a place, and how many of them are kept out.
  std::set<node_id> joining_;
  std::size_t kept_out_ = 0;
  /// How many members want a pause.
  int pauses_ = 0;
  exclusion_list excluded_;
  /// Since when the job has too few nodes without those that are kept out.
  std::optional<time_point> short_since_;
  /// The names of those that were in a round.
  std::set<std::string, std::less<>> known_names_;
  bool settle_all_ = false;
  former_world former_;
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
  mutable std::uint64_t looked_at_ = 0;
  std::uint64_t content_version_ = 0;
  std::optional<job_ending> ending_;
  rendezvous_round::master_endpoint master_;
  int world_ = 0;
  int host_rank_ = -1;
  int restarts_ = 0;
  /// What they were when the round was complete.
  int round_restarts_ = 0;
  std::int64_t round_term_ = 0;
  /// The settings are not those of the first node, but the server's.
  bool has_settings_ = false;
  /// The job has several servers, and a majority elected this one.
  bool is_elected_ = false;
  /// How long nodes may be silent, at most.
  std::optional<rendezvous_settings> most_patience_;
  /// Those with a connection that have never asked for a place.
  member_queue idle_;
  /// Those without one.
  member_queue gone_;
  /// The round is a former server's.
  bool is_inherited_ = false;
  /// Of the newest round that was complete.
  std::int64_t kept_round_ = -1;
  std::vector<std::uint64_t> kept_members_;
  std::uint64_t kept_leader_node_ = 0;
  std::uint64_t own_node_ = 0;
  /// When the connections of a node that was given up had ended.
  std::optional<time_point> last_loss_;
  /// Of the newest round: its server's node was told to stop its workers, one has left in order.
  bool fences_own_node_ = false;
  bool is_suspended_ = false;
  bool is_own_fenced_ = false;
  bool has_one_left_ = false;
  time_point next_ = time_point::max();
  report_demand demand_ = report_demand::nothing;
  /// How many members are asked for theirs.
  std::size_t reporting_ = 0;
  std::vector<told_report> reports_;
  std::int64_t last_key_ = 0;
  std::deque<job_roster::entry> lost_;
  std::uint64_t roster_version_ = 0;
  std::vector<sending> answers_;
  std::vector<connection> dropped_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/native/detail/impl/rendezvous_coordinator.ipp>
#endif
