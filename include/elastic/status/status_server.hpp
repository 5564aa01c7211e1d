// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/job_command.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/status/job_monitor.hpp>
#include <elastic/status/roles_monitor.hpp>
#include <elastic/status/status_address.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>
#include <elastic/telemetry/job_journal.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace elastic {

namespace detail {
struct internals;
class status_server_core;
}  // namespace detail

/// Serves the status of a job over HTTP: a web page, JSON and a stream of events for programs,
/// metrics for Prometheus, probes for Kubernetes; docs/observe.md describes them. Requests over TCP
/// change nothing. Over a Unix socket, this user and root may send commands.
///
/// It listens from its construction, and also answers before the job begins and while it waits. The
/// job never waits for a client: connections, requests and answers are limited, and slow clients
/// are disconnected. Without clients it causes no wake-ups.
///
/// Thread-safety: every member may be called from any thread. The server runs on a strand of the
/// executor that it was given; that executor's context must outlive it.
class status_server {
 public:
  /// Options of a status_server.
  struct options {
    status_address address = {};
    /// The agent's journal; must be set, unless `roles` is.
    std::shared_ptr<job_journal> journal = {};
    /// The monitor that follows that journal and the workers; must be set, unless `roles` is.
    std::shared_ptr<job_monitor> monitor = {};
    /// The roles of a job of several, in place of journal and monitor, which must be empty.
    /// Below "/roles/NAME/" each role has the paths of a job without roles.
    std::shared_ptr<roles_monitor> roles = {};
    /// The token that clients must send: 16 to 256 letters, digits and "-._~". If it is empty, the
    /// server generates one, unless only this host can reach it.
    std::string token = {};
    /// Further names of this host that requests may use.
    std::vector<std::string> host_names = {};
    /// Carries out the commands of clients on a Unix socket, on the server's strand, several at a
    /// time (see `local_agent::carry_out`); empty: no commands. `job_command::role` names the role
    /// that a client has chosen.
    job_command::handler commands = {};
    /// Null: `system_time`.
    std::shared_ptr<time_source> time = {};
    logger log = {};

    /// The connection to the agent, which `add_status` makes.
    class connections {
      friend detail::internals;
      struct members {
        /// The output tails of the agent's workers; null: output is not shown.
        std::shared_ptr<detail::output_tails> tails;
      };
      members members_;
    };
    connections internal = {};
  };

  /// Errors: `errc::address_in_use`, also if the path of a Unix socket exists;
  /// `errc::invalid_argument` if the address is not one of this host, the path is too long, the
  /// token is invalid, if journal or monitor are missing, or set beside roles;
  /// `errc::connection_failed` if no socket can be created.
  ELASTIC_DECL status_server(asio::any_io_executor executor, options settings);

  /// Closes everything without waiting for it. Prefer `stop`.
  ELASTIC_DECL ~status_server();

  status_server(const status_server&) = delete;
  status_server& operator=(const status_server&) = delete;

  /// The address at which it listens, with the actual port.
  ELASTIC_DECL status_address address() const;

  /// The URL for a browser, with the token if the server has generated it; a token from the options
  /// is never printed. "unix:PATH" for a Unix socket.
  ELASTIC_DECL std::string url() const;

  /// The number of connected clients.
  ELASTIC_DECL std::size_t connections() const;

  /// Stops listening, sends pending events and command results within `limits::status_farewell`,
  /// and then disconnects all clients. When this returns, nothing of the server runs. May be called
  /// again.
  ///
  /// Errors: none; errors of the server are logged, because they do not affect the job.
  /// Cancellation: all types; the server still stops, but nothing waits for it.
  ELASTIC_DECL task<void> stop();

 private:
  std::shared_ptr<detail::status_server_core> core_;
};

/// The token in a file, without line ends at its end. The file must belong to this user or to root,
/// and nobody else may read or write it.
/// Errors: `errc::invalid_argument`, naming the file and what is wrong with it.
ELASTIC_DECL std::string read_status_token(const std::string& path);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/status_server.ipp>
#endif
