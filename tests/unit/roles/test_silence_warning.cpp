// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What people hear of a role that waits for another one which reports no progress.

#include <elastic/base/task_group.hpp>
#include <elastic/roles/detail/silence_warning.hpp>

#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstddef>
#include <memory>

namespace silence_warning_tests {

using namespace std::chrono_literals;
using elastic::task;
using elastic::test::manual_time;

/// Warns of the role 'trainer', for which 'rollout' waits.
class stage {
 public:
  explicit stage(manual_time& clock) : tasks_(clock.context().get_executor()) {
    const std::shared_ptr<elastic::time_source> time(std::shared_ptr<void>(), &clock);
    tasks_.spawn(elastic::detail::warn_of_silence(
        "trainer", "rollout", [this] { return is_ready; }, time, log->log()));
  }

  std::size_t warnings() const {
    return log->count("not all of its workers have reported progress");
  }
  task<void> stop() { return tasks_.stop(); }

  bool is_ready = false;
  std::shared_ptr<elastic::test::log_recorder> log =
      std::make_shared<elastic::test::log_recorder>();

 private:
  elastic::task_group tasks_;
};

TIME_TEST("roles: a warning says which role waits for one that reports no progress", "[roles]") {
  stage silent(time);
  co_await time.sleep_until(time.now() + 29s);
  CHECK(silent.warnings() == 0);
  co_await time.sleep_until(time.now() + 2s);
  CHECK(silent.warnings() == 1);
  CHECK(silent.log->has("role 'trainer' is not ready: after 30 s"));
  CHECK(silent.log->has("role 'rollout' waits for it"));
  co_await time.sleep_until(time.now() + 28s);
  CHECK(silent.warnings() == 1);
  co_await time.sleep_until(time.now() + 2s);
  CHECK(silent.warnings() == 2);
  co_await silent.stop();
}

TIME_TEST("roles: nobody is warned of a role that is ready in time", "[roles]") {
  stage ready(time);
  co_await time.sleep_until(time.now() + 29s);
  ready.is_ready = true;
  co_await time.sleep_until(time.now() + 1h);
  CHECK(ready.warnings() == 0);
  co_await ready.stop();
}

}  // namespace silence_warning_tests
