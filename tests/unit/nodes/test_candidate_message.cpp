// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace candidate_message_tests {

using namespace std::chrono_literals;
using namespace elastic::detail::candidate_messages;
namespace messages = elastic::detail::candidate_messages;
using elastic::errc;
using elastic::rendezvous_handler;
using elastic::detail::candidate_answer;
using elastic::detail::candidate_request;
using elastic::detail::candidate_text;
using elastic::detail::has_same_content;
using elastic::detail::job_ending;
using elastic::detail::parse_candidate_answer;
using elastic::detail::parse_candidate_request;
using elastic::detail::round_register;

round_register full_register() {
  round_register value;
  value.excluded = {{"gpu7", std::chrono::seconds(60), "hot"}};
  value.term = 7;
  value.sequence = 3;
  value.round = 12;
  value.members = {1, 0xfedcba9876543210};
  value.leader_node = 0xfedcba9876543210;
  value.restarts = 2;
  value.is_uncertain = true;
  value.all_finished = true;
  value.ending = job_ending{rendezvous_handler::job_end::succeeded, "all \"well\""};
  return value;
}

/// A message and its bytes, which other releases read.
template <class Message>
struct sample {
  Message message;
  std::string text;
};

constexpr const char* register_text =
    R"("written_in": 7, "sequence": 3, "round": 12, )"
    R"("members": "0000000000000001fedcba9876543210", "leader_node": "fedcba9876543210", )"
    R"("restarts": 2, "uncertain": true, "all_finished": true, )"
    R"("excluded": "60000 gpu7 hot\n", "end": "succeeded", "why": "all \"well\""})";
constexpr const char* blank_register_text =
    R"("written_in": 0, "sequence": 0, "round": -1, "members": "", )"
    R"("leader_node": "0000000000000000", "restarts": 0, "uncertain": false, )"
    R"("all_finished": false})";

TEST_CASE("candidate message: a request has its bytes, and is read from them", "[rendezvous]") {
  peer greeting{2, "a \"job\"", "a:1,b:2", 77, {}};
  greeting.settings.keep_alive_interval = 250ms;
  const std::vector<sample<candidate_request>> samples = {
      {greeting, R"({"kind": "peer", "index": 2, "run_id": "a \"job\"", "list": "a:1,b:2", )"
                 R"("node": "000000000000004d", "keep_alive_ms": 250, "keep_alive_attempts": 3, )"
                 R"("grace_ms": 300})"},
      {seek{"job", "a:1,b:2", 5},
       R"({"kind": "seek", "run_id": "job", "list": "a:1,b:2", "most_term": 5, "index": -1})"},
      {seek{"job", "a:1,b:2", 5, 1, 77},
       R"({"kind": "seek", "run_id": "job", "list": "a:1,b:2", "most_term": 5, "index": 1, )"
       R"("node": "000000000000004d"})"},
      {vote{5, true, false}, R"({"kind": "vote", "term": 5, "try": true, "fresh": false})"},
      {vote{6, false, true}, R"({"kind": "vote", "term": 6, "try": false, "fresh": true})"},
      {messages::write{7, 99, {}},
       R"({"kind": "write", "term": 7, "stamp": 99, )" + std::string(blank_register_text)},
      {messages::write{7, 0, full_register()},
       R"({"kind": "write", "term": 7, "stamp": 0, )" + std::string(register_text)},
      {resign{8, true}, R"({"kind": "resign", "term": 8, "done": true})"},
      {retire{8, 123'456'789, 1500ms + 999us},
       R"({"kind": "retire", "term": 8, "stamp": 123456789, "since_ms": 1500})"},
  };
  for (const auto& [message, text] : samples) {
    CHECK(candidate_text(message) == text);
    CAPTURE(text);
    const auto copy = parse_candidate_request(text);
    REQUIRE(copy);
    CHECK(copy->index() == message.index());
    CHECK(candidate_text(*copy) == text);
  }
}

TEST_CASE("candidate message: an answer has its bytes, and is read from them", "[rendezvous]") {
  const std::vector<sample<candidate_answer>> samples = {
      {rejected{"no"}, R"({"kind": "rejected", "why": "no"})"},
      {messages::wait{1}, R"({"kind": "wait", "index": 1})"},
      {present{2, 77, "a boot and a network"},
       R"({"kind": "present", "index": 2, "node": "000000000000004d", )"
       R"("network": "a boot and a network"})"},
      {accepted{}, R"({"kind": "accepted"})"},
      {leads{4, 2}, R"({"kind": "leads", "term": 4, "index": 2})"},
      {grant{3, true, true, true, true, 9, {}},
       R"({"kind": "grant", "term": 3, "try": true, "yes": true, "blank": true, )"
       R"("restarted": true, "own_term": 9, "has_register": false})"},
      {grant{3, false, true, false, false, 9, full_register()},
       R"({"kind": "grant", "term": 3, "try": false, "yes": true, "blank": false, )"
       R"("restarted": false, "own_term": 9, "has_register": true, )" +
           std::string(register_text)},
      {ack{3, true, 4, 5, 6},
       R"({"kind": "ack", "term": 3, "taken": true, "sequence": 4, "stamp": 5, "own_term": 6})"},
  };
  for (const auto& [message, text] : samples) {
    CHECK(candidate_text(message) == text);
    CAPTURE(text);
    const candidate_answer copy = parse_candidate_answer(text);
    CHECK(copy.index() == message.index());
    CHECK(candidate_text(copy) == text);
  }
}

TEST_CASE("candidate message: the register arrives whole", "[rendezvous]") {
  const auto request =
      parse_candidate_request(candidate_text(messages::write{7, 0, full_register()}));
  REQUIRE(request);
  CHECK(std::get<messages::write>(*request).value == full_register());
}

TEST_CASE("candidate message: a register of the most nodes fits into a message", "[rendezvous]") {
  round_register value = full_register();
  value.members.assign(elastic::limits::rendezvous_register_nodes, ~std::uint64_t{0});
  value.ending->why.assign(elastic::limits::ending_text_bytes, '"');
  value.excluded.assign(
      elastic::limits::excluded_nodes,
      {std::string(elastic::limits::node_name_bytes, 'n'), elastic::limits::exclusion_time,
       std::string(elastic::limits::exclusion_reason_bytes, '"')});
  grant message{3, false, true, false, false, 9, value};
  CHECK(candidate_text(message).size() < elastic::limits::rendezvous_register_bytes);
}

TEST_CASE("candidate message: a node's hello is for somebody else", "[rendezvous]") {
  CHECK_FALSE(parse_candidate_request(R"({"kind": "hello", "anything": 3})"));
}

TEST_CASE("candidate message: what breaks the protocol is refused", "[rendezvous]") {
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      parse_candidate_request(text);
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == errc::protocol_violation);
      return failure.what();
    }
    return "taken";
  };
  const auto changed_text = [](const std::string& part, const std::string& replacement) {
    std::string text = candidate_text(candidate_request(messages::write{7, 0, full_register()}));
    const auto position = text.find(part);
    REQUIRE(position != std::string::npos);
    return text.replace(position, part.size(), replacement);
  };
  CHECK(complaint("{}").find("kind") != std::string::npos);
  CHECK(complaint(R"({"kind": "lead"})").find("unknown kind: 'lead'") != std::string::npos);
  CHECK(complaint(R"({"kind": "vote", "term": -1, "try": true, "fresh": true})").find("term") !=
        std::string::npos);
  CHECK(complaint(changed_text("\"members\": \"0", "\"members\": \"")).find("members") !=
        std::string::npos);
  CHECK(complaint(changed_text("\"members\": \"0", "\"members\": \"x")).find("hexadecimal") !=
        std::string::npos);
  CHECK(complaint(changed_text("\"succeeded\"", "\"maybe\"")).find("maybe") != std::string::npos);
  CHECK(complaint(changed_text("\"restarts\": 2", "\"restarts\": -2")).find("restarts") !=
        std::string::npos);
  const std::string extra_members(16 * (elastic::limits::rendezvous_register_nodes + 1), '0');
  CHECK(complaint(changed_text("\"members\": \"", "\"members\": \"" + extra_members))
            .find("members") != std::string::npos);
}

TEST_CASE("round register: the newer one is of the later term, or was written later in it",
          "[rendezvous]") {
  round_register first = full_register();
  round_register second = full_register();
  CHECK_FALSE(first.is_newer_than(second));
  second.sequence = 4;
  CHECK(second.is_newer_than(first));
  first.term = 8;
  CHECK(first.is_newer_than(second));
  CHECK(has_same_content(first, second));
  second.restarts = 3;
  CHECK_FALSE(has_same_content(first, second));
}

}  // namespace candidate_message_tests
