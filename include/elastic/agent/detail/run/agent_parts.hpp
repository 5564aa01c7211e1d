// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

struct agent_services;
struct worker_spec;

namespace detail {

class request_inbox;

/// The parts of one agent. Its functions are those of agent_part, for all of them.
///
/// Thread-safety: the agent's strand.
class agent_parts {
 public:
  explicit agent_parts(logger log) : log_(std::move(log)) {}
  agent_parts(const agent_parts&) = delete;
  agent_parts& operator=(const agent_parts&) = delete;

  void add(std::shared_ptr<agent_part> part) { parts_.push_back(std::move(part)); }

  ELASTIC_DECL std::shared_ptr<process_launcher> wrap(std::shared_ptr<process_launcher> inner);
  ELASTIC_DECL duration join_delay();
  ELASTIC_DECL duration stop_delay(const rendezvous_change& change);
  ELASTIC_DECL task<void> until_ready();
  ELASTIC_DECL task<void> prepare_attempt();
  ELASTIC_DECL task<void> agree(rendezvous_round round, assigned_ranks ranks);
  ELASTIC_DECL void begin_attempt(const rendezvous_round& round);
  ELASTIC_DECL void begin_replacement(const rendezvous_round& round);
  ELASTIC_DECL void change_environment(const worker_identity& worker, environment_map& variables);
  ELASTIC_DECL int passed_descriptor(int local_rank);
  ELASTIC_DECL std::optional<run_result::worker_starts> starts() const;
  ELASTIC_DECL void started(const agent_part::started_workers& start);
  ELASTIC_DECL void progressed(const worker_progress& made);
  ELASTIC_DECL void ended(const agent_part::attempt_worker& worker);
  ELASTIC_DECL void failing(int local_rank);
  ELASTIC_DECL void hung(const agent_part::hung_worker& worker);
  ELASTIC_DECL void prepared();
  ELASTIC_DECL task<void> beside_workers(bool may_restart);
  ELASTIC_DECL task<void> beside_exit_barrier();
  ELASTIC_DECL task<job_command::outcome> carry_out(job_command command);
  ELASTIC_DECL bool wants_last_look() const;
  ELASTIC_DECL task<std::string> last_look();
  ELASTIC_DECL void end_attempt();

  // The last part first. Errors: none; those of the parts are logged.
  ELASTIC_DECL task<void> end();
  ELASTIC_DECL task<void> close();

 private:
  ELASTIC_DECL task<void> run_backwards(task<void> (agent_part::*function)());

  // Calls each part. Exceptions are logged.
  template <class Call>
  void tell(Call call) {
    for (const auto& part : parts_) {
      try {
        call(*part);
      } catch (const std::exception& failure) {
        log_.warning("a part of the agent failed: {}", failure.what());
      } catch (...) {
        log_.warning("a part of the agent failed");
      }
    }
  }

  logger log_;
  std::vector<std::shared_ptr<agent_part>> parts_;
};

/// A context with the members that the caller of a run knows.
/// @param inbox  the inbox of the agent or the replica_set
ELASTIC_DECL agent_part::context part_context(asio::any_io_executor strand,
                                              asio::any_io_executor executor,
                                              std::shared_ptr<request_inbox> inbox);

/// Services whose launcher has passed through the parts.
ELASTIC_DECL agent_services wrap_launcher(agent_services services, agent_parts& parts);

}  // namespace detail
}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/run/agent_parts.ipp>
#endif
