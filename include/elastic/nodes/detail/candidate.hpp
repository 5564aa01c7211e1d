// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/nodes/detail/candidate_marker.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/nodes/detail/vote_machine.hpp>
#include <elastic/store/detail/store_extension.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// One of the servers at which a job can meet. It takes part in the election of the leader
/// (`vote_machine`), and serves the job's nodes while it leads. A candidate that does not lead
/// tells nodes to wait.
///
/// Add it to one server as its extension.
/// Thread-safety: that of a server's extensions.
class candidate final : public store_extension {
 public:
  struct options {
    std::string run_id;
    /// All endpoints, in their order, as each candidate and node has to name them.
    std::string list;
    int self = 0;
    /// The connectors to the candidates; null for this one.
    std::vector<std::shared_ptr<message_connector>> others;
    /// The job's settings.
    rendezvous_settings settings;
    /// The number of this agent's node.
    std::uint64_t node = 0;
    /// See network_identity; empty: unknown.
    std::string network = {};
    /// The place of this agent's mark, where it also finds the mark of an agent that was killed;
    /// none: it leaves no mark.
    std::optional<candidate_marker> marker = std::nullopt;
    bool fast_takeover = true;
    std::uint64_t seed = 0;
    /// The reports that nodes send while this candidate leads; null: it requests none.
    std::shared_ptr<report_exchange> reports = {};
    std::shared_ptr<time_source> time;
    logger log;
  };

  ELASTIC_DECL explicit candidate(options chosen);
  ELASTIC_DECL ~candidate() override;

  /// The index of its endpoint, and the number of its agent's node.
  int place() const { return chosen_.self; }
  std::uint64_t node() const { return chosen_.node; }

  std::string_view greeting() const override { return rendezvous_service::first_words; }
  ELASTIC_DECL task<void> run() override;
  ELASTIC_DECL std::unique_ptr<conversation> begin(client& peer) override;

  /// Lets another candidate lead. Call it before the server stops and after this agent's node has
  /// left. If the job is over, stays until every node has been told, for at most twice the silence.
  /// Removes its mark if, as far as this candidate knows, no node can have workers any more: the
  /// job is over and all nodes were told, or no round was made.
  ///
  /// Thread-safety: any strand.
  /// Cancellation: all types.
  ELASTIC_DECL task<void> retire(bool is_over);

 private:
  class visitor;

  // ---- connections from others ------------------------------------------------------------------

  /// The connection to another candidate.
  struct route {
    /// The connection, and the same once it accepts requests.
    std::shared_ptr<message_channel> connection;
    std::shared_ptr<message_channel> channel;
    /// Set when the other candidate has connected: it is reachable now.
    std::unique_ptr<event_flag> arrival;
    /// The number of the agent last met at its address (0: none), that address, and its network.
    std::uint64_t node = 0;
    std::string address;
    std::string network;
    /// The agent was met over this connection.
    bool is_met = false;
    /// The last agent that claimed to be this candidate while another one was met at its address.
    std::uint64_t stranger = 0;
    /// The agent has the address and the network of its predecessor.
    bool is_in_place = true;
    /// Whether this candidate must find out again which agent serves there, and whether it is doing
    /// so.
    bool is_to_look = false;
    bool is_looking = false;
    /// The time since which the candidate is unreachable, the reason, and the time of the next log
    /// message about it.
    time_point missing_since;
    std::string problem;
    time_point next_warning;
    bool was_warned_of = false;
  };

  ELASTIC_DECL void received(visitor& sender, std::string_view message);
  ELASTIC_DECL void take(visitor& sender, const candidate_messages::peer& request);
  ELASTIC_DECL void take(visitor& sender, const candidate_messages::seek& request);
  template <class Request>
  void take(visitor& sender, const Request& request);
  ELASTIC_DECL void gone(visitor& sender);
  ELASTIC_DECL std::string objection(const std::string& run_id, const std::string& list) const;
  ELASTIC_DECL std::string objection(const candidate_messages::peer& request) const;
  ELASTIC_DECL std::string objection_to_second(int index) const;
  route& route_to(int peer) { return routes_[static_cast<std::size_t>(peer)]; }

  // ---- identities -------------------------------------------------------------------------------
  // A candidate that connects says which one it is. This is accepted only if the agent at that
  // candidate's address confirms it: of two agents that claim one place, only one has the address.

  ELASTIC_DECL bool take(int peer, const candidate_messages::present& answer, std::string address);
  ELASTIC_DECL void check_claim(visitor& sender);
  ELASTIC_DECL void admit(visitor& sender);
  ELASTIC_DECL void look_again(int peer);
  ELASTIC_DECL void end_look(int peer);
  ELASTIC_DECL bool is_in_doubt(const visitor& node) const;
  ELASTIC_DECL void announce_leader();
  ELASTIC_DECL void tell_leader(visitor& node);

  // ---- connections to others --------------------------------------------------------------------

  ELASTIC_DECL task<void> keep_connected(int peer);
  ELASTIC_DECL task<std::shared_ptr<message_channel>> try_connect(int peer);
  ELASTIC_DECL task<void> converse(int peer, std::shared_ptr<message_channel> channel);
  ELASTIC_DECL void mark_missing(route& way, time_point since);
  ELASTIC_DECL void warn_of_absence(int peer);
  ELASTIC_DECL void log_return(int peer);
  ELASTIC_DECL void log_rejection(int peer, const std::string& why);
  ELASTIC_DECL void log_note(const vote_machine::note& note) const;
  ELASTIC_DECL bool take_answer(int peer, const candidate_answer& answer, message_channel& source);

  // ---- serving the job --------------------------------------------------------------------------

  // Starts to vote. Until this candidate bound the port, another agent may have served there and
  // made promises, so it cannot vote earlier.
  ELASTIC_DECL void begin_votes();
  ELASTIC_DECL void leave_mark();
  ELASTIC_DECL void remove_mark();

  ELASTIC_DECL task<void> keep_time();
  ELASTIC_DECL void apply_outputs();
  ELASTIC_DECL void begin_service();
  ELASTIC_DECL void end_service();
  // Whether a majority has stored the facts that the answers to the job's nodes are based on.
  ELASTIC_DECL bool may_answer(const rendezvous_coordinator& job);
  // Whether, as far as is known now, all nodes know that the job is over; and the time at which
  // this candidate may leave.
  ELASTIC_DECL bool is_free() const;
  ELASTIC_DECL time_point free_at() const;
  ELASTIC_DECL task<void> hand_over(bool is_over);
  ELASTIC_DECL task<void> end_tasks();

  // Makes the tasks check everything again soon.
  ELASTIC_DECL void wake();

  options chosen_;
  /// Made once the port is bound.
  std::optional<vote_machine> votes_;
  /// Until this time the mark also stands for an agent that was killed.
  time_point marked_until_ = time_point::min();
  // In the order of arrival.
  std::vector<visitor*> visitors_;
  std::vector<visitor*> peers_;
  std::vector<route> routes_;
  /// The reasons for which others refused this one, so that the log has each once.
  std::set<std::string> rejections_;
  /// The time since which no majority is reachable.
  std::optional<time_point> alone_since_;
  std::shared_ptr<rendezvous_coordinator> job_;
  /// The version of the job's content that was last proposed.
  std::optional<std::uint64_t> proposed_version_;
  std::shared_ptr<rendezvous_service> service_;
  std::shared_ptr<event_flag> service_end_;
  std::mutex executor_access_;
  std::optional<asio::any_io_executor> executor_;
  std::optional<event_flag> earlier_;
  std::optional<event_flag> news_;
  std::optional<task_group> tasks_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/candidate.ipp>
#endif
