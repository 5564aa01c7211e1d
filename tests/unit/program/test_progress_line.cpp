// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/progress/progress_line.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace progress_line_tests {

using namespace std::chrono_literals;
using elastic::time_point;
using elastic::worker_progress;
using elasticrun::progress_line;

constexpr std::size_t full_width = 200;
constexpr time_point start{};

elastic::agent_part::started_workers job() { return {2, 8, 0, 2, 1, 3}; }

worker_progress report_of(int local_rank, std::int64_t step,
                                           std::int64_t total = 0) {
  worker_progress report;
  report.local_rank = local_rank;
  report.step = step;
  report.total = total;
  return report;
}

TEST_CASE("progress line: says the round, the world and the restarts", "[program]") {
  progress_line line;
  line.started(job());
  CHECK_FALSE(line.has_progress());
  CHECK(line.text(full_width) == "round 2 | 8 workers on 2 nodes | restarts 1/3");
  line.started({0, 1, 0, 1, 0, 0});
  CHECK(line.text(full_width) == "round 0 | 1 worker on 1 node");
}

TEST_CASE("progress line: the slowest worker counts", "[program]") {
  progress_line line;
  line.started({0, 2, 0, 1, 0, 0});
  line.progress(report_of(0, 30, 100), start);
  line.progress(report_of(1, 20, 100), start);
  CHECK(line.has_progress());
  CHECK(line.text(full_width) == "round 0 | 2 workers on 1 node | step 20/100 20%");
  line.progress(report_of(1, 40, 100), start);
  CHECK(line.text(full_width) == "round 0 | 2 workers on 1 node | step 30/100 30%");
}

TEST_CASE("progress line: the rate and the time that is left follow from the last reports",
          "[program]") {
  progress_line line;
  line.started({0, 1, 0, 1, 0, 0});
  for (int step = 0; step <= 10; ++step)
    line.progress(report_of(0, step, 100), start + step * 500ms);
  CHECK_THAT(line.text(full_width), Catch::EndsWith("step 10/100 10% | 2/s, 0:00:45 left"));
  // It becomes slower, and after a while that is what counts.
  for (int step = 11; step <= 60; ++step) {
    line.progress(report_of(0, step, 100), start + 5s + (step - 10) * 20s);
  }
  CHECK_THAT(line.text(full_width), Catch::EndsWith("step 60/100 60% | 20 s a step, 0:13:20 left"));
  for (int step = 61; step <= 99; ++step) {
    line.progress(report_of(0, step, 1'000'000), start + step * 1000s);
  }
  CHECK_THAT(line.text(full_width), Catch::EndsWith(" days left"));
}

TEST_CASE("progress line: metrics and words of the worker stand at its end", "[program]") {
  progress_line line;
  line.started({0, 1, 0, 1, 0, 0});
  worker_progress report = report_of(0, 7);
  report.metrics = {{"loss", 0.30714}, {"lr", 1e-5}};
  report.text = "warming up";
  line.progress(report, start);
  CHECK(line.text(full_width) ==
        "round 0 | 1 worker on 1 node | step 7 | loss 0.3071, lr 1e-05 | warming up");
}

TEST_CASE("progress line: what does not fit is left out from the end", "[program]") {
  progress_line line;
  line.started(job());
  line.progress(report_of(0, 5, 10), start);
  const std::string full_text = line.text(full_width);
  for (std::size_t width = 0; width <= full_text.size(); ++width) {
    const std::string text = line.text(width);
    CHECK(text.size() <= width);
    CHECK(full_text.substr(0, text.size()) == text);
  }
  CHECK(line.text(10) == "round 2");
}

TEST_CASE("progress line: the condition of a job that makes no steps replaces its speed",
          "[program]") {
  progress_line line;
  line.started({0, 1, 0, 1, 0, 0});
  line.condition("waiting");
  CHECK(line.text(full_width) == "round 0 | 1 worker on 1 node | waiting");
  line.condition("");
  for (int step = 0; step <= 10; ++step)
    line.progress(report_of(0, step, 100), start + step * 500ms);
  line.condition("stalled");
  CHECK_THAT(line.text(full_width), Catch::EndsWith("step 10/100 10% | stalled"));
  line.condition("");
  CHECK_THAT(line.text(full_width), Catch::EndsWith("step 10/100 10% | 2/s, 0:00:45 left"));
}

TEST_CASE("progress line: workers that start again begin anew", "[program]") {
  progress_line line;
  line.started(job());
  line.progress(report_of(0, 5, 10), start);
  line.started({3, 8, 0, 2, 2, 3});
  CHECK_FALSE(line.has_progress());
  line.progress(report_of(0, 1, 10), start + 9s);
  CHECK_THAT(line.text(full_width), Catch::EndsWith("restarts 2/3 | step 1/10 10%"));
}

}  // namespace progress_line_tests
