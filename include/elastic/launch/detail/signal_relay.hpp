// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/stop_request.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/launch/signal_plan.hpp>

#include <functional>
#include <vector>

namespace elastic::detail {

/// Receives the requests that signals make. Both functions must be set.
struct signal_receiver {
  std::function<void(stop_request)> stop;
  /// Passes the signal on to workers.
  std::function<void(int)> forward;
};

/// Runs `work` to its end, and meanwhile turns signals of this process into requests to the
/// receiver. Watchers run concurrently and end only by cancellation; one that fails ends `work`.
///
/// Errors: those of `work`; that of a watcher; `errc::invalid_argument` for a plan that `validate`
/// refuses.
/// Cancellation: requests go only to `work`.
ELASTIC_DECL task<void> relay_signals(task<void> work, signal_receiver receiver, signal_plan plan,
                                      std::vector<task<void>> watchers);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/signal_relay.ipp>
#endif
