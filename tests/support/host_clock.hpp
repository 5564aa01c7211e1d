// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <support/manual_time.hpp>

#include <chrono>

namespace elastic::test {

/// The clock of one host: it goes as fast as all others do, but shows what it likes.
class host_clock final : public time_source {
 public:
  host_clock(manual_time& real, duration monotonic_offset)
      : real_(real), offset_(monotonic_offset) {}

  time_point now() const override { return real_.now() + offset_; }
  wall_time wall_now() const override {
    return real_.wall_now() + std::chrono::duration_cast<wall_time::duration>(wall_offset);
  }
  task<void> sleep_until(time_point deadline) override {
    return real_.sleep_until(deadline == time_point::max() ? deadline : deadline - offset_);
  }

  /// The time of day may jump; nothing may depend on it.
  duration wall_offset{};

 private:
  manual_time& real_;
  duration offset_;
};

}  // namespace elastic::test
