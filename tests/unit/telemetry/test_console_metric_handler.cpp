// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/telemetry/console_metric_handler.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace {

TEST_CASE("console metrics: a line has time, group, name and value", "[telemetry]") {
  elastic::metric_handler::metric metric;
  metric.name = "workers.trainer.remaining_restarts";
  metric.value = 2;
  metric.time = elastic::wall_time(std::chrono::microseconds(1'795'170'764'012'345));
  CHECK(elastic::to_console_line(metric) ==
        "[1795170764.012345][torchelastic]: workers.trainer.remaining_restarts=2");
  metric.group = "mine";
  metric.value = -1;
  metric.time = elastic::wall_time(std::chrono::seconds(3));
  CHECK(elastic::to_console_line(metric) ==
        "[3.000000][mine]: workers.trainer.remaining_restarts=-1");
}

TEST_CASE("console metrics: a handler gives each value to its sink", "[telemetry]") {
  std::vector<std::string> lines;
  elastic::console_metric_handler handler([&](std::string_view line) { lines.emplace_back(line); });
  elastic::metric_handler::metric metric;
  metric.name = "a";
  handler.emit(metric);
  CHECK(lines == std::vector<std::string>{"[0.000000][torchelastic]: a=0"});
}

}  // namespace
