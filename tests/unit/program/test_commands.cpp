// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/commands/lost_agent.hpp>
#include <program/commands/roles_command.hpp>
#include <program/commands/send_command.hpp>
#include <program/commands/status_command.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/run_program.hpp>
#include <support/scripted_server.hpp>

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace command_tests {

using strings = std::vector<std::string>;

TEST_CASE("roles command: it shows the file of a job, by its log directory or its own name",
          "[program][roles]") {
  const elastic::test::temporary_directory folder;
  std::filesystem::create_directories(folder / "grpo_1");
  std::filesystem::create_directories(folder / "other");
  const std::string file = folder / "grpo_1/roles.json";
  const std::string text =
      R"({"revision": 4, "roles": {"trainer": {"state": "running", "ready": true, "epoch": 1, )"
      R"("workers": [{"rank": 0, "local_rank": 0, "node": "node0", "address": "10.0.0.1", )"
      R"("ports": {"http": 8001}}]}, "eval": {"state": "waiting", "ready": false, )"
      R"("workers": []}}})"
      "\n";
  std::ofstream(file) << text;
  const std::string shown =
      "trainer  running, ready, round 1, 1 worker\n"
      "         rank 0 on node0 (10.0.0.1), http 8001\n"
      "eval     waiting\n";
  CHECK(elasticrun::shown_roles({folder.path()}, {}) == shown);
  CHECK(elasticrun::shown_roles({folder / "grpo_1"}, {}) == shown);
  CHECK(elasticrun::shown_roles({file}, {}) == shown);
  CHECK(elasticrun::shown_roles({}, {{"ELASTIC_ROLES", file}}) == shown);
  CHECK(elasticrun::shown_roles({"--json", file}, {}) == text);
}

TEST_CASE("roles command: a job whose agent is gone was last seen when it recorded something",
          "[program][roles]") {
  using elastic::test::contains_text;
  const elastic::test::temporary_directory folder;
  using std::chrono::microseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t now_us = std::chrono::duration_cast<microseconds>(now).count();
  const auto write = [&](const std::string& state, pid_t pid, const std::string& node,
                         std::int64_t time_us, const std::string& host = {}) {
    std::ofstream(folder / "roles.json")
        << R"({"revision": 1, "roles": {"trainer": {"state": ")" << state
        << R"(", "ready": false, "workers": []}}})" << "\n";
    elastic::journal_record record;
    record.sequence = 1;
    record.epoch = 5;
    record.node = node;
    record.time_us = time_us;
    record.event.kind = elastic::job_event::type::agent_started;
    record.event.pid = pid;
    record.event.host = host;
    std::ofstream(folder / "journal.jsonl") << to_json_line(record);
    return elasticrun::shown_roles({folder.path()}, {});
  };
  const auto show = [&](const std::string& state, pid_t pid, const std::string& node) {
    return write(state, pid, node, now_us);
  };
  const pid_t nobody = std::numeric_limits<pid_t>::max();
  const std::string gone = "trainer  running\nThe agent (pid {}) is gone, and was last seen at {}";
  CHECK(write("running", nobody, elastic::host_name(), 1'767'225'600'000'000) ==
        fmt::format(fmt::runtime(gone), nobody,
                    "2026-01-01 00:00:00 UTC: the roles were as above then.\n"));
  // A process that has the number of another one, which was there long ago.
  CHECK_THAT(write("running", ::getpid(), elastic::host_name(), 1'000'000),
             contains_text("is gone, and was last seen at 1970-01-01 00:00:01 UTC"));
  CHECK(show("running", ::getpid(), elastic::host_name()) == "trainer  running\n");
  CHECK(show("running", nobody, "another-host") == "trainer  running\n");
  CHECK(show("succeeded", nobody, elastic::host_name()) == "trainer  succeeded\n");
  // A node may have another name than its host, even that of another host.
  CHECK_THAT(write("running", nobody, "node0", now_us, elastic::host_name()),
             contains_text("is gone, and was last seen at"));
  CHECK(write("running", nobody, elastic::host_name(), now_us, "another-host") ==
        "trainer  running\n");
}

TEST_CASE("roles command: an agent whose process is not seen runs while its journal is written",
          "[program][roles]") {
  const elastic::test::temporary_directory folder;
  std::ofstream(folder / "roles.json")
      << R"({"revision": 1, "roles": {"trainer": {"state": "running", "ready": false, )"
      << R"("workers": []}}})" << "\n";
  elastic::journal_record record;
  record.sequence = 1;
  record.epoch = 5;
  record.node = elastic::host_name();
  record.event.kind = elastic::job_event::type::agent_started;
  // As the number of a process in another pid namespace.
  record.event.pid = std::numeric_limits<pid_t>::max();
  std::ofstream journal(folder / "journal.jsonl");
  journal << to_json_line(record) << "\n" << std::flush;
  CHECK(elasticrun::shown_roles({folder.path()}, {}) == "trainer  running\n");
  journal.close();
  CHECK_THAT(elasticrun::shown_roles({folder.path()}, {}),
             elastic::test::contains_text("is gone, and was last seen at"));
}

TEST_CASE("lost agent: it is certain if its journal or the whole host says so", "[program]") {
  using loss = std::optional<bool>;
  const loss runs;
  struct row {
    bool is_running;
    std::optional<bool> is_writing;
    bool are_all_visible;
    loss wanted;
  };
  const row rows[] = {
      {true, {}, true, runs},       {true, {}, false, runs},     {true, false, false, runs},
      {false, true, true, runs},    {false, true, false, runs},  {false, false, true, true},
      {false, false, false, true},  {false, {}, true, true},     {false, {}, false, false},
  };
  for (const row& each : rows) {
    CAPTURE(each.is_running, each.is_writing, each.are_all_visible);
    const elasticrun::agent_traces seen{each.is_running, each.is_writing, each.are_all_visible};
    CHECK(elasticrun::loss_of(seen) == each.wanted);
  }
  elasticrun::lost_agent lost;
  lost.pid = 12;
  lost.is_certain = false;
  CHECK(lost.sentence("so it was.") ==
        "Whether the agent (pid 12) still runs cannot be seen from this pid namespace; it was last "
        "seen at 1970-01-01 00:00:00 UTC: so it was.\n");
}

TEST_CASE("roles command: what cannot be shown is refused by one sentence", "[program][roles]") {
  using elastic::test::contains_text;
  const elastic::test::temporary_directory folder;
  const auto show = [](const strings& arguments) { elasticrun::shown_roles(arguments, {}); };
  CHECK_THROWS_WITH(show({}), "roles: which job? Name its log directory");
  CHECK_THROWS_WITH(show({"a", "b"}), contains_text("'b' cannot be used"));
  CHECK_THROWS_WITH(show({"--watch"}), contains_text("'--watch' cannot be used"));
  CHECK_THROWS_WITH(show({folder.path()}), contains_text("there is no roles.json in"));
  CHECK_THROWS_WITH(show({folder / "none"}), contains_text("cannot be read: No such file"));
  std::ofstream(folder / "roles.json") << "nonsense";
  CHECK_THROWS_WITH(show({folder.path()}), contains_text("is not a JSON object"));
  const std::string large = folder / "large.json";
  std::ofstream(large).close();
  std::filesystem::resize_file(large, 2 * elastic::limits::roles_file_bytes);
  CHECK_THROWS_WITH(show({large}),
                    fmt::format("roles: '{}' is longer than {} bytes; up to that many are read",
                                large, elastic::limits::roles_file_bytes));
  // Nobody writes to this pipe.
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(show({pipe}), contains_text("pipe' is not a file"));
}

TEST_CASE("command call: which job, and why", "[program]") {
  using kind = elastic::job_command::kind;
  const auto text_of_call = [](kind command_kind, const strings& arguments) {
    const auto result = elasticrun::parse_command_call(command_kind, arguments);
    if (const auto* exit = std::get_if<elastic::early_exit>(&result)) return exit->text;
    const auto& call = std::get<elasticrun::command_call>(result);
    return call.socket + "|" + call.command.reason + "|" +
           std::to_string(call.command.within / std::chrono::milliseconds(1));
  };
  CHECK(text_of_call(kind::drain, {"unix:/run/a"}) == "/run/a||60000");
  CHECK(text_of_call(kind::drain, {"unix:a", "GPU 3", "is hot"}) == "a|GPU 3 is hot|60000");
  CHECK(text_of_call(kind::checkpoint, {"--within", "0.5", "unix:a", "now"}) == "a|now|500");
  const std::string question =
      ": which job? Name the Unix socket that --status was given, as unix:PATH\n";
  CHECK(text_of_call(kind::drain, {}) == "elasticrun: error: drain" + question);
  CHECK(text_of_call(kind::drain, {"9400", "unix:a"}) == "elasticrun: error: drain" + question);
  CHECK(text_of_call(kind::drain, {"--within", "1", "unix:a"}) ==
        "elasticrun: error: drain" + question);
  CHECK(text_of_call(kind::checkpoint, {"--within", "1"}) ==
        "elasticrun: error: checkpoint" + question);
  for (const char* time : {"0", "-1", "nan", "inf", "3601", "1s", ""}) {
    CAPTURE(time);
    CHECK(text_of_call(kind::checkpoint, {"--within", time, "unix:a"}) ==
          std::string("elasticrun: error: --within '") + time +
              "': a time above 0 s and up to 3600 s is needed\n");
  }
  CHECK(text_of_call(kind::drain, {"unix:a", std::string(401, 'x')}) ==
        "elasticrun: error: drain: the reason has over 400 bytes\n");
}

TEST_CASE("status command: no log directory tells whether workers run", "[program]") {
  const elastic::test::temporary_directory folder;
  for (const std::string& place : {std::string("9400"), std::string("host:9400"),
                                   std::string("http://host:9400/"), std::string("unix:/s")}) {
    CAPTURE(place);
    const auto result = elasticrun::parse_status_command({"--ready", place}, {});
    CHECK(std::holds_alternative<elasticrun::status_query>(result));
  }
  CHECK(std::holds_alternative<elasticrun::status_query>(
      elasticrun::parse_status_command({folder.path()}, {})));
  for (const auto& result :
       {elasticrun::parse_status_command({"--ready", folder.path()}, {}),
        elasticrun::parse_status_command({"--ready"}, {{"PET_STATUS", folder.path()}})}) {
    REQUIRE(std::holds_alternative<elastic::early_exit>(result));
    const auto& exit = std::get<elastic::early_exit>(result);
    CHECK(exit.code == 2);
    CHECK_THAT(exit.text, elastic::test::contains_text("would be a log directory"));
  }
}

/// "0: what it showed", or what was wrong.
elastic::task<std::string> outcome_of(elasticrun::status_query query) {
  std::string shown;
  std::function<void(std::string_view)> out = [&](std::string_view text) { shown += text; };
  elastic::task<int> running = elasticrun::run_status_command(std::move(query), std::move(out));
  try {
    const int code = co_await std::move(running);
    co_return fmt::format("{}: {}", code, shown);
  } catch (const elastic::error& failure) {
    co_return failure.what();
  }
}

CO_TEST("status command: another web server is not the server of a job", "[program]") {
  const std::string begin = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n";
  const std::string page = begin + "Content-Type: text/html\r\n\r\nhi\n";
  const std::string bare = begin + "\r\nhi\n";
  const std::string text = begin + "Content-Type: text/plain; charset=utf-8\r\n\r\nok\n";
  elastic::test::scripted_server server({{page}, {bare}, {page}, {text}, {text}});
  const std::string refusal = "status: this is not the server of a job: it sends ";
  elasticrun::status_query query;
  query.tcp.host = "127.0.0.1";
  query.tcp.port = server.port();
  query.asks_ready = true;
  const std::string ready_by_page = co_await outcome_of(query);
  CHECK(ready_by_page == refusal + "'text/html' instead of text/plain");
  query.asks_ready = false;
  const std::string shown_by_bare = co_await outcome_of(query);
  CHECK(shown_by_bare == refusal + "no content type instead of text/plain");
  query.as_json = true;
  const std::string json_by_page = co_await outcome_of(query);
  CHECK(json_by_page == refusal + "'text/html' instead of application/json");
  query.as_json = false;
  const std::string shown_by_job = co_await outcome_of(query);
  CHECK(shown_by_job == "0: ok\n");
  query.asks_ready = true;
  const std::string ready_by_job = co_await outcome_of(query);
  CHECK(ready_by_job == "0: ");
}

}  // namespace command_tests
