// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/observe/job_monitor.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace elasticrun {

/// Where Kubeflow Trainer wants to hear how far a job is, by its variables KUBEFLOW_TRAINER_SERVER_
/// URL, CA_CERT and TOKEN.
struct kubeflow_server {
  elastic::endpoint at = {};
  bool uses_tls = true;
  /// From the first slash of the URL on.
  std::string target = "/";
  /// Whom its certificate comes from; empty: whom this system trusts.
  std::string authorities = {};
  /// The file of the token, which is read anew for each message; empty: none is sent.
  std::string token_file = {};
};

/// Result: none if there is no URL.
/// Errors: `errc::invalid_argument` if it is not http://HOST[:PORT]/… or https://….
std::optional<kubeflow_server> find_kubeflow_server(const elastic::environment_map& variables);

/// Whether a token would be sent over plain http to another host, so that others can read it.
bool is_token_exposed(const kubeflow_server& server);

/// What it is told; none if this node is not the first of the round, or no worker has reported a
/// step.
/// @param metrics  those that rank 0 reported last
std::optional<std::string> kubeflow_status(const elastic::job_view& view,
                                           const std::map<std::string, double>& metrics,
                                           std::int64_t now_us);

/// Tells Kubeflow Trainer how far a job is, at most each `limits::kubeflow_pause`: make it the
/// agent's observer, and its `monitor` a sink of the journal. The job never waits for it.
///
/// Thread-safety: one strand at a time, on which the agent's observer is called as well.
class kubeflow_reporter final : public elastic::worker_observer {
 public:
  /// @param next  is told first whatever the observer is told; may be null
  kubeflow_reporter(asio::any_io_executor strand, kubeflow_server server,
                    std::shared_ptr<elastic::time_source> time, elastic::logger log,
                    std::shared_ptr<elastic::worker_observer> next = {});

  const std::shared_ptr<elastic::job_monitor>& monitor() const { return monitor_; }

  void started(const elastic::started_workers& job) override;
  void progress(const elastic::worker_progress& made) override;
  void hung(const elastic::hung_worker& worker) override;

  /// Tells it of progress; never ends by itself. What goes wrong is logged once, and is tried
  /// again. Cancellation: all types.
  elastic::task<void> run();

  /// Tells it the last, unless it did not hear what it was told before; takes at most
  /// `limits::kubeflow_farewell`.
  /// Errors: none. Cancellation: all types.
  elastic::task<void> finish();

 private:
  elastic::task<void> tell(elastic::duration patience);
  elastic::task<void> post(std::string status);

  kubeflow_server server_;
  std::shared_ptr<elastic::time_source> time_;
  elastic::logger log_;
  std::shared_ptr<elastic::job_monitor> monitor_;
  /// Something was reported that was not told.
  elastic::event_flag changed_;
  bool is_first_node_ = false;
  /// Those of rank 0.
  std::map<std::string, double> metrics_;
  /// Shared by a read of its files, also by one that nobody waits for any more.
  std::shared_ptr<const int> hanging_read_ = std::make_shared<const int>(0);
  bool was_heard_ = false;
  bool is_problem_logged_ = false;
};

}  // namespace elasticrun
