// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// `elasticrun logs`: its arguments, and what a log directory has for them.

#include <program/commands/logs_command.hpp>

#include <elastic/telemetry/journal_record.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/error_of.hpp>
#include <support/run_program.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace logs_command_tests {

using elastic::test::contains_text;
using elasticrun::logs_query;
using elasticrun::parse_logs_command;
using range = elastic::detail::output_reading::range;
using words = std::vector<std::string>;

logs_query query_of(const words& arguments, const elastic::environment_map& environment = {}) {
  const auto parsed = parse_logs_command(arguments, environment);
  REQUIRE(std::holds_alternative<logs_query>(parsed));
  return std::get<logs_query>(parsed);
}

TEST_CASE("logs command: each argument sets what it names", "[program]") {
  const logs_query plain = query_of({"unix:/run/job"});
  CHECK(plain.job.socket == "/run/job");
  CHECK(plain.reading == elastic::detail::output_reading());
  CHECK(plain.filter.empty());
  CHECK(query_of({"--ranks", "0-7,12", "9400"}).reading.ranks ==
        std::vector<range>{{0, 7}, {12, 12}});
  CHECK_FALSE(query_of({"--stdout", "9400"}).reading.has_err);
  CHECK_FALSE(query_of({"--stderr", "9400"}).reading.has_out);
  CHECK(query_of({"--lines", "0", "9400"}).reading.lines == 0);
  CHECK(query_of({"--follow", "9400"}).reading.follows);
  CHECK(query_of({"-f", "9400"}).reading.follows);
  CHECK(query_of({"--grep", "--follow", "9400"}).filter == "--follow");
  CHECK(query_of({"--role", "trainer", "9400"}).job.role == "trainer");
  CHECK(query_of({"logs/"}).job.log_directory == "logs/");
  CHECK(query_of({}, {{"PET_STATUS", "9401"}}).job.tcp.port == 9401);
}

TEST_CASE("logs command: what cannot be meant is refused by a line that says why", "[program]") {
  const auto [arguments, why] = GENERATE(table<words, std::string>(
      {{words{}, "which job?"},
       {words{"unix:"}, "unix: needs the path of a socket"},
       {words{"9400", "9401"}, "'9401' cannot be used"},
       {words{"--watch", "9400"}, "'--watch' cannot be used"},
       {words{"9400", "--ranks"}, "'--ranks' cannot be used"},
       {words{"--ranks", "7-0", "9400"}, "such as 0-7,12"},
       {words{"--lines", "many", "9400"}, "from 0 to 10000"},
       {words{"--grep", "", "9400"}, "--grep needs a text"},
       {words{"--stdout", "--stderr", "9400"}, "either --stdout or --stderr"},
       {words{"--role", "a/b", "9400"}, "role"},
       {words{"--token-file", "/no/such/file", "9400"}, "/no/such/file"}}));
  const auto parsed = parse_logs_command(arguments, {});
  REQUIRE(std::holds_alternative<elastic::early_exit>(parsed));
  const auto& exit = std::get<elastic::early_exit>(parsed);
  CHECK(exit.code == 2);
  CHECK_THAT(exit.text, contains_text(why));
}

/// A log directory, as agents leave it.
struct log_directory {
  elastic::test::temporary_directory folder;

  /// Adds a node's run of a role that has ended, each of whose workers has written its number.
  void add(const std::string& run_id, const std::string& role, int base_rank, int workers) const {
    const std::filesystem::path run = folder / ("run_" + std::to_string(base_rank) + role);
    std::filesystem::path root = run;
    if (run_id.ends_with("/" + role)) root /= role;
    for (int slot = 0; slot < workers; ++slot) {
      const auto worker = root / "attempt_0" / std::to_string(slot);
      std::filesystem::create_directories(worker);
      std::ofstream(worker / "stdout.log") << slot << "\n";
    }
    std::ofstream journal(run / "journal.jsonl");
    elastic::journal_record record;
    const auto write = [&] {
      ++record.sequence;
      journal << to_json_line(record) << "\n";
    };
    record.event.kind = elastic::job_event::type::agent_started;
    record.event.run_id = run_id;
    record.event.role = role;
    write();
    record.event = {};
    record.event.kind = elastic::job_event::type::round_joined;
    record.event.base_rank = base_rank;
    write();
    record.event = {};
    record.event.kind = elastic::job_event::type::agent_ended;
    record.event.state = "succeeded";
    write();
  }

  /// The lines that are shown, or why there are none.
  std::string ask(words arguments) const {
    arguments.push_back(folder.path());
    std::string shown;
    elasticrun::logs_outlets out;
    out.lines = [&](std::string_view text) { shown += text; };
    out.notices = out.lines;
    std::string problem;
    const auto asking = [&]() -> elastic::task<void> {
      elastic::task<int> showing = run_logs_command(query_of(arguments), out);
      problem = co_await elastic::test::what_of(std::move(showing));
    };
    elastic::test::run_test(asking());
    return problem.empty() ? shown : problem;
  }
};

TEST_CASE("logs command: ranks that a log directory does not have are refused", "[program]") {
  log_directory logs;
  logs.add("job", "default", 0, 2);
  logs.add("job", "default", 4, 1);
  CHECK(logs.ask({"--ranks", "1"}) == "[rank 1]: 1\n");
  CHECK(logs.ask({"--ranks", "1,7"}) == "[rank 1]: 1\n");
  const std::string none = "logs: none of the ranks of --ranks is in the log directory, which has "
                           "0, 1, 4";
  CHECK(logs.ask({"--ranks", "7"}) == none);
  CHECK(logs.ask({"--ranks", "2-3", "--stderr"}) == none);
  CHECK(logs.ask({"--ranks", "7", "--follow"}) == none);
}

TEST_CASE("logs command: a role that a log directory does not have is refused", "[program]") {
  log_directory plain;
  plain.add("job", "default", 0, 1);
  CHECK(plain.ask({"--role", "default"}) == "[rank 0]: 0\n");
  CHECK(plain.ask({"--role", "foo"}) ==
        "logs: there is no role 'foo', only default");
  log_directory roles;
  roles.add("job/trainer", "trainer", 0, 1);
  roles.add("job/sampler", "sampler", 0, 1);
  CHECK(roles.ask({"--role", "sampler"}) == "[rank 0]: 0\n");
  CHECK(roles.ask({"--role", "foo"}) ==
        "logs: there is no role 'foo', only sampler, trainer");
  CHECK(roles.ask({}) ==
        "logs: the job has the roles sampler, trainer: name one by --role");
}

}  // namespace logs_command_tests
