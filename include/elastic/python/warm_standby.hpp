// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace elastic {

/// How an agent keeps a standby for each worker, which spares a restart the imports: a Python
/// interpreter that was started with the worker's command line, has imported already and waits. It
/// becomes the worker of the next attempt, and the interpreter then runs the script.
struct warm_standby {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  warm_standby() = default;

  /// The modules that it imports, such as "torch"; at most `limits::standby_modules`. Empty: those
  /// that the script imports at its beginning, and what workers have imported of these later.
  std::vector<std::string> modules;
  /// How long after the start of the workers the first standby is made.
  duration delay = std::chrono::seconds(10);
};

/// Checks the bounds of a warm_standby. Errors: `errc::invalid_argument`, saying what is allowed.
ELASTIC_DECL void validate(const warm_standby& terms);

struct agent_services;

/// Has the agent that is made with these services keep standbys for its workers, by a
/// `standby_set` of its own. The workers start cold if they are no Python programs: the agent's log
/// says why.
///
/// In a job that may run with fewer nodes than can take part, this node takes part in its first
/// round once its standbys are ready, at most 30 s later: the others go on meanwhile. Workers that
/// are well go on for at most 10 s until their standbys are ready when a node waits to join, and
/// for 2 s when a node is lost.
/// Errors: those of `validate`; `errc::invalid_argument` if the services have an extension.
ELASTIC_DECL void add_warm_standbys(agent_services& services, warm_standby terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/impl/warm_standby.ipp>
#endif
