// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace elastic {

/// The terms on which an agent keeps a pool of standbys for its workers, which saves the imports at
/// a restart. A standby is a Python interpreter that was started with a worker's command line, has
/// already imported its modules, and waits. It becomes a worker of the next attempt and then runs
/// the script. It serves any worker of the node, unless its imports have read a variable that tells
/// the workers apart, such as LOCAL_RANK.
struct warm_standby {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  warm_standby() = default;

  /// The modules that standbys import, such as "torch"; at most `limits::standby_modules`. Empty:
  /// the modules that the script imports first, and parts of them that workers have imported later.
  std::vector<std::string> modules;
  /// How long after the workers' start the first standby is made, unless all of them have reported
  /// a step before.
  duration delay = std::chrono::seconds(10);
  /// How many standbys there are at most while workers run; more than one for each worker of the
  /// node are never made. 0: one for each worker; if the agent replaces workers
  /// (`worker_spec::on_failure`) and standbys serve any of them, one.
  std::size_t count = 0;
};

/// Checks the bounds of a warm_standby. Errors: `errc::invalid_argument`, with what is allowed.
ELASTIC_DECL void validate(const warm_standby& terms);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/impl/standby_terms.ipp>
#endif
