// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/torch/detail/torch_state_codec.hpp>

#include <support/catch.hpp>
#include <support/run_program.hpp>
#include <support/torch_states.hpp>

#include <fstream>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

namespace {

using elastic::detail::torch_dialect;
using elastic::detail::torch_state;
using elastic::test::file_text;
using elastic::test::state_of;
using elastic::test::time_of;

constexpr torch_dialect known_dialect = torch_dialect::torch_1_13;

torch_state one_participant() {
  torch_state state;
  state.participants = {{{"elastic.example", 4242, 1}, 0}};
  state.last_heartbeats = {{{"elastic.example", 4242, 1}, time_of("2026-01-02T03:04:05.000006")}};
  state.seen_dialect = known_dialect;
  return state;
}

// By the name of the file that the store's text goes through.
std::map<std::string, torch_state> states() {
  std::map<std::string, torch_state> table;
  table["empty"] = {};
  table["closed"].closed = true;
  table["one"] = one_participant();
  torch_state many = one_participant();
  many.round = 70'000;
  many.complete = true;
  many.deadline = time_of("2031-12-31T23:59:59.999999");
  many.wait_list = {{"waiting.example", 5'000'000'000, 0}, {std::string(300, 'w'), 300, 0}};
  // More nodes than PyTorch writes at once, and than a memo numbers by one byte.
  for (int i = 0; i < 3000; ++i) {
    const elastic::detail::node_id id{"node" + std::to_string(i), i, i % 2};
    many.participants[id] = i;
    many.last_heartbeats[id] = time_of("2026-01-02T03:04:05.000000");
  }
  many.last_heartbeats[{"n\xc3\xa9", 1, 0}] = time_of("1969-12-31T23:59:59.999999");
  table["many"] = many;
  torch_state more = one_participant();
  more.extra["more"] = "K\x01\x8c\x01x\x86";  // (1, "x")
  table["more"] = more;
  table["join_one"] = one_participant();
  // What is left if 1.13 met an empty state of 2.6.
  table["join_spare"] = one_participant();
  table["join_spare"].extra["redundancy_list"] = "\x8f";
  return table;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  REQUIRE(out.flush());
}

TEST_CASE("torch state: PyTorch reads what is written, and what it writes is read",
          "[integration]") {
  const std::string python = elastic::test::torch_python();
  if (python.empty()) return;
  const elastic::test::temporary_directory directory;
  for (const auto& [name, state] : states()) {
    write(directory / (name + ".stored"), elastic::detail::stored_text(state, known_dialect));
  }
  write(directory / "none.stored", "");
  write(directory / "sentinel.stored", std::string(elastic::detail::torch_no_state));
  write(directory / "newer.stored", elastic::detail::stored_text({}, torch_dialect::torch_2_6));

  const auto result = elastic::test::run_program(
      {python, ELASTIC_SOURCE_DIR "/tests/integration/python/torch_rendezvous_state.py",
       directory.path()});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const auto view_of = [&](const std::string& name) {
    return nlohmann::json::parse(file_text(directory / (name + ".json")));
  };
  const auto again = [&](const std::string& name) {
    const auto state = elastic::detail::parse_stored_text(file_text(directory / (name + ".again")));
    REQUIRE(state);
    return *state;
  };

  for (const auto& [name, state] : states()) {
    CAPTURE(name);
    if (name.find("join") == 0) continue;
    torch_state shown = state_of(view_of(name));
    shown.extra = state.extra;
    shown.seen_dialect = state.seen_dialect;
    CHECK(shown == state);
    CHECK(again(name) == state);
  }
  CHECK(view_of("more").at("extra") == nlohmann::json{{"more", {1, "x"}}});
  CHECK(again("none") == torch_state());
  CHECK(again("sentinel") == torch_state());

  // The list that 1.13 does not know is kept by it.
  torch_state newer;
  newer.seen_dialect = torch_dialect::torch_2_6;
  CHECK(again("newer") == newer);

  // Of two nodes that the round needs, ours was there.
  for (const std::string name : {"join_one", "join_spare"}) {
    const torch_state before = states().at(name);
    const torch_state complete = again(name);
    CHECK(complete.complete);
    CHECK(complete.participants ==
          std::map<elastic::detail::node_id, int>{{{"elastic.example", 4242, 1}, 0},
                                          {{"joiner.example", 77, 0}, 1}});
    CHECK(complete.last_heartbeats.size() == 2);
    CHECK(complete.last_heartbeats.at({"elastic.example", 4242, 1}) ==
          before.last_heartbeats.begin()->second);
    CHECK(complete.extra == before.extra);
    CHECK(complete.seen_dialect == known_dialect);
  }
}

}  // namespace
