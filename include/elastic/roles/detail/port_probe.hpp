// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>

#include <sys/types.h>

#include <memory>
#include <string>

namespace elastic::detail {

/// A port at which a worker of this node is to serve.
struct served_port {
  /// "role 'rollout': worker 0", for the log.
  std::string whose;
  pid_t pid = 0;
  endpoint address;
};

/// Waits until a connection to the port succeeds, and the worker or a process that it has started
/// listens there. The connection is closed at once.
///
/// Waits without a limit. Logs a warning after 30 s, and then again each time the wait has doubled.
/// Errors: none. Cancellation: all types.
ELASTIC_DECL task<void> await_served_port(served_port port, std::shared_ptr<time_source> time,
                                          logger log);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/port_probe.ipp>
#endif
