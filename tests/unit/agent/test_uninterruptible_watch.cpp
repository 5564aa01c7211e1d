// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/workers/uninterruptible_watch.hpp>
#include <elastic/agent/worker_spec.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace uninterruptible_watch_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::time_point;
using elastic::detail::uninterruptible_limit;
using elastic::detail::uninterruptible_watch;

duration limit_of(const char* text) {
  return uninterruptible_limit({{"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT", text}});
}

TEST_CASE("uninterruptible watch: the limit is that of PyTorch's variable", "[agent]") {
  CHECK(uninterruptible_limit({}) == duration::zero());
  for (const char* text : {"", "0", "-1"}) {
    CAPTURE(text);
    CHECK(limit_of(text) == duration::zero());
  }
  CHECK(limit_of("2.5") == 2500ms);
  CHECK(limit_of("1e300") == 1'000'000'000s);
  CHECK(limit_of("inf") == 1'000'000'000s);
}

TEST_CASE("uninterruptible watch: a limit that is not a number is refused, not left out",
          "[agent]") {
  for (const std::string text : {"x", "nan", "soon", "1e999", "5s", "5 s", "0x10", " "}) {
    CAPTURE(text);
    elastic::worker_spec spec;
    spec.program = "/bin/true";
    spec.environment = {{"TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT", text}};
    CHECK_THROWS_WITH(validate(spec), "TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT '" + text +
                                          "': a number of seconds is needed");
  }
}

TEST_CASE("uninterruptible watch: it looks four times within the limit, at least each second",
          "[agent]") {
  CHECK(uninterruptible_watch(1ms).period() == 10ms);
  CHECK(uninterruptible_watch(2s).period() == 500ms);
  CHECK(uninterruptible_watch(1h).period() == 1s);
}

TEST_CASE("uninterruptible watch: a worker is stuck if it sleeps for so long without a break",
          "[agent]") {
  uninterruptible_watch watch(10s);
  const time_point begin{};
  CHECK_FALSE(watch.look(0, 'D', begin));
  CHECK_FALSE(watch.look(1, 'S', begin));
  CHECK_FALSE(watch.look(0, 'D', begin + 9s));
  // Another worker, and one that has run meanwhile, begin anew.
  CHECK_FALSE(watch.look(1, 'D', begin + 9s));
  CHECK_FALSE(watch.look(0, 'R', begin + 9500ms));
  CHECK_FALSE(watch.look(0, 'D', begin + 10s));
  CHECK(watch.look(1, 'D', begin + 19s) == std::optional<duration>(10s));
  CHECK(watch.look(0, 'D', begin + 21s) == std::optional<duration>(11s));
  // One that has gone is not asleep.
  CHECK_FALSE(watch.look(0, '?', begin + 22s));
}

}  // namespace uninterruptible_watch_tests
