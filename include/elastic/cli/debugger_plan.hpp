// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace elastic {

/// Which worker of a job runs under a debugger, and where the debugger listens.
struct debugger_plan {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  debugger_plan() = default;

  /// The worker's rank in the job; empty: no worker has a debugger.
  std::optional<int> rank;
  /// An address of the worker's node, or what names one as for `local_address_named`.
  std::string host = "127.0.0.1";
  /// 0: a free port, another one at each start of the worker.
  std::uint16_t port = 0;
};

}  // namespace elastic
