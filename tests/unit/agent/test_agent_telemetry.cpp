// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/run/agent_telemetry.hpp>

#include <elastic/net/host_name.hpp>
#include <elastic/telemetry/console_event_handler.hpp>
#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

namespace agent_telemetry_tests {

using namespace std::chrono_literals;
using elastic::exit_status;
using elastic::task;
using elastic::worker_state;
using elastic::test::agent_stage;
using elastic::test::event_recorder;
using elastic::test::fake_process;
using lines = std::vector<std::string>;

/// What torchrun wrote, 1.13.1 by default: the events or the metrics of one run with two workers.
lines captured_lines(const char* run, const std::string& file = "events_and_reports_113.json") {
  std::ifstream in(ELASTIC_SOURCE_DIR "/tests/vectors/" + file);
  return nlohmann::json::parse(in).at("data").at(run).get<lines>();
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto position = text.find(from); position != text.npos;
       position = text.find(from, position + to.size())) {
    text.replace(position, from.size(), to);
  }
}

/// One captured run, acted again.
struct play {
  play(elastic::test::manual_time& time, lines events_of_run)
      : stage(time), expected(std::move(events_of_run)) {
    const auto first_event = nlohmann::json::parse(expected.front()).at("metadata");
    const auto last_event = nlohmann::json::parse(expected.back()).at("metadata");
    run_time = std::chrono::seconds(last_event.at("total_run_time").get<int>());
    stage.workers.program = "/usr/bin/python3";
    stage.workers.role = first_event.at("role").get<std::string>();
    stage.rendezvous->job = first_event.at("run_id").get<std::string>();
    stage.events = events;
  }

  /// Compares what was recorded with what torchrun 1.13 wrote, but for pids and the host's name.
  void check() {
    adapt_expected();
    lines recorded_lines;
    // Keys that torchrun has had since.
    const std::regex later_keys(
        R"re(, "duration_ms": null|, \\"exit_code\\": \[[^\]]*\], \\"worker_pid\\": \[[^\]]*\])re"
        R"re(|, \\"errorTraits\\": \{[^}]*\})re");
    for (const auto& event : events->ends()) {
      recorded_lines.push_back(std::regex_replace(elastic::to_json_line(event), later_keys, ""));
    }
    CHECK(recorded_lines == expected);
  }

  /// The same with what torchrun 2.13 wrote, but for the time that each phase took.
  void check_213() {
    adapt_expected();
    lines recorded_lines;
    const std::regex duration_field(R"re("duration_ms": [0-9.]+)re");
    for (std::string& line : expected) line = std::regex_replace(line, duration_field, "took");
    for (const auto& event : events->events) {
      recorded_lines.push_back(
          std::regex_replace(elastic::to_json_line(event), duration_field, "took"));
    }
    CHECK(recorded_lines == expected);
  }

  void adapt_expected() {
    for (std::string& line : expected) {
      const auto worker = nlohmann::json::parse(line).at("metadata");
      if (worker.at("worker_id").is_string()) {
        const std::size_t start_count = stage.launcher->started.size();
        const auto rank = static_cast<std::size_t>(worker.at("global_rank").get<int>());
        replace_all(line, worker.at("worker_id").get<std::string>(),
                    std::to_string(stage.worker(start_count - 2 + rank).pid));
      }
      replace_all(line, "\"hostname\": \"localhost\"",
                  "\"hostname\": \"" + elastic::host_name() + "\"");
    }
  }

  agent_stage stage;
  std::shared_ptr<event_recorder> events = std::make_shared<event_recorder>();
  lines expected;
  std::chrono::seconds run_time{0};
};

// ---- events ------------------------------------------------------------------------------------

TIME_TEST("agent telemetry: a worker that exits, as torchrun tells it", "[agent]") {
  play replay(time, captured_lines("worker_exit"));
  replay.stage.start();
  co_await replay.stage.pass(replay.run_time);
  replay.stage.worker(1).exit(7);
  co_await replay.stage.end();
  replay.check();
  // Since 2.13.
  CHECK(replay.events->ends().at(1).raw_error ==
        R"({"message": "<NONE>", "errorTraits": {"category": "system_terminated_error", )"
        R"("retryability": "False"}})");
}

TIME_TEST("agent telemetry: a worker that is killed, as torchrun tells it", "[agent]") {
  play replay(time, captured_lines("worker_kill"));
  replay.stage.start();
  co_await replay.stage.pass(replay.run_time);
  replay.stage.worker(1).end(exit_status::signalled(SIGKILL));
  co_await replay.stage.end();
  replay.check();
}

TIME_TEST("agent telemetry: success after a restart, as torchrun tells it", "[agent]") {
  play replay(time, captured_lines("worker_success"));
  replay.stage.workers.max_restarts = 2;
  replay.stage.start();
  co_await replay.stage.quiet();
  replay.stage.worker(0).exit(1);
  co_await replay.stage.pass(replay.run_time);
  replay.stage.worker(2).exit(0);
  replay.stage.worker(3).exit(0);
  co_await replay.stage.end();
  replay.check();
}

TIME_TEST("agent telemetry: a worker that left an error file, as torchrun tells it", "[agent]") {
  play replay(time, captured_lines("worker_raise"));
  replay.stage.workers.log_dir = "";
  const auto raise_event = nlohmann::json::parse(replay.expected.at(1)).at("metadata");
  const std::string error_json = raise_event.at("raw_error").get<std::string>();
  replay.stage.start();
  co_await replay.stage.pass(replay.run_time);
  std::ofstream(replay.stage.worker(1).variable("TORCHELASTIC_ERROR_FILE")) << error_json;
  replay.stage.worker(1).exit(1);
  co_await replay.stage.end();
  replay.check();
  const std::filesystem::path root = replay.stage.result().log_directory;
  CHECK(std::filesystem::exists(root / "attempt_0" / "1" / "error.json"));
  std::filesystem::remove_all(root.parent_path());
}

TIME_TEST("agent telemetry: every event of a run, as torchrun 2.13 tells it", "[agent]") {
  play replay(time, captured_lines("worker_success", "events_213.json"));
  replay.stage.start();
  co_await replay.stage.pass(replay.run_time);
  replay.stage.worker(0).exit(0);
  replay.stage.worker(1).exit(0);
  co_await replay.stage.end();
  replay.check_213();
}

TIME_TEST("agent telemetry: after a failure the phases tell the round before and the restart",
          "[agent]") {
  agent_stage stage(time);
  auto events = std::make_shared<event_recorder>();
  stage.events = events;
  stage.workers.max_restarts = 1;
  stage.launcher->on_start = [](fake_process& process) { process.exit(process.index < 2 ? 1 : 0); };
  stage.start();
  co_await stage.end();
  lines phases;
  for (const auto& event : events->events) {
    phases.push_back(event.state + (event.group_rank ? " in a round, " : ", ") +
                     std::to_string(event.agent_restarts));
    CHECK(event.group_rank.has_value() == event.group_world_size.has_value());
  }
  const lines expected{
      "RENDEZVOUS, 0",           "ASSIGN_WORKER_RANKS, 0",   "START in a round, 0",
      "START in a round, 0",     "RENDEZVOUS in a round, 1", "ASSIGN_WORKER_RANKS in a round, 1",
      "START in a round, 1",     "START in a round, 1",      "SUCCEEDED in a round, 1",
      "SUCCEEDED in a round, 1", "SUCCEEDED in a round, 1"};
  CHECK(phases == expected);
}

TIME_TEST("agent telemetry: an agent that is stopped has failed, its workers were terminated",
          "[agent]") {
  agent_stage stage(time);
  auto events = std::make_shared<event_recorder>();
  stage.events = events;
  stage.start();
  co_await stage.quiet();
  elastic::stop_request request;
  request.reason = "SIGINT received";
  stage.agent().stop(request);
  co_await stage.end();
  const auto ends = events->ends();
  REQUIRE(ends.size() == 3);
  CHECK(ends[0].name == "torchelastic.worker.status.TERMINATED");
  CHECK(ends[0].source == elastic::event::origin::worker);
  CHECK_FALSE(ends[0].raw_error);
  CHECK(ends[2].name == "torchelastic.worker.status.FAILED");
  CHECK(ends[2].source == elastic::event::origin::agent);
  CHECK(ends[2].raw_error == "SIGINT received");
}

TIME_TEST("agent telemetry: an agent that breaks down has failed and says why", "[agent]") {
  agent_stage stage(time);
  auto events = std::make_shared<event_recorder>();
  stage.events = events;
  stage.rendezvous->on_round = [](int) {
    throw elastic::error(elastic::errc::rendezvous_timeout, "nobody came");
  };
  stage.start();
  co_await stage.end();
  REQUIRE(events->events.size() == 2);
  CHECK(events->events[0].state == "RENDEZVOUS");
  const auto ends = events->ends();
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].state == "FAILED");
  CHECK(ends[0].raw_error == "nobody came");
  CHECK_FALSE(ends[0].group_rank);
  CHECK_FALSE(ends[0].worker);
}

// ---- metrics -----------------------------------------------------------------------------------

/// Without the durations, which differ from run to run.
lines without_durations(lines metric_lines) {
  for (std::string& line : metric_lines) {
    const auto position = line.find(".duration.ms=");
    if (position != line.npos) line.resize(position + 12);
  }
  return metric_lines;
}

TIME_TEST("agent telemetry: the metrics of a failed run, in torchrun's order", "[agent]") {
  lines expected;
  for (std::string line : captured_lines("metrics_lines")) {
    line = line.substr(std::string("METRIC torchelastic ").size());
    line[line.rfind(' ')] = '=';
    expected.push_back(line);
  }
  const auto look_count = std::count(expected.begin(), expected.end(), "workers.default.healthy=1");
  REQUIRE(look_count > 0);

  agent_stage stage(time);
  auto metrics = std::make_shared<event_recorder>();
  stage.metrics = metrics;
  stage.workers.monitor_interval = 500ms;
  stage.start();
  co_await stage.pass(look_count * 500ms + 100ms);
  stage.worker(1).exit(7);
  co_await stage.end();
  CHECK(without_durations(metrics->metrics) == without_durations(expected));
}

TIME_TEST("agent telemetry: the longest interval between looks never ends", "[agent]") {
  agent_stage stage(time);
  auto metrics = std::make_shared<event_recorder>();
  stage.metrics = metrics;
  stage.workers.monitor_interval = elastic::duration::max();
  stage.start();
  co_await stage.pass(1h);
  CHECK(metrics->count("workers.default.healthy=1") == 0);
  stage.worker(1).exit(7);
  co_await stage.end();
  CHECK(metrics->count("workers.default.failed=1") == 1);
}

TIME_TEST("agent telemetry: workers that end at once are looked at once", "[agent]") {
  agent_stage stage(time);
  auto metrics = std::make_shared<event_recorder>();
  stage.metrics = metrics;
  stage.launcher->on_start = [](fake_process& process) { process.exit(0); };
  stage.start();
  co_await stage.end();
  CHECK(metrics->count("workers.default.succeeded=1") == 1);
}

TIME_TEST("agent telemetry: how long each step took is measured", "[agent]") {
  agent_stage stage(time);
  auto metrics = std::make_shared<event_recorder>();
  stage.metrics = metrics;
  stage.launcher->on_start = [&time](fake_process& process) {
    process.on_signal = fake_process::exit_after(time, 1500ms);
  };
  stage.start();
  co_await stage.pass(2s);
  stage.worker(1).exit(7);
  co_await stage.end();
  CHECK(metrics->count("LocalElasticAgent._stop_workers.duration.ms=1500") == 1);
  CHECK(metrics->count("SimpleElasticAgent.run.duration.ms=3500") == 1);
  CHECK(metrics->count("SimpleElasticAgent._rendezvous.duration.ms=0") == 1);
}

/// The counters at the end of a run whose attempts end with these exit codes.
task<lines> final_counters(elastic::test::manual_time& time, int max_restarts,
                           std::vector<int> attempts) {
  agent_stage stage(time);
  auto metrics = std::make_shared<event_recorder>();
  stage.metrics = metrics;
  stage.workers.nproc_per_node = 1;
  stage.workers.max_restarts = max_restarts;
  stage.launcher->on_start = [&attempts](fake_process& process) {
    process.exit(attempts.at(process.index));
  };
  stage.start();
  co_await stage.end();
  lines last_lines(metrics->metrics.end() - 8, metrics->metrics.end() - 2);
  co_return last_lines;
}

lines counters(int flakiness, int success_with, int success_no, int failed_with, int failed_no) {
  const auto line = [](const char* name, int value) {
    return "workers.default." + std::string(name) + "=" + std::to_string(value);
  };
  return {line("flakiness", flakiness),
          line("run_total", 1),
          line("run_success_with_retries", success_with),
          line("run_success_no_retries", success_no),
          line("run_failed_with_retries", failed_with),
          line("run_failed_no_retries", failed_no)};
}

TIME_TEST("agent telemetry: the counters at the end", "[agent]") {
  const std::vector<int> good{0};
  const std::vector<int> bad{1};
  const std::vector<int> bad_good{1, 0};
  const std::vector<int> bad_bad_good{1, 1, 0};
  const std::vector<int> bad_bad{1, 1};
  CHECK(co_await final_counters(time, 0, good) == counters(0, 0, 1, 0, 0));
  CHECK(co_await final_counters(time, 3, good) == counters(0, 0, 1, 0, 0));
  CHECK(co_await final_counters(time, 2, bad_good) == counters(33, 1, 0, 0, 0));
  CHECK(co_await final_counters(time, 2, bad_bad_good) == counters(66, 1, 0, 0, 0));
  CHECK(co_await final_counters(time, 0, bad) == counters(100, 0, 0, 0, 1));
  CHECK(co_await final_counters(time, 1, bad_bad) == counters(100, 0, 0, 1, 0));
}

TIME_TEST("agent telemetry: a restart is measured as a whole", "[agent]") {
  agent_stage stage(time);
  auto metrics = std::make_shared<event_recorder>();
  stage.metrics = metrics;
  stage.workers.max_restarts = 1;
  stage.launcher->on_start = [](fake_process& process) { process.exit(process.index < 2 ? 1 : 0); };
  stage.start();
  co_await stage.end();
  lines names;
  for (const std::string& line : metrics->metrics) {
    if (line.find("ElasticAgent") == line.npos || line.find(".duration.ms") != line.npos) continue;
    names.push_back(line.substr(line.find('.') + 1));
  }
  const lines expected{"_assign_worker_ranks.success=1",
                       "_rendezvous.success=1",
                       "_start_workers.success=1",
                       "_initialize_workers.success=1",
                       "_monitor_workers.success=1",
                       "_stop_workers.success=1",
                       "_assign_worker_ranks.success=1",
                       "_rendezvous.success=1",
                       "_start_workers.success=1",
                       "_initialize_workers.success=1",
                       "_restart_workers.success=1",
                       "_monitor_workers.success=1",
                       "run.success=1"};
  CHECK(names == expected);
  CHECK(metrics->count("workers.default.remaining_restarts=1") == 1);
  CHECK(metrics->count("workers.default.remaining_restarts=0") == 1);
  CHECK(metrics->count("workers.default.failed=1") == 1);
  CHECK(metrics->count("workers.default.succeeded=1") == 1);
}

TIME_TEST("agent telemetry: a step that fails is a failure, and the counters are not given",
          "[agent]") {
  agent_stage stage(time);
  auto metrics = std::make_shared<event_recorder>();
  stage.metrics = metrics;
  stage.launcher->on_start = [](fake_process&) {
    throw elastic::error(elastic::errc::start_failed, "too many processes");
  };
  stage.start();
  co_await stage.end();
  CHECK(metrics->count("LocalElasticAgent._start_workers.failure=1") == 1);
  CHECK(metrics->count("SimpleElasticAgent._initialize_workers.failure=1") == 1);
  CHECK(metrics->count("SimpleElasticAgent.run.failure=1") == 1);
  CHECK(metrics->count("SimpleElasticAgent._rendezvous.success=1") == 1);
  CHECK(metrics->count("workers.default.run_total=1") == 0);
}

TIME_TEST("agent telemetry: a run that is stopped is a failure without counters", "[agent]") {
  agent_stage stage(time);
  auto metrics = std::make_shared<event_recorder>();
  stage.metrics = metrics;
  stage.start();
  co_await stage.quiet();
  stage.agent().stop({});
  co_await stage.end();
  CHECK(metrics->count("SimpleElasticAgent.run.failure=1") == 1);
  CHECK(metrics->count("workers.default.run_total=1") == 0);
}

TIME_TEST("agent telemetry: an agent without a metric handler sets no timer", "[agent]") {
  agent_stage stage(time);
  stage.workers.monitor_interval = 1ms;
  stage.start();
  co_await stage.quiet();
  const auto begin = time.now();
  // With a timer the clock would have gone no further than to it.
  co_await stage.pass(24h);
  CHECK(time.now() - begin == 24h);
  CHECK(time.sleepers() == 1);
  stage.agent().stop({});
  co_await stage.end();
}

// ---- handlers that fail ------------------------------------------------------------------------

struct failing_event_handler final : elastic::event_handler {
  void record(const elastic::event&) override { throw std::runtime_error("the disk is full"); }
};
struct failing_metric_handler final : elastic::metric_handler {
  void emit(const elastic::metric_handler::metric&) override {
    throw std::runtime_error("the net is down");
  }
};
struct thrower_of_a_number final : elastic::event_handler {
  void record(const elastic::event&) override { throw 7; }
};

TIME_TEST("agent telemetry: handlers that throw end nothing", "[agent]") {
  agent_stage stage(time);
  stage.events = std::make_shared<failing_event_handler>();
  stage.metrics = std::make_shared<failing_metric_handler>();
  stage.workers.max_restarts = 1;
  stage.launcher->on_start = [](fake_process& process) { process.exit(process.index < 2 ? 1 : 0); };
  stage.start();
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.result().restarts == 1);
  CHECK(stage.log->has("the disk is full", elastic::log_level::warning));
  CHECK(stage.log->has("the net is down", elastic::log_level::warning));
  CHECK(stage.is_clean());
}

TIME_TEST("agent telemetry: handlers that throw what is not an exception end nothing", "[agent]") {
  agent_stage stage(time);
  stage.events = std::make_shared<thrower_of_a_number>();
  stage.launcher->on_start = [](fake_process& process) { process.exit(0); };
  stage.start();
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.is_clean());
}

}  // namespace agent_telemetry_tests
