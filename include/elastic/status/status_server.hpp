// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/job_command.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/status/job_monitor.hpp>
#include <elastic/status/status_address.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace elastic {

namespace detail {
class status_server_core;
}  // namespace detail

/// Shows by HTTP what a job does: a page for people, JSON and a stream of events for what follows
/// the job, metrics for Prometheus, probes for Kubernetes; docs/observe.md has all of it. Over TCP
/// it only shows: no request changes anything. Over a Unix socket this user and root may command.
///
/// It listens from the moment that it is made and answers also before the job begins and while it
/// waits. The job never waits for a client: connections, requests and answers are bounded, and who
/// reads slowly is disconnected. It wakes nobody up as long as nobody looks.
///
/// Thread-safety: every member may be called from any thread. The server runs on a strand of the
/// executor that it was given; that executor's context must outlive it.
class status_server {
 public:
  /// What a status_server is made from.
  struct options {
    status_address address = {};
    /// What the agent records in; must be set.
    std::shared_ptr<job_journal> journal = {};
    /// What follows that journal, and the workers; must be set.
    std::shared_ptr<job_monitor> monitor = {};
    /// What the agent offers the output of its workers by; null: it is not shown.
    std::shared_ptr<detail::output_tails> tails = {};
    /// What clients have to know, 16 to 256 letters, digits and "-._~"; empty: nothing, if only
    /// this host can reach the server, else one that the server makes.
    std::string token = {};
    /// The names of this host that requests may use, besides the one that it has.
    std::vector<std::string> host_names = {};
    /// Carries out what clients command over a Unix socket, on the server's strand, several at a
    /// time (see `local_agent::carry_out`); empty: nothing can be commanded.
    job_command::handler commands = {};
    /// Null: `system_time`.
    std::shared_ptr<time_source> time = {};
    logger log = {};
  };

  /// Errors: `errc::address_in_use`, also if the path of a Unix socket exists;
  /// `errc::invalid_argument` if the address is none of this host, the path too long, the token not
  /// as it has to be, or journal or monitor are missing; `errc::connection_failed` if the system
  /// has no socket left.
  ELASTIC_DECL status_server(asio::any_io_executor executor, options settings);

  /// Closes everything without waiting for it. Prefer `stop`.
  ELASTIC_DECL ~status_server();

  status_server(const status_server&) = delete;
  status_server& operator=(const status_server&) = delete;

  /// Where it listens, with the port that it has.
  ELASTIC_DECL status_address address() const;

  /// What a browser opens, with the token if the server has made it; one that was given is nobody's
  /// to print. "unix:PATH" of a Unix socket.
  ELASTIC_DECL std::string url() const;

  /// How many clients are connected.
  ELASTIC_DECL std::size_t connections() const;

  /// Listens no more; those who follow events or wait for a command get the last, within
  /// `limits::status_farewell`; then
  /// everybody is disconnected. Nothing of the server runs when this returns. May be called again.
  ///
  /// Errors: none; what went wrong with the server is logged, for the job is none the worse for it.
  /// Cancellation: all types; the server stops nevertheless, only unwaited for.
  ELASTIC_DECL task<void> stop();

 private:
  std::shared_ptr<detail::status_server_core> core_;
};

/// The token in a file, without the ends of lines behind it. The file has to belong to this user or
/// to root, and nobody else may read or write it.
/// Errors: `errc::invalid_argument`, naming the file and what is wrong with it.
ELASTIC_DECL std::string read_status_token(const std::string& path);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/status_server.ipp>
#endif
