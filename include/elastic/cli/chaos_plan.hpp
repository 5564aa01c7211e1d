// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic {

/// The faults of a job. Each agent injects those that target its node and its workers.
struct chaos_plan {
  /// A fault that is injected on purpose, to show how a job recovers from it.
  struct fault {
    enum class kind {
      /// SIGKILL.
      kill,
      /// SIGSTOP, and SIGCONT later.
      stop,
      /// The worker is stopped for nine tenths of the time.
      slow,
      /// The agent's connections, as if its cables were pulled, and put in again later.
      cut,
    };
    enum class target { rank, node };

    kind what = kind::kill;
    target scope = target::rank;
    /// The rank of a worker, or the group rank of a node.
    int number = 0;
    /// The time since the job's workers first ran on this node.
    duration start{};
    /// How long it lasts; not for `kill`.
    duration span{};

    friend bool operator==(const fault&, const fault&) = default;
  };

  /// Faults of random kinds and ranks, the same for each node that has the same seed.
  struct random_faults {
    std::uint64_t seed = 0;
    /// Between one fault and the next, on average.
    duration mean_gap{};

    friend bool operator==(const random_faults&, const random_faults&) = default;
  };

  std::vector<fault> faults;
  std::optional<random_faults> noise;

  bool empty() const { return faults.empty() && !noise; }
  friend bool operator==(const chaos_plan&, const chaos_plan&) = default;
};

/// Reads "kill=rank:3@20s,stop=rank:2@10s+5s,slow=rank:0@1m+30s,kill=node:1@2m,cut=node:1@30s+10s,
/// random=7@20s", without blanks. A time has a unit: ms, s, m or h. Errors:
/// `errc::invalid_argument`, with the part that is wrong and what is allowed.
ELASTIC_DECL chaos_plan parse_chaos_plan(std::string_view text);

/// The fault or the plan as it is written there.
ELASTIC_DECL std::string to_text(const chaos_plan::fault& fault);
ELASTIC_DECL std::string to_text(const chaos_plan& plan);

/// The ranks and nodes that the plan names and that a world of this size lacks, such as "rank 8,
/// node 2"; empty if there is none.
ELASTIC_DECL std::string missing_targets(const chaos_plan& plan, int world_size, int nodes);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/impl/chaos_plan.ipp>
#endif
