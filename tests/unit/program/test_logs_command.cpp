// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The arguments of `elasticrun logs`.

#include <program/commands/logs_command.hpp>

#include <support/catch.hpp>

#include <map>
#include <string>
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

}  // namespace logs_command_tests
