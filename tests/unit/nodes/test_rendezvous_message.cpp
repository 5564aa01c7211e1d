// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rendezvous_message_tests {

using namespace std::chrono_literals;
using namespace elastic::detail::rendezvous_messages;
using elastic::errc;
using elastic::rendezvous_change;
using elastic::rendezvous_handler;
using elastic::detail::parse_rendezvous_answer;
using elastic::detail::parse_rendezvous_request;
using elastic::detail::rendezvous_answer;
using elastic::detail::rendezvous_request;
using elastic::detail::rendezvous_messages::pause;  // <unistd.h> declares one, too
using elastic::test::contains_text;

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
  greeting.name = "gpu8";
  return greeting;
}

/// A message and its bytes.
template <class Message>
struct sample {
  Message message;
  std::string_view text;
};

/// What `parse` makes of each text is written as the same text.
template <class Message, class Parse>
void check_samples(const std::vector<sample<Message>>& samples, Parse parse) {
  for (const auto& [message, text] : samples) {
    CHECK(elastic::detail::to_text(message) == text);
    CAPTURE(text);
    const Message copy = parse(text);
    CHECK(copy.index() == message.index());
    CHECK(elastic::detail::to_text(copy) == text);
  }
}

constexpr std::string_view hello_text =
    R"({"kind": "hello", "version": 3, "run_id": "a \"job\"", "host": "häuschen", "pid": 4711, )"
    R"("local_id": 2, "number": "0000000000000001fedcba9876543210", "min_nodes": 2, )"
    R"("max_nodes": 7, "last_call_ms": 1500, "hosts": false, "most_term": 0, )"
    R"("name": "gpu8", "keep_alive_ms": 250, "keep_alive_attempts": 9, "grace_ms": 10})";

constexpr std::string_view full_hello_text =
    R"({"kind": "hello", "version": 3, "run_id": "a \"job\"", "host": "häuschen", "pid": 4711, )"
    R"("local_id": 2, "number": "0000000000000001fedcba9876543210", "min_nodes": 2, )"
    R"("max_nodes": 7, "last_call_ms": 1500, "hosts": true, "most_term": 1767225600123, )"
    R"("last_term": 1767225600123, "last_round": 9, "rank": 1, "world": 3, "host_rank": 2, )"
    R"("restarts": 4, "until_end": true, "server": "10.0.0.1", "reports": true, )"
    R"("name": "gpu8", "excluded": "1000 gpu7 hot\n2000 gpu9 \n", )"
    R"("node_counts": "2,4,7", "scale_up_ms": 1500, "keep_alive_ms": 250, )"
    R"("keep_alive_attempts": 9, "grace_ms": 10, "fingerprint": "nodes=1 role.eval=2"})";

TEST_CASE("rendezvous message: what a node says has its bytes, and is read from them",
          "[rendezvous]") {
  hello full = full_hello();
  full.hosts = true;
  full.highest_term = 1'767'225'600'123;
  full.former = former_round{full.highest_term, 9, 1, 3, 2, 4, true, "10.0.0.1"};
  full.has_reports = true;
  full.excluded = {{"gpu7", 1s, "hot"}, {"gpu9", 2s, ""}};
  full.settings.node_counts = {2, 4, 7};
  full.settings.scale_up_delay = 1500ms;
  full.fingerprint = "nodes=1 role.eval=2";
  const std::vector<sample<rendezvous_request>> samples = {
      {full_hello(), hello_text},
      {full, full_hello_text},
      {witness{"a \"job\"", full_hello().node},
       R"({"kind": "witness", "run_id": "a \"job\"", "host": "häuschen", "pid": 4711, )"
       R"("local_id": 2, "number": "0000000000000001fedcba9876543210"})"},
      {join{-1, 600s, {"fe80::1", 65535, true}},
       R"({"kind": "join", "after": -1, "timeout_ms": 600000, "address": "fe80::1", )"
       R"("port": 65535, "served": true})"},
      {join{7, 1ms, {"", 0, false}, "10.0.0.1 fd00::1"},
       R"({"kind": "join", "after": 7, "timeout_ms": 1, "addresses": "10.0.0.1 fd00::1", )"
       R"("address": "", "port": 0, "served": false})"},
      {keep_alive{}, R"({"kind": "keep_alive"})"},
      {failed{3, "rank 1\nended"}, R"({"kind": "failed", "round": 3, "what": "rank 1\nended"})"},
      {finished{0}, R"({"kind": "finished", "round": 0})"},
      {pause{"paused at \"a\"", true},
       R"({"kind": "pause", "why": "paused at \"a\"", "saves_first": true})"},
      {resume{}, R"({"kind": "resume"})"},
      {leave{}, R"({"kind": "leave"})"},
      {leave{600s, "GPU 3 is hot"},
       R"({"kind": "leave", "keep_out_ms": 600000, "why": "GPU 3 is hot"})"},
      {close_job{rendezvous_handler::job_end::succeeded, ""},
       R"({"kind": "close", "end": "succeeded", "why": ""})"},
      {close_job{rendezvous_handler::job_end::failed, "no"},
       R"({"kind": "close", "end": "failed", "why": "no"})"},
      {report{"{\"a\": 1}"}, R"({"kind": "report", "text": "{\"a\": 1}"})"},
  };
  check_samples(samples, parse_rendezvous_request);
}

TEST_CASE("rendezvous message: what the server says has its bytes, and is read from them",
          "[rendezvous]") {
  rendezvous_change pausing{rendezvous_change::cause::node_waiting, "paused at a", 0};
  pausing.is_pause = true;
  rendezvous_change saving = pausing;
  saving.saves_first = true;
  const std::vector<sample<rendezvous_answer>> samples = {
      {welcome{true, full_hello().settings, 7},
       R"({"kind": "welcome", "resumed": true, "term": 7, "keep_alive_ms": 250, )"
       R"("keep_alive_attempts": 9, "grace_ms": 10})"},
      {welcome{false, {}, 1},
       R"({"kind": "welcome", "resumed": false, "term": 1, "keep_alive_ms": 5000, )"
       R"("keep_alive_attempts": 3, "grace_ms": 300})"},
      {refused{true, "late"}, R"({"kind": "refused", "timeout": true, "why": "late"})"},
      {peers{2, "10.0.0.1 "}, R"({"kind": "peers", "round": 2, "addresses": "10.0.0.1 "})"},
      {placed{4, 2, 3, {"10.0.0.1", 29500, true}, 1, 7, 0},
       R"({"kind": "placed", "round": 4, "rank": 2, "world": 3, "restarts": 1, "term": 7, )"
       R"("host_rank": 0, "address": "10.0.0.1", "port": 29500, "served": true})"},
      {placed{4, 2, 3, {"", 1, true}, 1, 7, -1, {{"gpu7", 1s, "hot"}}},
       R"({"kind": "placed", "round": 4, "rank": 2, "world": 3, "restarts": 1, "term": 7, )"
       R"("host_rank": -1, "excluded": "1000 gpu7 hot\n", "address": "", "port": 1, )"
       R"("served": true})"},
      {on_hold{"the job pauses"}, R"({"kind": "on_hold", "why": "the job pauses"})"},
      {changed{4, rendezvous_change{rendezvous_change::cause::node_waiting, "a", 0}},
       R"({"kind": "changed", "round": 4, "change": "node_waiting", "restarts": 0, "what": "a"})"},
      {changed{4, rendezvous_change{rendezvous_change::cause::node_lost, "b", 1}},
       R"({"kind": "changed", "round": 4, "change": "node_lost", "restarts": 1, "what": "b"})"},
      {changed{4, rendezvous_change{rendezvous_change::cause::worker_failed, "c", 2}, 3},
       R"({"kind": "changed", "round": 4, "change": "worker_failed", "restarts": 2, )"
       R"("what": "c", "failed_rank": 3})"},
      {changed{4, pausing},
       R"({"kind": "changed", "round": 4, "change": "node_waiting", "restarts": 0, )"
       R"("what": "paused at a", "saves_first": false})"},
      {changed{4, saving},
       R"({"kind": "changed", "round": 4, "change": "node_waiting", "restarts": 0, )"
       R"("what": "paused at a", "saves_first": true})"},
      {all_finished{4}, R"({"kind": "all_finished", "round": 4})"},
      {closed{rendezvous_handler::job_end::failed, "over"},
       R"({"kind": "closed", "end": "failed", "why": "over"})"},
      {alive{}, R"({"kind": "alive"})"},
      {resigned{}, R"({"kind": "resigned"})"},
      {report_wanted{elastic::detail::report_demand::nothing},
       R"({"kind": "report_wanted", "demand": "nothing"})"},
      {report_wanted{elastic::detail::report_demand::changes},
       R"({"kind": "report_wanted", "demand": "changes"})"},
      {report_wanted{elastic::detail::report_demand::progress},
       R"({"kind": "report_wanted", "demand": "progress"})"},
      {report_wanted{elastic::detail::report_demand::changes, "lines"},
       R"({"kind": "report_wanted", "demand": "changes", "output": "lines"})"},
  };
  check_samples(samples, parse_rendezvous_answer);
}

TEST_CASE("rendezvous message: hello says everything that the server goes by", "[rendezvous]") {
  const auto heard =
      std::get<hello>(parse_rendezvous_request(elastic::detail::to_text(full_hello())));
  CHECK(heard.run_id == "a \"job\"");
  CHECK(heard.node == full_hello().node);
  CHECK(heard.settings.max_nodes == 7);
  CHECK(heard.settings.last_call_timeout == 1500ms);
  CHECK(heard.settings.silence() == 9 * 250ms);
}

TEST_CASE("rendezvous message: every node and server says what the other goes by", "[rendezvous]") {
  const auto without = [](std::string text, const std::string& field) {
    const std::size_t at = text.find('"' + field + '"');
    REQUIRE(at != std::string::npos);
    return text.insert(at + 1, "no_");
  };
  for (const std::string field : {"number", "hosts", "most_term", "name"}) {
    CHECK_THROWS_WITH(
        parse_rendezvous_request(without(elastic::detail::to_text(full_hello()), field)),
        contains_text('"' + field + '"'));
  }
  const std::string greeted = elastic::detail::to_text(welcome{});
  CHECK_THROWS_WITH(parse_rendezvous_answer(without(greeted, "term")), contains_text("\"term\""));
  const std::string place = elastic::detail::to_text(placed{});
  for (const std::string field : {"term", "host_rank"}) {
    CHECK_THROWS_WITH(parse_rendezvous_answer(without(place, field)),
                      contains_text('"' + field + '"'));
  }
}

TEST_CASE("rendezvous message: a former round is told as a whole, within its bounds",
          "[rendezvous]") {
  hello back = full_hello();
  back.former = former_round{5, 9, 1, 3, 2, 4, true, "10.0.0.1"};
  const std::string text = elastic::detail::to_text(back);
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
  CHECK(elastic::detail::to_text(greeting).find("node_counts") == std::string::npos);
  CHECK(elastic::detail::to_text(greeting).find("scale_up") == std::string::npos);
  greeting.settings.node_counts = {2, 4, 8};
  greeting.settings.scale_up_delay = 1500ms;
  const auto heard = std::get<hello>(parse_rendezvous_request(elastic::detail::to_text(greeting)));
  CHECK(heard.settings.node_counts == std::vector<int>{2, 4, 8});
  CHECK(heard.settings.scale_up_delay == 1500ms);
  for (const std::vector<int>& counts :
       {std::vector<int>{4, 8}, {2, 4}, {2, 2, 8}, {8, 2}, {0, 2, 8}, {2, 8, 9}}) {
    greeting.settings.node_counts = counts;
    CHECK_THROWS_AS(parse_rendezvous_request(elastic::detail::to_text(greeting)), elastic::error);
  }
}

TEST_CASE("rendezvous message: a text that is not UTF-8 is passed on as far as it is",
          "[rendezvous]") {
  const auto heard = std::get<failed>(
      parse_rendezvous_request(elastic::detail::to_text(failed{0, "broken \xff word"})));
  CHECK(heard.what == "broken \xef\xbf\xbd word");
}

TEST_CASE("rendezvous message: what is none is refused, and named", "[rendezvous]") {
  struct refusal {
    std::string text;
    std::string_view named;
  };
  const std::vector<refusal> refusals = {
      {"", "not a JSON object"},
      {"[1]", "not a JSON object"},
      {"{\"kind\": \"join\"", "not a JSON object"},
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
           "last_call_ms": 1, "hosts": false, "most_term": 0, "name": "a", "keep_alive_ms": 5000,
           "keep_alive_attempts": 1, "grace_ms": 300})",
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
  const std::string text = elastic::detail::to_text(full_hello());
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
}

TEST_CASE("rendezvous message: of another version's hello nothing but the node is read",
          "[rendezvous]") {
  // Its node is told which version the server speaks.
  const auto other = std::get<hello>(parse_rendezvous_request(
      R"({"kind": "hello", "version": 7, "run_id": "j", "host": "a", "pid": 1, "local_id": 0})"));
  CHECK(other.version == 7);
  CHECK(other.run_id == "j");
}

TEST_CASE("rendezvous message: numbers out of bounds are refused", "[rendezvous]") {
  const std::vector<std::string> answers = {
      R"({"kind": "placed", "round": 0, "rank": 3, "world": 3, "restarts": 0, "term": 1,)"
      R"( "host_rank": -1, "address": "a", "port": 1, "served": true})",
      R"({"kind": "placed", "round": 0, "rank": 0, "world": 0, "restarts": 0, "term": 1,)"
      R"( "host_rank": -1, "address": "a", "port": 1, "served": true})",
      R"({"kind": "placed", "round": 0, "rank": 0, "world": 1, "restarts": 0, "term": 0,)"
      R"( "host_rank": -1, "address": "a", "port": 1, "served": true})",
      R"({"kind": "changed", "round": 0, "change": "war", "restarts": 0, "what": ""})",
  };
  for (const std::string& text : answers) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_rendezvous_answer(text), elastic::error);
  }
  std::string text = elastic::detail::to_text(full_hello());
  text.replace(text.find("\"max_nodes\": 7"), 14, "\"max_nodes\": 1");
  CHECK_THROWS_AS(parse_rendezvous_request(text), elastic::error);
}

}  // namespace rendezvous_message_tests
