// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/base/time.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>

namespace elastic::test {

/// The clock of one host: it has an arbitrary offset and runs slightly too fast or too slow.
class host_clock final : public time_source {
 public:
  /// @param drift  how much too fast it runs, in parts per million
  host_clock(manual_time& real, duration monotonic_offset, std::int64_t drift = 0)
      : real_(real), begin_(real.now()), offset_(monotonic_offset), drift_(drift) {}

  time_point now() const override { return shown_at(real_.now()); }
  wall_time wall_now() const override {
    return real_.wall_now() + std::chrono::duration_cast<wall_time::duration>(wall_offset);
  }
  task<void> sleep_until(time_point deadline) override {
    return real_.sleep_until(deadline == time_point::max() ? deadline : real_time(deadline));
  }

  /// The time of day may jump; nothing may depend on it.
  duration wall_offset{};

 private:
  static constexpr std::int64_t million = 1'000'000;

  // The first real time at which this clock shows `shown`.
  time_point real_time(time_point shown) const {
    const duration passed = shown - begin_ - offset_;
    if (drift_ == 0 || passed <= duration::zero()) return begin_ + passed;
    time_point real =
        begin_ +
        duration(static_cast<duration::rep>(static_cast<long double>(passed.count()) * million /
                                            static_cast<long double>(million + drift_)));
    while (shown_at(real) < shown) real += std::chrono::microseconds(1);
    return real;
  }
  time_point shown_at(time_point real) const {
    const duration passed = real - begin_;
    return begin_ + offset_ + passed + passed / million * drift_;
  }

  manual_time& real_;
  time_point begin_;
  duration offset_;
  std::int64_t drift_;
};

/// A random clock: up to one percent too fast or too slow, which is worse than any real clock.
inline std::shared_ptr<host_clock> random_clock(manual_time& real,
                                                elastic::detail::random_source& random) {
  const std::chrono::hours offset(random.below(5000));
  const std::int64_t drift = static_cast<std::int64_t>(random.below(20'001)) - 10'000;
  return std::make_shared<host_clock>(real, offset, drift);
}

}  // namespace elastic::test
