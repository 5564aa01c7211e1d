// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/job_monitor.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace elasticrun {

/// The server for the progress reports to Kubeflow Trainer, from the variables
/// KUBEFLOW_TRAINER_SERVER_URL, _CA_CERT and _TOKEN.
struct kubeflow_server {
  elastic::endpoint address = {};
  bool uses_tls = true;
  /// The part of the URL from its first slash on.
  std::string target = "/";
  /// The file with the authorities that may have issued its certificate; empty: those of this
  /// system.
  std::string authorities = {};
  /// The file of the token, which is read before each report; empty: no token is sent.
  std::string token_file = {};
};

/// Reads the variables of Kubeflow Trainer.
/// Result: empty if there is no URL.
/// Errors: `errc::invalid_argument` if it is not http://HOST[:PORT]/… or https://….
std::optional<kubeflow_server> find_kubeflow_server(const elastic::environment_map& variables);

/// Whether a token would go to another host over plain http, so that others could read it.
bool is_token_exposed(const kubeflow_server& server);

/// The body of a report; empty if this node is not the first of the round, or if no worker has
/// reported a step.
/// @param metrics  the last metrics of rank 0
std::optional<std::string> kubeflow_status(const elastic::detail::job_view& view,
                                           const std::map<std::string, double>& metrics,
                                           std::int64_t now_us);

/// Reports the progress of a job to Kubeflow Trainer, at most once per `limits::kubeflow_pause`. It
/// is a part of the agent, and its `monitor` a sink of the journal. The job never waits for a
/// report.
///
/// Thread-safety: one strand at a time, on which the agent calls its parts, too.
class kubeflow_reporter final : public elastic::agent_part {
 public:
  kubeflow_reporter(asio::any_io_executor strand, kubeflow_server server,
                    std::shared_ptr<elastic::time_source> time, elastic::logger log);

  const std::shared_ptr<elastic::job_monitor>& monitor() const { return monitor_; }

  void started(const elastic::agent_part::started_workers& job) override;
  void progressed(const elastic::worker_progress& made) override;

  /// Reports progress. Logs the first failure, and continues to try.
  /// Cancellation: all types; only a cancellation ends it.
  elastic::task<void> run();

  /// Sends a last report, unless the one before failed; takes at most
  /// `limits::kubeflow_last_report`. Errors: none. Cancellation: all types.
  elastic::task<void> finish();

 private:
  elastic::task<void> report(elastic::duration timeout);
  elastic::task<void> post(std::string status);

  kubeflow_server server_;
  std::shared_ptr<elastic::time_source> time_;
  elastic::logger log_;
  std::shared_ptr<elastic::job_monitor> monitor_;
  /// Set if there is progress that no report contains yet.
  elastic::event_flag changed_;
  bool is_first_node_ = false;
  /// The last metrics of rank 0.
  std::map<std::string, double> metrics_;
  /// Shared with each read of its files, even an abandoned one.
  std::shared_ptr<const int> hanging_read_ = std::make_shared<const int>(0);
  bool was_delivered_ = false;
  bool is_problem_logged_ = false;
};

}  // namespace elasticrun
