// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/nodes/detail/leader_registry.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/nodes/detail/round_register.hpp>
#include <elastic/store/detail/store_extension.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The agent that a registry names as the leader of a job, for one term. It takes the record,
/// serves the job's nodes while it holds it, and writes the register there before it places nodes.
///
/// It leads until another agent replaces the record, until it has not been able to write the record
/// for the length of its lease, or until it resigns. Then it disconnects its nodes.
///
/// Add it to one server as its extension.
/// Thread-safety: that of a server's extensions; the members that say so, any thread.
class registered_leader final : public store_extension,
                                public std::enable_shared_from_this<registered_leader> {
 public:
  struct options {
    std::string run_id;
    /// The number of this agent's node.
    std::uint64_t node = 0;
    /// The job's settings.
    rendezvous_settings settings;
    duration lease{};
    /// Used by this object alone, on the server's strand.
    std::shared_ptr<leader_registry> registry;
    std::shared_ptr<report_exchange> reports = {};
    std::shared_ptr<time_source> time;
    logger log;
  };

  /// The terms on which this agent becomes the leader: its address, and the record that it
  /// replaces.
  struct candidacy {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    candidacy() = default;
    /// The address at which it serves.
    endpoint address;
    leader_registry::sight former;
    /// The smallest possible term: no node is known to have seen one that large.
    std::int64_t least_term = 1;
    /// The time for which the former leader's node may still have workers.
    duration wait{};
  };

  ELASTIC_DECL explicit registered_leader(options chosen);
  ELASTIC_DECL ~registered_leader() override;

  /// Takes the record unless another agent is faster. Call it once. Any thread.
  ELASTIC_DECL void try_to_lead(candidacy own);

  /// Whether it no longer leads, or failed to become the leader. Any thread.
  bool is_over() const { return is_over_; }

  /// The reason why it could not write the record, while it does not lead yet. Any thread.
  ELASTIC_DECL std::string problem() const;

  /// Lets another agent lead. If the job is over, stays until every node has been told, for at most
  /// twice the silence. Any strand.
  ///
  /// Cancellation: all types.
  ELASTIC_DECL task<void> retire(bool is_job_over);

  std::string_view greeting() const override { return rendezvous_service::first_words; }
  ELASTIC_DECL task<void> run() override;
  ELASTIC_DECL std::unique_ptr<conversation> begin(client& peer) override;

 private:
  class visitor;
  class writing_mark;
  enum class outcome { written, replaced, unknown };

  // Whether `try_to_lead` was called.
  ELASTIC_DECL bool stands();
  ELASTIC_DECL task<void> lead();
  ELASTIC_DECL task<bool> take();
  ELASTIC_DECL void begin_service();
  ELASTIC_DECL void end_service();
  ELASTIC_DECL task<void> serve();
  ELASTIC_DECL task<void> hand_over(bool is_job_over);

  // Writes news at once, and otherwise repeats the record from time to time. Returns when this
  // agent no longer leads.
  ELASTIC_DECL task<void> keep();
  // Watches for another agent's record.
  ELASTIC_DECL task<void> watch();
  // Waits until the current write has been checked.
  ELASTIC_DECL task<void> end_of_write();
  // Stores `record_`, and checks that it is there.
  ELASTIC_DECL task<outcome> write();
  ELASTIC_DECL outcome classify(const leader_registry::sight& seen);
  ELASTIC_DECL bool has_lease() const;
  // Whether the job has reached a state that the registry does not have.
  ELASTIC_DECL bool has_news();
  ELASTIC_DECL void mark_away(const std::string& why);
  ELASTIC_DECL void mark_reached();

  // Whether the registry has stored the facts that the answers to nodes are based on.
  ELASTIC_DECL bool may_answer(const rendezvous_coordinator& job);
  // Whether an answer may be sent before the registry has stored them.
  ELASTIC_DECL bool may_pass(const rendezvous_answer& answer) const;
  ELASTIC_DECL void wake();

  options chosen_;
  const duration beat_;
  mutable std::mutex access_;
  std::string problem_;
  std::optional<asio::any_io_executor> executor_;
  std::optional<candidacy> wish_;
  std::atomic<bool> is_over_ = false;

  std::optional<event_flag> earlier_;
  std::optional<event_flag> news_;
  std::vector<visitor*> visitors_;
  leader_record record_;
  std::string version_;
  /// The register that the registry has stored, and the version of the job's content in it.
  round_register written_;
  std::optional<std::uint64_t> written_version_;
  time_point lease_end_;
  /// The earliest time for a round: until then, a former leader's node may have workers.
  time_point first_round_at_;
  time_point next_beat_;
  time_point next_try_;
  bool is_writing_ = false;
  bool is_replaced_ = false;
  bool is_retiring_ = false;
  bool is_away_ = false;
  std::shared_ptr<rendezvous_coordinator> job_;
  std::shared_ptr<rendezvous_service> service_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/registered_leader.ipp>
#endif
