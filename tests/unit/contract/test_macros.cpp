// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/contract/detail/macros.hpp>
#include <elastic/base/error.hpp>
#include <elastic/contract/environment.hpp>
#include <support/catch.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

TEST_CASE("macros: an argument gets its local rank by the rules of string.Template", "[contract]") {
  // The second column is what Python's Template(text).safe_substitute(local_rank="3") gives.
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", ""},
      {"plain", "plain"},
      {"${local_rank}", "3"},
      {"$local_rank", "3"},
      {"--rank=${local_rank}", "--rank=3"},
      {"${local_rank}y", "3y"},
      {"$local_rank-y", "3-y"},
      {"a${local_rank}b$local_rank", "a3b3"},
      {"$local_rank$local_rank", "33"},
      {"${other}", "${other}"},
      {"$other", "$other"},
      {"$local_ranks", "$local_ranks"},
      {"$local_rank2", "$local_rank2"},
      {"$LOCAL_RANK", "$LOCAL_RANK"},
      {"$$", "$"},
      {"$$z", "$z"},
      {"$$$$", "$$"},
      {"$${local_rank}", "${local_rank}"},
      {"$$$local_rank", "$3"},
      {"$", "$"},
      {"end$", "end$"},
      {"$ x", "$ x"},
      {"$1", "$1"},
      {"$-", "$-"},
      {"${", "${"},
      {"${}", "${}"},
      {"${local_rank", "${local_rank"},
      {"${local_rank $local_rank", "${local_rank 3"},
      {"${ local_rank}", "${ local_rank}"},
      {"${1}", "${1}"},
      {"{local_rank}", "{local_rank}"},
      {"$\xc3\xa9", "$\xc3\xa9"},
  };
  for (const auto& [text, expected] : rows) {
    INFO(text);
    CHECK(elastic::detail::substitute_ports(text, 3, {}) == expected);
  }
}

TEST_CASE("macros: a worker and its job have values", "[contract]") {
  elastic::worker_identity worker;
  worker.rank = 5;
  worker.local_rank = 1;
  worker.world_size = 8;
  worker.local_world_size = 4;
  worker.group_rank = 2;
  worker.role_name = "trainer";
  elastic::job_context job;
  job.master_addr = "10.0.0.1";
  job.master_port = 29500;
  const elastic::detail::macro_values values = elastic::detail::macros_of(worker, job);
  CHECK(elastic::detail::substitute_macros(
            "${rank}/${world_size} ${local_rank}/${local_world_size} ${node_rank} "
            "${master_addr}:${master_port} ${role_name}",
            values) == "5/8 1/4 2 10.0.0.1:29500 trainer");
}

TEST_CASE("macros: some values may be others in another epoch", "[contract]") {
  for (const char* name : {"rank", "world_size", "node_rank", "master_addr", "master_port"}) {
    INFO(name);
    CHECK(elastic::detail::changes_by_epoch("a${" + std::string(name) + "}"));
  }
  for (const char* text : {"", "${local_rank}", "${local_world_size}", "$role_name", "$$rank"}) {
    INFO(text);
    CHECK_FALSE(elastic::detail::changes_by_epoch(text));
  }
}

using names = std::set<std::string>;

TEST_CASE("macros: an argument gets its ports", "[contract]") {
  const std::map<std::string, std::uint16_t, std::less<>> ports = {{"http", 8001}, {"rpc_2", 8002}};
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"--port=${port.http}", "--port=8001"},
      {"${port.http},${port.rpc_2}${local_rank}", "8001,80023"},
      {"$${port.http}", "${port.http}"},
      {"$$${port.http}", "$8001"},
      {"${port.other}", "${port.other}"},
      {"$port.http", "$port.http"},
      {"${port}", "${port}"},
      {"${ports.http}", "${ports.http}"},
      {"${x.http}", "${x.http}"},
  };
  for (const auto& [text, expected] : rows) {
    INFO(text);
    CHECK(elastic::detail::substitute_ports(text, 3, ports) == expected);
  }
}

TEST_CASE("macros: which ports a command has", "[contract]") {
  using elastic::detail::port_names;
  CHECK(port_names({}) == names{});
  CHECK(port_names({"--port", "${port.http}", "${port.b}:${port.http}"}) == names{"b", "http"});
  CHECK(port_names({"$${port.}", "$port.x", "${port", "${portable}", "{port.}"}) == names{});
}

TEST_CASE("macros: a port whose name cannot be is refused", "[contract]") {
  using elastic::detail::port_names;
  for (const std::string text :
       {"${port.}", "${port.1}", "${port.a-b}", "${port.a", "${port.a b}", "x${port.}y"}) {
    INFO(text);
    CHECK_THROWS_WITH(port_names({text}),
                      "'" + text +
                          "': the form of a port is ${port.NAME}, with a NAME of 1 to 32 letters, "
                          "digits and '_' that does not begin with a digit");
  }
  const std::string longest(32, 'a');
  CHECK(port_names({"${port." + longest + "}"}) == names{longest});
  CHECK_THROWS_AS(port_names({"${port." + longest + "a}"}), elastic::error);
  std::vector<std::string> many;
  for (int count = 0; count < 17; ++count) many.push_back("${port.p" + std::to_string(count) + "}");
  CHECK_THROWS_WITH(port_names(many), "17 named ports: at most 16 are allowed");
}

TEST_CASE("macros: a value is not looked at again", "[contract]") {
  const elastic::detail::macro_values values = {{"a", "$b ${b} $$"}, {"b", "never"}};
  CHECK(elastic::detail::substitute_macros("<$a>", values) == "<$b ${b} $$>");
}

}  // namespace
