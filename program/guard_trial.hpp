// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/process/guarded_launcher.hpp>

#include <string>

namespace elasticrun {

/// Starts a program under a guard, and waits until both have ended.
///
/// Result: the reason why no guard can be used here; empty if one can.
elastic::task<std::string> guard_problem(elastic::guarded_launcher::options options);

}  // namespace elasticrun
