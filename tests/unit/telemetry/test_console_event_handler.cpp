// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/telemetry/console_event_handler.hpp>
#include <support/catch.hpp>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

// The event of a line that was recorded from torchrun.
elastic::event event_of_line(const std::string& line) {
  const auto root = nlohmann::json::parse(line);
  const auto& outer = root["metadata"];
  const auto inner = nlohmann::json::parse(outer["metadata"].get<std::string>());
  elastic::event event;
  event.name = root["name"];
  event.source =
      root["source"] == "AGENT" ? elastic::event::origin::agent : elastic::event::origin::worker;
  event.run_id = outer["run_id"];
  event.role = outer["role"];
  event.hostname = outer["hostname"];
  event.rdzv_backend = outer["rdzv_backend"];
  event.state = outer["state"];
  event.total_run_time = outer["total_run_time"];
  event.agent_restarts = outer["agent_restarts"];
  if (outer["group_rank"].is_number()) event.group_rank = outer["group_rank"].get<int>();
  if (inner["group_world_size"].is_number()) {
    event.group_world_size = inner["group_world_size"].get<int>();
  }
  if (outer.contains("duration_ms") && outer["duration_ms"].is_number()) {
    event.duration_ms = outer["duration_ms"].get<double>();
  }
  event.entry_point = inner["entry_point"];
  if (outer["raw_error"].is_string()) event.raw_error = outer["raw_error"].get<std::string>();
  if (event.source == elastic::event::origin::worker) {
    elastic::event::worker_part worker;
    worker.pid = std::stoi(outer["worker_id"].get<std::string>());
    worker.global_rank = outer["global_rank"];
    worker.local_rank = inner["local_rank"][0];
    worker.role_rank = inner["role_rank"][0];
    worker.role_world_size = inner["role_world_size"][0];
    if (inner.contains("exit_code") && inner["exit_code"][0].is_number()) {
      worker.exit_code = inner["exit_code"][0].get<int>();
      CHECK(inner["worker_pid"][0] == worker.pid);
    }
    event.worker = worker;
  }
  return event;
}

nlohmann::json vectors_of(const std::string& file) {
  std::ifstream in(ELASTIC_SOURCE_DIR "/tests/vectors/" + file);
  REQUIRE(in);
  return nlohmann::json::parse(in)["data"];
}

TEST_CASE("console events: each line is byte for byte what torchrun 2.13 writes", "[telemetry]") {
  const auto vectors = vectors_of("events_213.json");
  int lines = 0;
  for (const char* run : {"worker_raise", "worker_success"}) {
    for (const std::string line : vectors[run]) {
      CHECK(elastic::to_json_line(event_of_line(line)) == line);
      ++lines;
    }
  }
  CHECK(lines == 14);
}

TEST_CASE("console events: but for keys of later releases each line is what torchrun 1.13 writes",
          "[telemetry]") {
  const auto vectors = vectors_of("events_and_reports_113.json");
  const std::regex later_keys(
      R"(, "duration_ms": null|, \\"exit_code\\": \[[^\]]*\], \\"worker_pid\\": \[[^\]]*\])");
  int lines = 0;
  for (const char* run : {"worker_raise", "worker_exit", "worker_kill", "worker_success"}) {
    for (const std::string line : vectors[run]) {
      const std::string text = elastic::to_json_line(event_of_line(line));
      CHECK(std::regex_replace(text, later_keys, "") == line);
      ++lines;
    }
  }
  CHECK(lines == 12);
}

TEST_CASE("console events: texts of any bytes stay one line of ASCII JSON", "[telemetry]") {
  elastic::event event;
  event.name = "quote \" backslash \\ newline \n";
  event.run_id = "\xc3\xa9";
  event.entry_point = "a\"b";
  event.raw_error = "bad \xff utf-8 \x7f";
  const std::string line = elastic::to_json_line(event);
  for (const char letter : line) CHECK((letter >= 0x20 && letter < 0x7f));
  const auto root = nlohmann::json::parse(line);
  CHECK(root["name"] == event.name);
  CHECK(root["metadata"]["run_id"] == "\xc3\xa9");
  CHECK(root["metadata"]["raw_error"] == "bad \xef\xbf\xbd utf-8 \x7f");
  CHECK(root["metadata"]["group_rank"].is_null());
  const auto inner = nlohmann::json::parse(root["metadata"]["metadata"].get<std::string>());
  CHECK(inner["entry_point"] == "a\"b");
}

TEST_CASE("console events: a handler gives each event to its sink", "[telemetry]") {
  std::vector<std::string> lines;
  elastic::console_event_handler handler([&](std::string_view line) { lines.emplace_back(line); });
  elastic::event event;
  handler.record(event);
  event.name = "second";
  handler.record(event);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] != lines[1]);
  CHECK(lines[1] == elastic::to_json_line(event));
}

}  // namespace
