// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/health/detail/control_message.hpp>

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/health/detail/line_intake.hpp>
#include <elastic/health/detail/timer_request.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace control_message_tests {

using namespace std::chrono_literals;
namespace messages {
using namespace elastic::control_messages;
using namespace elastic::detail::worker_messages;
}  // namespace messages
using elastic::agent_message;
using elastic::error;
using elastic::detail::line_intake;
using elastic::detail::parse_agent_message;
using elastic::detail::parse_timer_request;
using elastic::detail::parse_worker_message;
using elastic::detail::to_line;
using elastic::detail::worker_message;
using elastic::test::contains_text;

/// What the other side reads of a message.
template <class Message>
Message sent(const Message& said) {
  const std::string line = to_line(worker_message(said));
  REQUIRE(line.back() == '\n');
  REQUIRE(line.size() <= elastic::limits::control_line_bytes);
  return std::get<Message>(parse_worker_message(line.substr(0, line.size() - 1)));
}

template <class Message>
Message heard(const Message& said) {
  const std::string line = to_line(agent_message(said));
  REQUIRE(line.size() <= elastic::limits::control_line_bytes);
  return std::get<Message>(*parse_agent_message(line.substr(0, line.size() - 1)));
}

TEST_CASE("control message: what a worker says arrives", "[health]") {
  messages::hello hello;
  hello.local_rank = 3;
  hello.checkpoints = true;
  CHECK(sent(hello).local_rank == 3);
  CHECK(sent(hello).checkpoints);
  CHECK_FALSE(sent(messages::heartbeat()).timeout);
  messages::heartbeat beat;
  beat.timeout = 1500ms;
  CHECK(sent(beat).timeout == elastic::duration(1500ms));
  messages::enter enter;
  enter.section = "all_reduce \"1\"";
  enter.timeout = 30s;
  CHECK(sent(enter).section == "all_reduce \"1\"");
  CHECK(sent(enter).timeout == elastic::duration(30s));
  messages::expires expires;
  expires.timer = "step #1";
  expires.after = 250ms;
  CHECK(sent(expires).after == 250ms);
  messages::progress progress;
  progress.step = 12;
  progress.total = 100;
  progress.text = "epoch 1 – ü";
  progress.metrics = {{"loss", 0.25}, {"lr", 1e-4}};
  CHECK(sent(progress).step == 12);
  CHECK(sent(progress).total == 100);
  CHECK(sent(progress).text == "epoch 1 – ü");
  CHECK(sent(progress).metrics == progress.metrics);
  messages::not_saved not_saved;
  not_saved.id = 7;
  not_saved.reason = "disk full";
  CHECK(sent(not_saved).id == 7);
  CHECK(sent(not_saved).reason == "disk full");
  CHECK(sent(messages::saved{9}).id == 9);
  CHECK(sent(messages::no_restart{"bad options"}).reason == "bad options");
  CHECK(sent(messages::bad_node{"GPU 3 is lost"}).reason == "GPU 3 is lost");
  sent(messages::bye());
}

TEST_CASE("control message: times beyond what is allowed are said as near as can be", "[health]") {
  messages::expires said;
  said.timer = "t";
  said.after = -5s;
  CHECK(sent(said).after == 1ms);
  said.after = elastic::duration::max();
  CHECK(sent(said).after == 100'000'000s);
  messages::heartbeat beat;
  beat.timeout = 0s;
  CHECK(sent(beat).timeout == elastic::duration(1ms));
}

TEST_CASE("control message: what the agent says arrives", "[health]") {
  messages::checkpoint checkpoint;
  checkpoint.id = 4;
  checkpoint.within = 30s;
  CHECK(heard(checkpoint).id == 4);
  CHECK(heard(checkpoint).within == 30s);
  CHECK(heard(messages::refused{"no"}).reason == "no");
  CHECK(heard(messages::stop{5s}).grace == 5s);
  CHECK(heard(messages::stop{}).grace == 0s);
  CHECK(heard(messages::stop{elastic::duration::max()}).grace == 0s);
  heard(messages::pause_work());
  heard(messages::resume_work());
  CHECK(heard(messages::welcome()).version == 1);
}

TEST_CASE("control message: a kind that a later agent may say is nothing for a worker",
          "[health]") {
  CHECK_FALSE(parse_agent_message(R"({"kind": "dance"})"));
}

TEST_CASE("control message: fields that are not known are passed over", "[health]") {
  const auto said = parse_worker_message(R"({"kind":"heartbeat","timeout":null,"mood":[1,{}]})");
  CHECK(std::holds_alternative<messages::heartbeat>(said));
}

TEST_CASE("control message: what is not of the protocol is refused by name", "[health]") {
  const std::string long_name(200, 'n');
  const std::vector<std::pair<std::string, std::string>> refusals{
      {"", "no JSON object"},
      {"hello", "no JSON object: 'hello'"},
      {"[]", "no JSON object"},
      {"{\"kind\": \"heart", "no JSON object"},
      {"\xff\xfe\x1b[31m", "no JSON object: '?? [31m'"},
      {"{}", "has no \"kind\""},
      {R"({"kind": 3})", "has no text \"kind\""},
      {R"({"kind": "dance"})", "unknown kind: 'dance'"},
      {R"({"kind": "hello", "version": 1})", "has no \"local_rank\""},
      {R"({"kind": "hello", "version": 1, "local_rank": -1})", "\"local_rank\" outside of 0"},
      {R"({"kind": "hello", "version": 1, "local_rank": 1.5})", "no whole number"},
      {R"({"kind": "heartbeat", "timeout": 0})", "\"timeout\" outside of"},
      {R"({"kind": "heartbeat", "timeout": -3})", "\"timeout\" outside of"},
      {R"({"kind": "heartbeat", "timeout": 1e300})", "\"timeout\" outside of"},
      {R"({"kind": "heartbeat", "timeout": 1e999})", "no JSON object"},
      {R"({"kind": "heartbeat", "timeout": "1"})", "no number of seconds"},
      {R"({"kind": "enter"})", "has no \"section\""},
      {R"({"kind": "enter", "section": ""})", "of 0 bytes; 1 to 128 are allowed"},
      {R"({"kind": "enter", "section": ")" + long_name + "\"}", "of 200 bytes"},
      {R"({"kind": "expires", "timer": "t"})", "has no \"after\""},
      {R"({"kind": "progress"})", "has no \"step\""},
      {R"({"kind": "progress", "step": 18446744073709551615})", "\"step\" outside of"},
      {R"({"kind": "progress", "step": 1, "metrics": [1]})", "\"metrics\" that are no object"},
      {R"({"kind": "progress", "step": 1, "metrics": {"a": "b"}})", "a metric 'a'"},
      {R"({"kind": "saved", "id": "x"})", "no whole number \"id\""},
      {std::string(5000, ' '), "is 5000 bytes long; 4096 are allowed"},
      {std::string(4000, '['), "no JSON object"}};
  for (const auto& [line, why] : refusals) {
    INFO(line.substr(0, 60));
    CHECK_THROWS_WITH(parse_worker_message(line), contains_text(why));
    CHECK_THROWS_AS(parse_worker_message(line), error);
  }
}

TEST_CASE("control message: what people are shown has nothing that a terminal obeys", "[health]") {
  messages::bad_node said;
  said.reason =
      "a\x1b[2J\nb\x7f\xc2\x9b"
      "c";
  CHECK(sent(said).reason == "a [2J b  c");
}

TEST_CASE("control message: texts that are too long are cut between characters", "[health]") {
  messages::bad_node said;
  for (int i = 0; i < 2000; ++i) said.reason += "ü";
  const std::string arrived = sent(said).reason;
  CHECK(arrived.size() == elastic::limits::control_text_bytes);
  CHECK(arrived.substr(arrived.size() - 2) == "ü");
}

TEST_CASE("control message: progress with too many metrics, or none that JSON can say, arrives",
          "[health]") {
  messages::progress said;
  said.step = 1;
  said.text = std::string(3000, '"');
  said.metrics["nan"] = std::numeric_limits<double>::quiet_NaN();
  CHECK(sent(said).metrics.empty());
  for (int i = 0; i < 100; ++i) said.metrics[std::string(100, 'm') + std::to_string(i)] = i;
  CHECK(sent(said).metrics.empty());
  CHECK(sent(said).step == 1);
}

// ---- lines -------------------------------------------------------------------------------------

std::vector<std::string> lines_of(line_intake& intake) {
  std::vector<std::string> found;
  for (auto next = intake.next(); next; next = intake.next()) {
    found.push_back(next->too_long ? "TOO LONG" : std::string(next->line));
  }
  return found;
}

TEST_CASE("line intake: lines come whole, however their bytes do", "[health]") {
  line_intake intake;
  intake.append("on");
  CHECK(lines_of(intake).empty());
  intake.append("e\n\ntwo\nthr");
  CHECK(lines_of(intake) == std::vector<std::string>{"one", "", "two"});
  intake.append("ee\n");
  CHECK(lines_of(intake) == std::vector<std::string>{"three"});
  CHECK(intake.held() == 0);
}

TEST_CASE("line intake: a line that is too long is told of once, and what follows it is read",
          "[health]") {
  line_intake intake;
  std::vector<std::string> found;
  for (int i = 0; i < 1000; ++i) {
    intake.append(std::string(100, 'x'));
    for (const std::string& line : lines_of(intake)) found.push_back(line);
    CHECK(intake.held() < elastic::limits::control_line_bytes);
  }
  CHECK(found == std::vector<std::string>{"TOO LONG"});
  intake.append("\nnext\n");
  CHECK(lines_of(intake) == std::vector<std::string>{"next"});
  intake.append(std::string(4096, 'y') + "\nlast\n");
  CHECK(lines_of(intake) == std::vector<std::string>{"TOO LONG", "last"});
}

// ---- PyTorch's timers -----------------------------------------------------------------------

TEST_CASE("timer request: a line of PyTorch's client", "[health]") {
  const auto set = parse_timer_request(
      R"({"version": 1, "pid": 123, "scope_id": "train.py#7", "expiration_time": 1767225600.5,)"
      R"( "signal": 9})");
  CHECK(set.pid == 123);
  CHECK(set.scope == "train.py#7");
  CHECK(set.signal == 9);
  REQUIRE(set.expiry);
  CHECK(*set.expiry == elastic::wall_time(1'767'225'600'500ms));
  const auto released = parse_timer_request(
      R"({"version": 1, "pid": 123, "scope_id": "a", "expiration_time": -1, "signal": 0})");
  CHECK_FALSE(released.expiry);
}

TEST_CASE("timer request: what is not one is refused", "[health]") {
  for (const std::string line :
       {"x", R"({"pid": 0, "scope_id": "a", "expiration_time": 1, "signal": 9})",
        R"({"pid": 1, "scope_id": "a", "expiration_time": 1e300, "signal": 9})",
        R"({"pid": 1, "scope_id": "a", "expiration_time": 9.3e9, "signal": 9})",
        R"({"pid": 1, "scope_id": "a", "expiration_time": "now", "signal": 9})",
        R"({"pid": 1, "scope_id": "a", "expiration_time": 1, "signal": 65})",
        R"({"pid": 1, "scope_id": 2, "expiration_time": 1, "signal": 9})"}) {
    INFO(line);
    CHECK_THROWS_AS(parse_timer_request(line), error);
  }
}

// ---- anything -----------------------------------------------------------------------------------

TEST_CASE("line intake: whatever comes, in whatever pieces, its lines are those of the whole",
          "[health]") {
  constexpr std::size_t bound = elastic::limits::control_line_bytes;
  elastic::detail::random_source random(20'261'122);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    std::vector<std::string> expected;
    for (auto left = random.below(12); left > 0; --left) {
      // Of any length, most often one at the bound.
      const std::size_t length =
          random.below(2) == 0 ? bound - 3 + random.below(6) : random.below(3 * bound);
      std::string line(length, ' ');
      for (char& letter : line) {
        do letter = static_cast<char>(random.below(256));
        while (letter == '\n');
      }
      expected.push_back(length < bound ? line : "TOO LONG");
      bytes += line + '\n';
    }
    line_intake intake;
    std::vector<std::string> found;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = 1 + random.below(random.below(2) == 0 ? 7 : 2 * bound);
      intake.append(std::string_view(bytes).substr(at, size));
      at += size;
      for (const std::string& line : lines_of(intake)) found.push_back(line);
      if (intake.held() >= bound) FAIL(intake.held() << " bytes are held");
    }
    if (found != expected) FAIL("round " << round << ": the lines are others");
    CHECK(intake.held() == 0);
  }
}

TEST_CASE("control message: a line is taken up to the last byte that is allowed", "[health]") {
  constexpr std::size_t longest = elastic::limits::control_line_bytes - 1;
  const std::string deep = std::string(longest / 2, '[') + std::string(longest / 2, ']');
  const auto padded = [](const std::string& line, std::size_t length) {
    return "{" + std::string(length - line.size(), ' ') + line.substr(1);
  };
  const auto check = [&](const std::string& line, auto parse) {
    CHECK_NOTHROW(parse(padded(line, longest)));
    for (const std::size_t length : {longest + 1, longest + 2, 100 * longest}) {
      CHECK_THROWS_AS(parse(padded(line, length)), error);
    }
    CHECK_THROWS_AS(parse(deep), error);
    CHECK_THROWS_AS(parse(""), error);
  };
  check(R"({"kind": "bye"})", [](const std::string& line) { parse_worker_message(line); });
  check(R"({"kind": "pause"})", [](const std::string& line) { parse_agent_message(line); });
  check(R"({"pid": 1, "scope_id": "a", "expiration_time": 1, "signal": 9})",
        [](const std::string& line) { parse_timer_request(line); });
}

TEST_CASE("control message: whatever comes is a message or refused in one printable line",
          "[health]") {
  const std::vector<std::string> seeds{
      R"({"kind": "hello", "version": 1, "local_rank": 0, "checkpoints": true})",
      R"({"kind": "progress", "step": 12, "total": 100, "text": "é", "metrics": {"loss": 0.25}})",
      R"({"kind": "expires", "timer": "t", "after": 2.5})",
      R"({"kind": "not_saved", "id": 4, "reason": "full"})",
      R"({"version": 1, "pid": 12, "scope_id": "a", "expiration_time": 17.5, "signal": 9})"};
  elastic::detail::random_source random(20'260'101);
  int understood = 0;
  constexpr int rounds = 20'000;
  for (int round = 0; round < rounds; ++round) {
    std::string line = seeds[random.below(seeds.size())];
    const auto changes = random.below(6);
    for (std::uint64_t i = 0; i < changes && !line.empty(); ++i) {
      const auto at = random.below(line.size());
      switch (random.below(4)) {
        case 0: line[at] = static_cast<char>(random.below(256)); break;
        case 1: line.erase(at, random.below(8)); break;
        case 2: line.insert(at, line.substr(random.below(line.size()), random.below(20))); break;
        default: line.insert(at, 1, "{}[]\",:0\\-e"[random.below(11)]);
      }
    }
    const auto check = [&](auto parse) {
      try {
        parse(line);
        ++understood;
      } catch (const error& refusal) {
        const std::string why = refusal.what();
        const bool printable = std::all_of(why.begin(), why.end(), [](char letter) {
          return static_cast<unsigned char>(letter) >= 0x20;
        });
        if (why.size() > 1000 || !printable) FAIL(why);
      }
    };
    check([](const std::string& text) { parse_worker_message(text); });
    check([](const std::string& text) { parse_agent_message(text); });
    check([](const std::string& text) { parse_timer_request(text); });
  }
  CHECK(understood > rounds / 10);
}

}  // namespace control_message_tests
