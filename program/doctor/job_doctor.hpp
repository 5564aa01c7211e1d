// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <program/doctor/job_findings.hpp>

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace elasticrun {

/// The arguments of `elasticrun doctor`.
struct doctor_query {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  doctor_query() = default;

  bool as_json = false;
  /// Whether to check all nodes of a job and the links between them; otherwise only this host.
  bool asks_nodes = false;
  /// The rendezvous of the nodes; `max_nodes` are expected.
  elastic::rendezvous_parameters meeting;
  elastic::environment_map environment;
};

/// Parses the arguments of `elasticrun doctor`. Result: the query, or the error with exit code 2.
std::variant<doctor_query, elastic::early_exit> parse_doctor_command(
    const std::vector<std::string>& arguments, const elastic::environment_map& environment);

/// Meets the other nodes, measures the links to them, and collects the reports of all.
///
/// Thread-safety: one strand at a time.
class job_doctor {
 public:
  explicit job_doctor(doctor_query query);

  /// Collects the reports of all nodes. Call it once.
  ///
  /// Errors: those of the rendezvous; `errc::connection_failed` if a node is lost meanwhile;
  /// `errc::rendezvous_timeout` if a node does not report in time; `errc::protocol_violation` if a
  /// report is malformed.
  /// Cancellation: all types. In every case, this node has left the rendezvous.
  elastic::task<job_view> run();

  /// The rank of this node, after `run`.
  int rank() const { return round_.group_rank; }

 private:
  elastic::task<void> meet_and_examine();
  elastic::task<void> meet();
  elastic::task<void> examine_nodes();
  elastic::task<std::string> own_address();
  elastic::task<void> exchange();
  elastic::task<void> measure();
  elastic::task<std::vector<std::string>> exchange_texts(std::string topic, std::string mine);
  elastic::task<void> watch();
  elastic::task<void> await_others();
  elastic::task<void> leave();

  doctor_query query_;
  std::shared_ptr<elastic::time_source> time_;
  elastic::rendezvous_factory factory_;
  /// The handler while it is not known whether this node can meet others with it.
  std::shared_ptr<elastic::rendezvous_handler> tried_;
  std::shared_ptr<elastic::rendezvous_handler> handler_;
  elastic::rendezvous_round round_;
  node_report mine_;
  job_view view_;
  bool has_met_ = false;
  bool is_complete_ = false;
};

}  // namespace elasticrun
