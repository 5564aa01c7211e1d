// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/limits.hpp>
#include <elastic/rendezvous/native/rendezvous_message.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rendezvous_message_tests {

using namespace std::chrono_literals;
using namespace elastic::rendezvous_messages;
// The system has one of this name.
using elastic::change_kind;
using elastic::errc;
using elastic::job_end;
using elastic::parse_rendezvous_answer;
using elastic::parse_rendezvous_request;
using elastic::rendezvous_answer;
using elastic::rendezvous_change;
using elastic::rendezvous_request;
using elastic::to_text;
using elastic::rendezvous_messages::pause;

hello full_hello() {
  hello greeting;
  greeting.run_id = "a \"job\"";
  greeting.node = {"häuschen", 4711, 2, {1, 0xfedcba9876543210}};
  greeting.settings.min_nodes = 2;
  greeting.settings.max_nodes = 7;
  greeting.settings.last_call_timeout = 1500ms;
  greeting.settings.keep_alive_interval = 250ms;
  greeting.settings.keep_alive_max_attempt = 9;
  greeting.settings.reconnect_grace = 10ms;
  return greeting;
}

TEST_CASE("rendezvous message: what is read is what was written", "[rendezvous]") {
  hello back = full_hello();
  back.hosts = true;
  back.has_witness = true;
  back.most_term = 1'767'225'600'123;
  back.former = former_round{back.most_term, 9, 1, 3, 2, 4, true, "10.0.0.1"};
  back.name = "gpu8";
  back.excluded = {{"gpu7", 1s, "hot"}, {"gpu9", 2s, ""}};
  const std::vector<rendezvous_request> requests = {
      full_hello(),
      back,
      witness{"a \"job\"", full_hello().node},
      join{-1, 600s, {"fe80::1", 65535, true}},
      join{7, 1ms, {"", 0, false}},
      join{7, 1ms, {"", 0, false}, "10.0.0.1 fd00::1"},
      keep_alive{},
      failed{3, "rank 1\nended"},
      finished{0},
      pause{"paused at \"a\"", true},
      resume{},
      leave{},
      leave{600s, "GPU 3 is hot"},
      close_job{job_end::succeeded, ""},
      close_job{job_end::failed, "no"},
      ask_status{},
      report{"{\"a\": \"b\\n\"}"},
  };
  for (const auto& request : requests) {
    const std::string text = to_text(request);
    CAPTURE(text);
    const rendezvous_request heard = parse_rendezvous_request(text);
    CHECK(heard.index() == request.index());
    CHECK(to_text(heard) == text);
  }
  std::vector<rendezvous_answer> answers = {
      welcome{true, full_hello().settings, 7},
      welcome{false, {}},
      refused{true, "late"},
      placed{4, 2, 3, {"10.0.0.1", 29500, true}, 1, 7, 0},
      placed{4, 2, 3, {"", 1, true}, 1, 7, 0, {{"gpu7", 1s, "hot"}}},
      on_hold{"the job pauses"},
      changed{4, rendezvous_change{change_kind::node_waiting, "a", 0}},
      changed{4, rendezvous_change{change_kind::node_lost, "b", 1}},
      changed{4, rendezvous_change{change_kind::worker_failed, "c", 2}},
      all_finished{4},
      closed{job_end::failed, "over"},
      alive{},
      resigned{},
      status{3, true},
      report_wanted{elastic::report_demand::nothing},
      report_wanted{elastic::report_demand::changes},
      report_wanted{elastic::report_demand::progress},
  };
  rendezvous_change pausing{change_kind::node_waiting, "paused at a", 0};
  pausing.is_pause = true;
  answers.push_back(changed{4, pausing});
  pausing.saves_first = true;
  answers.push_back(changed{4, pausing});
  for (const auto& answer : answers) {
    const std::string text = to_text(answer);
    CAPTURE(text);
    const rendezvous_answer heard = parse_rendezvous_answer(text);
    CHECK(heard.index() == answer.index());
    CHECK(to_text(heard) == text);
  }
}

TEST_CASE("rendezvous message: hello says everything that the server goes by", "[rendezvous]") {
  const auto heard = std::get<hello>(parse_rendezvous_request(to_text(full_hello())));
  CHECK(heard.run_id == "a \"job\"");
  CHECK(heard.node == full_hello().node);
  CHECK(heard.settings.max_nodes == 7);
  CHECK(heard.settings.last_call_timeout == 1500ms);
  CHECK(heard.settings.silence() == 9 * 250ms);
}

TEST_CASE("rendezvous message: who does not know of terms says none, and hears none",
          "[rendezvous]") {
  const auto bare = std::get<hello>(parse_rendezvous_request(
      R"({"kind": "hello", "version": 3, "run_id": "j", "host": "a", "pid": 1, "local_id": 0,
          "number": "00000000000000000000000000000001", "min_nodes": 1, "max_nodes": 1,
          "last_call_ms": 1, "keep_alive_ms": 5000, "keep_alive_attempts": 3, "grace_ms": 300})"));
  CHECK_FALSE(bare.hosts);
  CHECK(bare.most_term == 0);
  CHECK_FALSE(bare.former);
  const auto greeted = std::get<welcome>(parse_rendezvous_answer(
      R"({"kind": "welcome", "resumed": true, "keep_alive_ms": 5000, "keep_alive_attempts": 3,
          "grace_ms": 300})"));
  CHECK(greeted.term == 0);
  const auto place = std::get<placed>(parse_rendezvous_answer(
      R"({"kind": "placed", "round": 0, "rank": 0, "world": 1, "restarts": 0, "address": "a",
          "port": 1, "served": true})"));
  CHECK(place.term == 0);
  CHECK(place.host_rank == -1);
}

TEST_CASE("rendezvous message: a former round is told as a whole, within its bounds",
          "[rendezvous]") {
  hello back = full_hello();
  back.former = former_round{5, 9, 1, 3, 2, 4, true, "10.0.0.1"};
  const std::string text = to_text(back);
  const auto heard = std::get<hello>(parse_rendezvous_request(text)).former;
  REQUIRE(heard);
  CHECK(heard->term == 5);
  CHECK(heard->round == 9);
  CHECK(heard->rank == 1);
  CHECK(heard->world == 3);
  CHECK(heard->host_rank == 2);
  CHECK(heard->restarts == 4);
  CHECK(heard->until_end);
  CHECK(heard->server == "10.0.0.1");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"\"last_round\": 9", "\"last_round\": -1"},
      {"\"last_term\": 5", "\"last_term\": 9223372036854775807"},
      {"\"world\": 3", "\"world\": 0"},
      {"\"rank\": 1", "\"rank\": 3"},
      {"\"host_rank\": 2", "\"host_rank\": 3"},
      {"\"restarts\": 4", "\"restarts\": -1"},
      {"\"until_end\": true", "\"until_end\": 1"},
      {"\"server\"", "\"nothing\""},
  };
  for (const auto& [part, instead] : wrong) {
    CAPTURE(instead);
    std::string changed = text;
    REQUIRE(changed.find(part) != std::string::npos);
    changed.replace(changed.find(part), part.size(), instead);
    CHECK_THROWS_AS(parse_rendezvous_request(changed), elastic::error);
  }
}

TEST_CASE("rendezvous message: hello says the numbers of nodes and the delay, if there are any",
          "[rendezvous]") {
  hello greeting = full_hello();
  greeting.settings.max_nodes = 8;
  CHECK(to_text(greeting).find("node_counts") == std::string::npos);
  CHECK(to_text(greeting).find("scale_up") == std::string::npos);
  greeting.settings.node_counts = {2, 4, 8};
  greeting.settings.scale_up_delay = 1500ms;
  const auto heard = std::get<hello>(parse_rendezvous_request(to_text(greeting)));
  CHECK(heard.settings.node_counts == std::vector<int>{2, 4, 8});
  CHECK(heard.settings.scale_up_delay == 1500ms);
  for (const std::vector<int>& counts :
       {std::vector<int>{4, 8}, {2, 4}, {2, 2, 8}, {8, 2}, {0, 2, 8}, {2, 8, 9}}) {
    greeting.settings.node_counts = counts;
    CHECK_THROWS_AS(parse_rendezvous_request(to_text(greeting)), elastic::error);
  }
}

TEST_CASE("rendezvous message: a text that is not UTF-8 is passed on as far as it is",
          "[rendezvous]") {
  const auto heard =
      std::get<failed>(parse_rendezvous_request(to_text(failed{0, "broken \xff word"})));
  CHECK(heard.what == "broken \xef\xbf\xbd word");
}

TEST_CASE("rendezvous message: what is none is refused, and named", "[rendezvous]") {
  struct refusal {
    std::string text;
    std::string_view named;
  };
  const std::vector<refusal> refusals = {
      {"", "no JSON object"},
      {"[1]", "no JSON object"},
      {"{\"kind\": \"join\"", "no JSON object"},
      {"{}", "\"kind\""},
      {R"({"kind": 7})", "\"kind\""},
      {R"({"kind": "dance"})", "dance"},
      {R"({"kind": "failed", "round": -1, "what": ""})", "\"round\""},
      {R"({"kind": "failed", "round": 1.5, "what": ""})", "\"round\""},
      {R"({"kind": "failed", "round": 18446744073709551615, "what": ""})", "\"round\""},
      {R"({"kind": "failed", "round": 1})", "\"what\""},
      {R"({"kind": "close", "end": "maybe", "why": ""})", "maybe"},
      {R"({"kind": "join", "after": 0, "timeout_ms": 5, "address": "a", "port": 1,
           "served": true, "addresses": "10.0.0.1 host"})",
       "'host'"},
      {R"({"kind": "hello", "version": 3, "run_id": "j", "host": "a", "pid": 1, "local_id": 0,
           "number": "00000000000000000000000000000001", "min_nodes": 1, "max_nodes": 1,
           "last_call_ms": 1, "keep_alive_ms": 5000, "keep_alive_attempts": 1, "grace_ms": 300})",
       "\"keep_alive_attempts\""},
      {R"({"kind": "join", "after": 0, "timeout_ms": 5, "address": "a", "port": 65536,
           "served": true})",
       "\"port\""},
      {R"({"kind": "join", "after": 0, "timeout_ms": 5, "address": "a", "port": 1,
           "served": 1})",
       "\"served\""},
      {R"({"kind": "report"})", "\"text\""},
      {R"({"kind": "report", "text": ")" +
           std::string(elastic::limits::node_report_bytes + 1, 'a') + "\"}",
       "has \"text\" of 30721 bytes; up to 30720 are taken"},
      {std::string(elastic::limits::rendezvous_message_bytes + 1, ' '), "bytes long"},
  };
  for (const refusal& entry : refusals) {
    CAPTURE(entry.text.substr(0, 200));
    try {
      parse_rendezvous_request(entry.text);
      FAIL_CHECK("was taken");
    } catch (const elastic::error& refused) {
      CHECK(refused.code() == errc::protocol_violation);
      CHECK(std::string(refused.what()).find(entry.named) != std::string::npos);
    }
  }
}

TEST_CASE("rendezvous message: a node's number is 32 hexadecimal digits, and nothing else shows it",
          "[rendezvous]") {
  const std::string text = to_text(full_hello());
  const std::string digits = "0000000000000001fedcba9876543210";
  REQUIRE(text.find(digits) != std::string::npos);
  const auto read = std::get<hello>(parse_rendezvous_request(text));
  CHECK(read.node == full_hello().node);
  CHECK(read.node.text() == "häuschen_4711_2");
  for (const std::string& wrong :
       {std::string(), digits.substr(1), digits + "0", std::string(32, 'g'), " " + digits.substr(1),
        "-" + digits.substr(1), "0x" + digits.substr(2)}) {
    CAPTURE(wrong);
    std::string changed = text;
    changed.replace(changed.find(digits), digits.size(), wrong);
    CHECK_THROWS_AS(parse_rendezvous_request(changed), elastic::error);
  }
  // One of before has none, and is told which version the server speaks.
  std::string before = text;
  before.replace(before.find("\"version\": 3"), 12, "\"version\": 1");
  before.replace(before.find("\"number\""), 8, "\"nothing\"");
  CHECK(std::get<hello>(parse_rendezvous_request(before)).version == 1);
}

TEST_CASE("rendezvous message: numbers out of bounds are refused", "[rendezvous]") {
  const std::vector<std::string> answers = {
      R"({"kind": "placed", "round": 0, "rank": 3, "world": 3, "restarts": 0, "address": "a",)"
      R"( "port": 1, "served": true})",
      R"({"kind": "placed", "round": 0, "rank": 0, "world": 0, "restarts": 0, "address": "a",)"
      R"( "port": 1, "served": true})",
      R"({"kind": "changed", "round": 0, "change": "war", "restarts": 0, "what": ""})",
      R"({"kind": "status", "waiting": -1, "closed": false})",
  };
  for (const std::string& text : answers) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_rendezvous_answer(text), elastic::error);
  }
  std::string text = to_text(full_hello());
  text.replace(text.find("\"max_nodes\": 7"), 14, "\"max_nodes\": 1");
  CHECK_THROWS_AS(parse_rendezvous_request(text), elastic::error);
}

}  // namespace rendezvous_message_tests
