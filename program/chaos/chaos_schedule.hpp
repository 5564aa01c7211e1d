// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/base/time.hpp>
#include <elastic/launch/chaos_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elasticrun {

/// One act of a plan: a signal, or the beginning or end of a cut.
struct chaos_step {
  enum class act { signal, cut, mend };

  /// Since the workers first ran.
  elastic::duration at{};
  elastic::chaos_fault::target of = elastic::chaos_fault::target::rank;
  /// The rank or the node; of a random fault a number from which the rank follows.
  std::uint64_t number = 0;
  bool is_any_rank = false;
  act what = act::signal;
  int signal = 0;
  /// Of a cut: when it is over.
  elastic::duration until{};
  /// The fault that it belongs to; empty if it only goes on with one.
  std::string fault;

  /// The rank or node that is meant in a world of this size.
  int target_in(int world_size) const {
    if (!is_any_rank) return static_cast<int>(number);
    return static_cast<int>(number % static_cast<std::uint64_t>(world_size));
  }
};

/// The acts of a plan in the order of time. A pure value.
class chaos_schedule {
 public:
  explicit chaos_schedule(const elastic::chaos_plan& plan);

  /// The next one; empty when all are over, which those of a plan with random faults never are.
  std::optional<chaos_step> next();

 private:
  struct entry {
    chaos_step step;
    /// SIGSTOP and SIGCONT go on in turns until then.
    elastic::duration slow_until{};
  };

  void add(const elastic::chaos_fault& fault, std::uint64_t number, bool is_any_rank);
  void add_random();
  void add_turn(const entry& last);

  std::vector<entry> entries_;
  std::optional<elastic::chaos_noise> noise_;
  elastic::detail::random_source random_;
  /// When the random fault is that was added last.
  elastic::duration random_at_{};
};

}  // namespace elasticrun
