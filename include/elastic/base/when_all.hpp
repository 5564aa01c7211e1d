// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <vector>

namespace elastic {

/// Runs all tasks at once, started in order, until the last of them has ended. When one throws, the
/// others are cancelled, with all types.
///
/// Errors: that of the first task that threw.
/// Cancellation: every request is passed on to every task; then it throws what the first task
/// threw.
ELASTIC_DECL task<void> when_all(std::vector<task<void>> tasks);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/impl/when_all.ipp>
#endif
