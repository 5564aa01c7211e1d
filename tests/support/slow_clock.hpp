// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

namespace elastic::test {

/// A clock that is `factor` times slower than the machine's, for work that must not exceed a time
/// limit of the library on a busy machine.
class slow_clock final : public time_source {
 public:
  explicit slow_clock(int factor) : factor_(factor) {}

  time_point now() const override { return begin_ + (real_.now() - begin_) / factor_; }
  wall_time wall_now() const override { return real_.wall_now(); }
  task<void> sleep_until(time_point deadline) override {
    if (deadline == time_point::max()) return real_.sleep_until(deadline);
    return real_.sleep_until(begin_ + (deadline - begin_) * factor_);
  }

 private:
  system_time real_;
  const time_point begin_ = real_.now();
  const int factor_;
};

}  // namespace elastic::test
