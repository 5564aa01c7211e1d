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
#include <elastic/rendezvous/native/detail/candidate_marker.hpp>
#include <elastic/rendezvous/native/detail/candidate_message.hpp>
#include <elastic/rendezvous/native/detail/rendezvous_service.hpp>
#include <elastic/rendezvous/native/detail/vote_machine.hpp>
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

/// One of the servers at which a job can meet: takes part in the choice of the one that leads
/// (`vote_machine`), and serves the job's nodes while that is this one. The others send nodes
/// away, with the word to wait.
///
/// Give it to one server, as its extension.
/// Thread-safety: as the server's extensions have it.
class candidate final : public store_extension {
 public:
  struct options {
    std::string run_id;
    /// All endpoints, in their order, as each candidate and node has to name them.
    std::string list;
    int self = 0;
    /// The ways to the candidates; none to this one.
    std::vector<std::shared_ptr<message_connector>> others;
    /// The job's.
    rendezvous_settings settings;
    /// The number of this agent's node.
    std::uint64_t node = 0;
    /// See network_identity; empty: it is not known.
    std::string network = {};
    /// The place of its mark, and of the mark of an agent that was killed; none: it leaves none.
    std::optional<candidate_marker> marker = std::nullopt;
    bool fast_takeover = true;
    std::uint64_t seed = 0;
    /// What nodes tell of themselves while this one leads; null: nothing is asked for.
    std::shared_ptr<report_exchange> reports = {};
    std::shared_ptr<time_source> time;
    logger log;
  };

  ELASTIC_DECL explicit candidate(options chosen);
  ELASTIC_DECL ~candidate() override;

  /// Which of the endpoints it serves, and the number of its agent's node.
  int place() const { return chosen_.self; }
  std::uint64_t node() const { return chosen_.node; }

  std::string_view greeting() const override { return rendezvous_service::first_words; }
  ELASTIC_DECL task<void> run() override;
  ELASTIC_DECL std::unique_ptr<conversation> begin(client& from) override;

  /// Before the server stops, and after this agent's node has left: has another one lead. If the
  /// job is over, stays until every node was told, for at most two times the silence. Takes its
  /// mark away if no node can have workers any more, as far as this one knows: the job is over,
  /// which all were told, or no round was made.
  ///
  /// Thread-safety: any strand.
  /// Cancellation: all types.
  ELASTIC_DECL task<void> retire(bool is_over);

 private:
  class visitor;

  // ---- who connects to this one -----------------------------------------------------------------

  /// The way to another candidate.
  struct route {
    /// While it is connected, and once it takes what this one asks.
    std::shared_ptr<message_channel> connection;
    std::shared_ptr<message_channel> channel;
    /// Set when it has come: it can be reached now.
    std::unique_ptr<event_flag> arrival;
    /// The number of the agent that was met at its address last, 0: none was; that address, and the
    /// network in which it is.
    std::uint64_t node = 0;
    std::string address;
    std::string network;
    /// It was met over this connection.
    bool is_met = false;
    /// The last that said it were this one while another agent was met here.
    std::uint64_t stranger = 0;
    /// It is where the one before it was.
    bool is_in_place = true;
    /// Who serves there is to be found out again, now; and until that is known.
    bool is_to_look = false;
    bool is_looking = false;
    /// Since when it is not reached and why, and when the log says so next.
    time_point missing_since;
    std::string problem;
    time_point next_warning;
    bool was_warned_of = false;
  };

  ELASTIC_DECL void received(visitor& from, std::string_view message);
  ELASTIC_DECL void take(visitor& from, const candidate_messages::peer& request);
  ELASTIC_DECL void take(visitor& from, const candidate_messages::seek& request);
  template <class Request>
  void take(visitor& from, const Request& request);
  ELASTIC_DECL void gone(visitor& from);
  ELASTIC_DECL std::string objection(const std::string& run_id, const std::string& list) const;
  ELASTIC_DECL std::string objection(const candidate_messages::peer& request) const;
  ELASTIC_DECL std::string objection_to_second(int index) const;
  route& route_to(int peer) { return routes_[static_cast<std::size_t>(peer)]; }

  // ---- who is who -------------------------------------------------------------------------------
  // Who connects says which candidate it is, and is believed if the agent that is met at that
  // candidate's address says the same: of two with one place only one has the address.

  ELASTIC_DECL bool take(int peer, const candidate_messages::present& answer, std::string address);
  ELASTIC_DECL void check_claim(visitor& from);
  ELASTIC_DECL void admit(visitor& from);
  ELASTIC_DECL void look_again(int peer);
  ELASTIC_DECL void end_look(int peer);
  ELASTIC_DECL bool is_in_doubt(const visitor& node) const;
  ELASTIC_DECL void tell_seekers();
  ELASTIC_DECL void tell_leader(visitor& node);

  // ---- those that this one connects to ----------------------------------------------------------

  ELASTIC_DECL task<void> keep_connected(int peer);
  ELASTIC_DECL task<std::shared_ptr<message_channel>> try_connect(int peer);
  ELASTIC_DECL task<void> converse(int peer, std::shared_ptr<message_channel> channel);
  ELASTIC_DECL void note_missing(route& way, time_point since);
  ELASTIC_DECL void warn_of_absence(int peer);
  ELASTIC_DECL void note_return(int peer);
  ELASTIC_DECL void note_rejection(int peer, const std::string& why);
  ELASTIC_DECL void log_note(const vote_machine::note& note) const;
  ELASTIC_DECL bool take_answer(int peer, const candidate_answer& answer, message_channel& from);

  // ---- serving the job --------------------------------------------------------------------------

  // Until the port was bound, another agent may have served there and made promises.
  ELASTIC_DECL void begin_votes();
  ELASTIC_DECL void leave_mark();
  ELASTIC_DECL void remove_mark();

  ELASTIC_DECL task<void> keep_time();
  ELASTIC_DECL void settle();
  ELASTIC_DECL void begin_service();
  ELASTIC_DECL void end_service();
  // Whether a majority has what the job's nodes are about to be told.
  ELASTIC_DECL bool may_speak(const rendezvous_coordinator& job);
  // Whether everybody knows that the job is over, as far as is known now, and when it may leave.
  ELASTIC_DECL bool is_free() const;
  ELASTIC_DECL time_point free_at() const;
  ELASTIC_DECL task<void> hand_over(bool is_over);
  ELASTIC_DECL task<void> end_tasks();

  // Has everything looked at again, soon.
  ELASTIC_DECL void wake();

  options chosen_;
  /// Made once the port is bound.
  std::optional<vote_machine> votes_;
  /// Until then the mark also stands for an agent that was killed.
  time_point marked_until_ = time_point::min();
  // By their coming.
  std::vector<visitor*> visitors_;
  std::vector<visitor*> peers_;
  std::vector<route> routes_;
  /// What others refused this one for, so as to say it once.
  std::set<std::string> rejections_;
  /// Since when no majority is reached.
  std::optional<time_point> alone_since_;
  std::shared_ptr<rendezvous_coordinator> job_;
  /// The version of the job's content that was proposed last.
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
#include <elastic/rendezvous/native/detail/impl/candidate.ipp>
#endif
