// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>

#include <cstddef>
#include <map>
#include <optional>

namespace elastic::detail {

/// How long a worker may be in uninterruptible sleep: TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT,
/// in seconds. 0, which means forever, if that is not a positive number.
///
/// Source: torch.distributed.elastic.agent.server.local_elastic_agent (2.13).
ELASTIC_DECL duration uninterruptible_limit(const environment_map& environment);

/// Tracks how long each worker has been in uninterruptible sleep, as far as samples show.
class uninterruptible_watch {
 public:
  explicit uninterruptible_watch(duration limit) : limit_(limit) {}

  /// The time between two samples.
  ELASTIC_DECL duration period() const;

  /// Notes the state of a worker, as in /proc. Result: how long it has been in uninterruptible
  /// sleep, if that reaches the limit; empty otherwise.
  ELASTIC_DECL std::optional<duration> look(std::size_t slot, char state, time_point now);

 private:
  duration limit_;
  std::map<std::size_t, time_point> since_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/uninterruptible_watch.ipp>
#endif
