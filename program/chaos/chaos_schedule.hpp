// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/base/time.hpp>
#include <elastic/cli/program_config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elasticrun {

using chaos_plan = elastic::program_config::chaos_plan;

/// One step of a plan: a signal, or the start or end of a cut.
struct chaos_step {
  enum class action { signal, cut, restore };

  /// The time of the step, counted from the first start of the workers.
  elastic::duration time{};
  chaos_plan::fault::target target = chaos_plan::fault::target::rank;
  /// The rank or the node; for a random fault, a number that selects the rank.
  std::uint64_t number = 0;
  bool is_any_rank = false;
  action what = action::signal;
  int signal = 0;
  /// The end of a cut, counted from the first start of the workers.
  elastic::duration end{};
  /// The fault that starts with this step; empty for a step that continues one.
  std::string fault;

  /// The rank or node that it targets in a job of this size.
  int target_in(int world_size) const {
    if (!is_any_rank) return static_cast<int>(number);
    return static_cast<int>(number % static_cast<std::uint64_t>(world_size));
  }
};

/// The steps of a plan in chronological order. A pure value.
class chaos_schedule {
 public:
  explicit chaos_schedule(const chaos_plan& plan);

  /// The next step; empty after the last one. A plan with random faults has no last step.
  std::optional<chaos_step> next();

 private:
  struct entry {
    chaos_step step;
    /// The end of a slow phase. SIGSTOP and SIGCONT alternate until then.
    elastic::duration slow_end{};
  };

  void add(const chaos_plan::fault& fault, std::uint64_t number, bool is_any_rank);
  void add_random();
  void add_turn(const entry& last);

  std::vector<entry> entries_;
  std::optional<chaos_plan::random_faults> noise_;
  elastic::detail::random_source random_;
  /// The start of the last random fault so far.
  elastic::duration random_time_{};
};

}  // namespace elasticrun
