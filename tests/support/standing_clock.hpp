// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

namespace elastic::test {

/// A clock that stands still, for code that must not wait for time: a sleep by it never ends, but
/// can be cancelled.
class standing_clock final : public time_source {
 public:
  time_point now() const override { return {}; }
  wall_time wall_now() const override { return {}; }
  task<void> sleep_until(time_point) override { return real_.sleep_until(time_point::max()); }

 private:
  system_time real_;
};

}  // namespace elastic::test
