// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

namespace elastic::detail {

/// Runs `work`, and then waits until it is cancelled: a part of a `race` whose end ends nothing.
///
/// Errors: those of `work`. Cancellation: all types.
ELASTIC_DECL task<void> endless(task<void> work);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/endless.ipp>
#endif
