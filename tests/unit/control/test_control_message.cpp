// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/control/detail/control_message.hpp>

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/control/detail/line_intake.hpp>
#include <elastic/control/detail/timer_request.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
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
using namespace elastic::worker_messages;
}  // namespace messages
using elastic::error;
using elastic::control_messages::agent_message;
using elastic::detail::line_intake;
using elastic::detail::parse_agent_message;
using elastic::detail::parse_timer_request;
using elastic::detail::parse_worker_message;
using elastic::detail::to_line;
using elastic::worker_messages::worker_message;
using elastic::test::contains_text;

/// What the other side reads of a message.
template <class Message>
Message worker_round_trip(const Message& message) {
  const std::string line = to_line(worker_message(message));
  REQUIRE(line.back() == '\n');
  REQUIRE(line.size() <= elastic::limits::control_line_bytes);
  return std::get<Message>(parse_worker_message(line.substr(0, line.size() - 1)));
}

template <class Message>
Message agent_round_trip(const Message& message) {
  const std::string line = to_line(agent_message(message));
  REQUIRE(line.size() <= elastic::limits::control_line_bytes);
  return std::get<Message>(*parse_agent_message(line.substr(0, line.size() - 1)));
}

TEST_CASE("control message: what a worker says arrives", "[control]") {
  messages::hello hello;
  hello.local_rank = 3;
  hello.checkpoints = true;
  CHECK(worker_round_trip(hello).local_rank == 3);
  CHECK(worker_round_trip(hello).checkpoints);
  CHECK_FALSE(worker_round_trip(messages::heartbeat()).timeout);
  messages::heartbeat beat;
  beat.timeout = 1500ms;
  CHECK(worker_round_trip(beat).timeout == elastic::duration(1500ms));
  messages::enter enter;
  enter.section = "all_reduce \"1\"";
  enter.timeout = 30s;
  CHECK(worker_round_trip(enter).section == "all_reduce \"1\"");
  CHECK(worker_round_trip(enter).timeout == elastic::duration(30s));
  messages::expires expires;
  expires.timer = "step #1";
  expires.after = 250ms;
  CHECK(worker_round_trip(expires).after == 250ms);
  messages::progress progress;
  progress.step = 12;
  progress.total = 100;
  progress.text = "epoch 1 – ü";
  progress.metrics = {{"loss", 0.25}, {"lr", 1e-4}};
  CHECK(worker_round_trip(progress).step == 12);
  CHECK(worker_round_trip(progress).total == 100);
  CHECK(worker_round_trip(progress).text == "epoch 1 – ü");
  CHECK(worker_round_trip(progress).metrics == progress.metrics);
  messages::not_saved not_saved;
  not_saved.id = 7;
  not_saved.reason = "disk full";
  CHECK(worker_round_trip(not_saved).id == 7);
  CHECK(worker_round_trip(not_saved).reason == "disk full");
  CHECK(worker_round_trip(messages::saved{9}).id == 9);
  CHECK(worker_round_trip(messages::await_roles{7}).revision == 7);
  CHECK(worker_round_trip(messages::no_restart{"bad options"}).reason == "bad options");
  CHECK(worker_round_trip(messages::bad_node{"GPU 3 is lost"}).reason == "GPU 3 is lost");
  worker_round_trip(messages::bye());
}

TEST_CASE("control message: each kind has its bytes, which workers of other releases read",
          "[control]") {
  messages::hello hello;
  hello.local_rank = 3;
  hello.checkpoints = true;
  messages::progress progress;
  progress.step = 12;
  progress.total = 100;
  progress.text = "epoch \"1\"\n–";
  progress.metrics = {{"a \"b\"", 1e-4}, {"loss", 0.25}, {"nan", std::nan("")}};
  const std::vector<std::pair<worker_message, std::string_view>> worker_lines{
      {hello, R"({"kind": "hello", "version": 1, "local_rank": 3, "checkpoints": true})"},
      {messages::heartbeat{}, R"({"kind": "heartbeat"})"},
      {messages::heartbeat{1500ms}, R"({"kind": "heartbeat", "timeout": 1.5})"},
      {messages::enter{"all \"1\"", 30s},
       R"({"kind": "enter", "section": "all \"1\"", "timeout": 30})"},
      {messages::leave{"a"}, R"({"kind": "leave", "section": "a"})"},
      {messages::expires{"t", 250ms}, R"({"kind": "expires", "timer": "t", "after": 0.25})"},
      {messages::release{"t"}, R"({"kind": "release", "timer": "t"})"},
      {progress,
       R"({"kind": "progress", "step": 12, "total": 100, "text": "epoch \"1\" –", )"
       R"("metrics": {"a \"b\"": 0.0001, "loss": 0.25}})"},
      {messages::saved{9}, R"({"kind": "saved", "id": 9})"},
      {messages::await_roles{7}, R"({"kind": "await_roles", "revision": 7})"},
      {messages::not_saved{7, "full"}, R"({"kind": "not_saved", "id": 7, "reason": "full"})"},
      {messages::no_restart{"no"}, R"({"kind": "no_restart", "reason": "no"})"},
      {messages::bad_node{"bad"}, R"({"kind": "bad_node", "reason": "bad"})"},
      {messages::bye{}, R"({"kind": "bye"})"},
      {messages::survive{}, R"({"kind": "survive"})"},
      {messages::ask{7, "reset"}, R"({"kind": "ask", "epoch": 7, "reason": "reset"})"},
      {messages::ready{7}, R"({"kind": "ready", "epoch": 7})"},
      {messages::finished{7}, R"({"kind": "finished", "epoch": 7})"},
      {messages::withdraw{"its part is too large"},
       R"({"kind": "withdraw", "reason": "its part is too large"})"},
      {messages::prepared{}, R"({"kind": "prepared"})"}};
  for (const auto& [message, text] : worker_lines) {
    CHECK(to_line(message) == std::string(text) + "\n");
    CHECK(to_line(parse_worker_message(text)) == std::string(text) + "\n");
  }
  const std::vector<std::pair<agent_message, std::string_view>> agent_lines{
      {messages::welcome{}, R"({"kind": "welcome", "version": 1})"},
      {messages::refused{"no"}, R"({"kind": "refused", "reason": "no"})"},
      {messages::checkpoint{4, 30s}, R"({"kind": "checkpoint", "id": 4, "within": 30})"},
      {messages::pause_work{}, R"({"kind": "pause"})"},
      {messages::resume_work{}, R"({"kind": "resume"})"},
      {messages::stop{1500ms}, R"({"kind": "stop", "grace": 1.5})"},
      {messages::stop{}, R"({"kind": "stop"})"},
      {messages::stop{elastic::duration::max()}, R"({"kind": "stop"})"},
      {messages::change{7, 10s}, R"({"kind": "change", "epoch": 7, "within": 10})"},
      {messages::no_change{7}, R"({"kind": "no_change", "epoch": 7})"},
      {messages::roles{9}, R"({"kind": "roles", "revision": 9})"},
      {messages::rejoin{8, {{"MASTER_ADDR", "a \"b\" ü"}, {"RANK", "0"}}},
       R"({"kind": "rejoin", "epoch": 8, "environment": )"
       R"({"MASTER_ADDR": "a \"b\" ü", "RANK": "0"}})"}};
  for (const auto& [message, text] : agent_lines) {
    CHECK(to_line(message) == std::string(text) + "\n");
    CHECK(to_line(parse_agent_message(text).value()) == std::string(text) + "\n");
  }
}

TEST_CASE("control message: times beyond what is allowed are said as near as can be", "[control]") {
  messages::expires expires;
  expires.timer = "t";
  expires.after = -5s;
  CHECK(worker_round_trip(expires).after == 1ms);
  expires.after = elastic::duration::max();
  CHECK(worker_round_trip(expires).after == 100'000'000s);
  messages::heartbeat beat;
  beat.timeout = 0s;
  CHECK(worker_round_trip(beat).timeout == elastic::duration(1ms));
}

TEST_CASE("control message: what the agent says arrives", "[control]") {
  messages::checkpoint checkpoint;
  checkpoint.id = 4;
  checkpoint.within = 30s;
  CHECK(agent_round_trip(checkpoint).id == 4);
  CHECK(agent_round_trip(checkpoint).within == 30s);
  CHECK(agent_round_trip(messages::refused{"no"}).reason == "no");
  CHECK(agent_round_trip(messages::stop{5s}).grace == 5s);
  CHECK(agent_round_trip(messages::stop{}).grace == 0s);
  CHECK(agent_round_trip(messages::stop{elastic::duration::max()}).grace == 0s);
  agent_round_trip(messages::pause_work());
  agent_round_trip(messages::resume_work());
  CHECK(agent_round_trip(messages::welcome()).version == 1);
}

TEST_CASE("control message: a kind that a later agent may say is nothing for a worker",
          "[control]") {
  CHECK_FALSE(parse_agent_message(R"({"kind": "dance"})"));
}

TEST_CASE("control message: the environment of a new epoch arrives unchanged or is refused",
          "[control]") {
  messages::rejoin rejoin{3, {{"RANK", "1"}, {"ROLE_NAME", "a\tb\x1b[0m"}, {"EMPTY", ""}}};
  CHECK(agent_round_trip(rejoin).environment == rejoin.environment);
  rejoin.environment["ROLE_NAME"] = std::string(1025, 'x');
  CHECK_THROWS_WITH(to_line(agent_message(rejoin)), contains_text("ROLE_NAME has 1025 bytes"));
  for (int i = 0; i < 4; ++i) rejoin.environment["V" + std::to_string(i)] = std::string(1024, 'x');
  rejoin.environment.erase("ROLE_NAME");
  CHECK_THROWS_WITH(to_line(agent_message(rejoin)), contains_text("at most 4096 are allowed"));
  const auto line = [](const std::string& environment) {
    return R"({"kind": "rejoin", "epoch": 1, "environment": )" + environment + "}";
  };
  std::string many;
  for (int i = 0; i < 65; ++i) many += (i ? ", \"" : "\"") + std::to_string(i) + "\": \"\"";
  const std::vector<std::pair<std::string, std::string>> refusals{
      {R"({"kind": "rejoin", "epoch": 1})", "has no \"environment\""},
      {R"({"kind": "rejoin", "environment": {}})", "\"epoch\""},
      {line("[]"), "other than an object of at most 64 texts"},
      {line("{" + many + "}"), "other than an object of at most 64 texts"},
      {line(R"({"RANK": 1})"), "a variable 'RANK'"},
      {line(R"({"": "1"})"), "a variable ''"},
      {line(R"({"A=B": "1"})"), "a variable 'A=B'"},
      {line(R"({"A": "1\u0000"})"), "a variable 'A'"},
      {line(R"({"A": ")" + std::string(1025, 'x') + "\"}"), "more than 128 or 1024 bytes"},
      {R"({"kind": "change", "epoch": -1, "within": 1})", "\"epoch\" outside of 0"},
      {R"({"kind": "change", "epoch": 1})", "has no \"within\""}};
  for (const auto& [text, reason] : refusals) {
    INFO(text.substr(0, 60));
    CHECK_THROWS_WITH(parse_agent_message(text), contains_text(reason));
  }
}

TEST_CASE("control message: fields that are not known are passed over", "[control]") {
  const auto message = parse_worker_message(R"({"kind":"heartbeat","timeout":null,"mood":[1,{}]})");
  CHECK(std::holds_alternative<messages::heartbeat>(message));
}

TEST_CASE("control message: what is not of the protocol is refused by name", "[control]") {
  const std::string long_name(200, 'n');
  const std::vector<std::pair<std::string, std::string>> refusals{
      {"", "not a JSON object"},
      {"hello", "not a JSON object: 'hello'"},
      {"[]", "not a JSON object"},
      {"{\"kind\": \"heart", "not a JSON object"},
      {"\xff\xfe\x1b[31m", "not a JSON object: '\\xff\\xfe\\x1b[31m'"},
      {"{}", "has no \"kind\""},
      {R"({"kind": 3})", "has no text \"kind\""},
      {R"({"kind": "dance"})", "unknown kind: 'dance'"},
      {R"({"kind": "hello", "version": 1})", "has no \"local_rank\""},
      {R"({"kind": "hello", "version": 1, "local_rank": -1})", "\"local_rank\" outside of 0"},
      {R"({"kind": "hello", "version": 1, "local_rank": 1.5})", "no whole number"},
      {R"({"kind": "heartbeat", "timeout": 0})",
       "\"timeout\" of 0 seconds; more than 0 and at most 100000000 are allowed"},
      {R"({"kind": "heartbeat", "timeout": -3})", "\"timeout\" of -3 seconds"},
      {R"({"kind": "heartbeat", "timeout": 1e300})", "at most 100000000 are allowed"},
      {R"({"kind": "heartbeat", "timeout": 1e999})", "not a JSON object"},
      {R"({"kind": "heartbeat", "timeout": "1"})", "has no number \"timeout\""},
      {R"({"kind": "enter"})", "has no \"section\""},
      {R"({"kind": "enter", "section": ""})", "of 0 bytes; 1 to 128 are allowed"},
      {R"({"kind": "enter", "section": ")" + long_name + "\"}", "of 200 bytes"},
      {R"({"kind": "expires", "timer": "t"})", "has no \"after\""},
      {R"({"kind": "progress"})", "has no \"step\""},
      {R"({"kind": "progress", "step": 18446744073709551615})", "\"step\" outside of"},
      {R"({"kind": "progress", "step": 1, "metrics": [1]})",
       "\"metrics\" other than an object of at most 32 numbers"},
      {R"({"kind": "progress", "step": 1, "metrics": {"a": "b"}})", "a metric 'a'"},
      {R"({"kind": "saved", "id": "x"})", "no whole number \"id\""},
      {R"({"kind": "ready"})", "\"epoch\""},
      {R"({"kind": "ask", "epoch": -2})", "\"epoch\" outside of 0"},
      {R"({"kind": "finished", "epoch": 0.5})", "no whole number \"epoch\""},
      {std::string(5000, ' '), "is 5000 bytes long; up to 4095 are taken"},
      {std::string(4000, '['), "not a JSON object"}};
  for (const auto& [line, reason] : refusals) {
    INFO(line.substr(0, 60));
    CHECK_THROWS_WITH(parse_worker_message(line), contains_text(reason));
    CHECK_THROWS_AS(parse_worker_message(line), error);
  }
}

TEST_CASE("control message: what people are shown has nothing that a terminal obeys", "[control]") {
  messages::bad_node bad_node;
  bad_node.reason =
      "a\x1b[2J\nb\x7f\xc2\x9b"
      "c";
  CHECK(worker_round_trip(bad_node).reason == "a [2J b  c");
}

TEST_CASE("control message: texts that are too long are cut between characters", "[control]") {
  messages::bad_node bad_node;
  for (int i = 0; i < 2000; ++i) bad_node.reason += "ü";
  const std::string text = worker_round_trip(bad_node).reason;
  CHECK(text.size() == elastic::limits::control_text_bytes);
  CHECK(text.substr(text.size() - 2) == "ü");
}

TEST_CASE("control message: progress with too many metrics, or none that JSON can say, arrives",
          "[control]") {
  messages::progress progress;
  progress.step = 1;
  progress.text = std::string(3000, '"');
  progress.metrics["nan"] = std::numeric_limits<double>::quiet_NaN();
  CHECK(worker_round_trip(progress).metrics.empty());
  for (int i = 0; i < 100; ++i) progress.metrics[std::string(100, 'm') + std::to_string(i)] = i;
  CHECK(worker_round_trip(progress).metrics.empty());
  CHECK(worker_round_trip(progress).step == 1);
}

// ---- lines -------------------------------------------------------------------------------------

std::vector<std::string> lines_of(line_intake& intake) {
  std::vector<std::string> lines;
  for (auto entry = intake.next(); entry; entry = intake.next()) {
    lines.push_back(entry->too_long ? "TOO LONG" : std::string(entry->line));
  }
  return lines;
}

TEST_CASE("line intake: lines come whole, however their bytes do", "[control]") {
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
          "[control]") {
  line_intake intake;
  std::vector<std::string> lines;
  for (int i = 0; i < 1000; ++i) {
    intake.append(std::string(100, 'x'));
    for (const std::string& line : lines_of(intake)) lines.push_back(line);
    CHECK(intake.held() < elastic::limits::control_line_bytes);
  }
  CHECK(lines == std::vector<std::string>{"TOO LONG"});
  intake.append("\nnext\n");
  CHECK(lines_of(intake) == std::vector<std::string>{"next"});
  intake.append(std::string(4096, 'y') + "\nlast\n");
  CHECK(lines_of(intake) == std::vector<std::string>{"TOO LONG", "last"});
}

// ---- PyTorch's timers -----------------------------------------------------------------------

TEST_CASE("timer request: a line of PyTorch's client", "[control]") {
  const auto request = parse_timer_request(
      R"({"version": 1, "pid": 123, "scope_id": "train.py#7", "expiration_time": 1767225600.5,)"
      R"( "signal": 9})");
  CHECK(request.pid == 123);
  CHECK(request.scope == "train.py#7");
  CHECK(request.signal == 9);
  REQUIRE(request.expiry);
  CHECK(*request.expiry == elastic::wall_time(1'767'225'600'500ms));
  const auto release = parse_timer_request(
      R"({"version": 1, "pid": 123, "scope_id": "a", "expiration_time": -1, "signal": 0})");
  CHECK_FALSE(release.expiry);
}

TEST_CASE("timer request: what is not one is refused", "[control]") {
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
          "[control]") {
  constexpr std::size_t bound = elastic::limits::control_line_bytes;
  elastic::detail::random_source random(20'261'122);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    std::vector<std::string> expected;
    for (auto remaining = random.below(12); remaining > 0; --remaining) {
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
    std::vector<std::string> lines;
    for (std::size_t position = 0; position < bytes.size();) {
      const std::size_t size = 1 + random.below(random.below(2) == 0 ? 7 : 2 * bound);
      intake.append(std::string_view(bytes).substr(position, size));
      position += size;
      for (const std::string& line : lines_of(intake)) lines.push_back(line);
      if (intake.held() >= bound) FAIL(intake.held() << " bytes are held");
    }
    if (lines != expected) FAIL("round " << round << ": the lines are others");
    CHECK(intake.held() == 0);
  }
}

TEST_CASE("control message: a line is taken up to the last byte that is allowed", "[control]") {
  constexpr std::size_t longest = elastic::limits::control_line_bytes - 1;
  const std::string nested_text = std::string(longest / 2, '[') + std::string(longest / 2, ']');
  const auto pad = [](const std::string& line, std::size_t length) {
    return "{" + std::string(length - line.size(), ' ') + line.substr(1);
  };
  const auto check = [&](const std::string& line, auto parse) {
    CHECK_NOTHROW(parse(pad(line, longest)));
    for (const std::size_t length : {longest + 1, longest + 2, 100 * longest}) {
      CHECK_THROWS_AS(parse(pad(line, length)), error);
    }
    CHECK_THROWS_AS(parse(nested_text), error);
    CHECK_THROWS_AS(parse(""), error);
  };
  check(R"({"kind": "bye"})", [](const std::string& line) { parse_worker_message(line); });
  check(R"({"kind": "pause"})", [](const std::string& line) { parse_agent_message(line); });
  check(R"({"pid": 1, "scope_id": "a", "expiration_time": 1, "signal": 9})",
        [](const std::string& line) { parse_timer_request(line); });
}

TEST_CASE("control message: whatever comes is a message or refused in one printable line",
          "[control]") {
  const std::vector<std::string> seeds{
      R"({"kind": "hello", "version": 1, "local_rank": 0, "checkpoints": true})",
      R"({"kind": "progress", "step": 12, "total": 100, "text": "é", "metrics": {"loss": 0.25}})",
      R"({"kind": "expires", "timer": "t", "after": 2.5})",
      R"({"kind": "not_saved", "id": 4, "reason": "full"})",
      R"({"kind": "ask", "epoch": 4, "reason": "reset"})",
      R"({"kind": "change", "epoch": 4, "within": 10})",
      R"({"kind": "rejoin", "epoch": 5, "environment": {"RANK": "1", "MASTER_PORT": "29500"}})",
      R"({"version": 1, "pid": 12, "scope_id": "a", "expiration_time": 17.5, "signal": 9})"};
  elastic::detail::random_source random(20'260'101);
  int accepted_lines = 0;
  constexpr int rounds = 20'000;
  for (int round = 0; round < rounds; ++round) {
    std::string line = seeds[random.below(seeds.size())];
    const auto changes = random.below(6);
    for (std::uint64_t i = 0; i < changes && !line.empty(); ++i) {
      const auto position = random.below(line.size());
      switch (random.below(4)) {
        case 0: line[position] = static_cast<char>(random.below(256)); break;
        case 1: line.erase(position, random.below(8)); break;
        case 2:
          line.insert(position, line.substr(random.below(line.size()), random.below(20)));
          break;
        default: line.insert(position, 1, "{}[]\",:0\\-e"[random.below(11)]);
      }
    }
    const auto check = [&](auto parse) {
      try {
        parse(line);
        ++accepted_lines;
      } catch (const error& refusal) {
        const std::string reason = refusal.what();
        const bool is_printable = std::all_of(reason.begin(), reason.end(), [](char letter) {
          return letter == '\t' || static_cast<unsigned char>(letter) >= 0x20;
        });
        if (reason.size() > 1000 || !is_printable) FAIL(reason);
      }
    };
    check([](const std::string& text) { parse_worker_message(text); });
    check([](const std::string& text) { parse_agent_message(text); });
    check([](const std::string& text) { parse_timer_request(text); });
  }
  CHECK(accepted_lines > rounds / 10);
}

}  // namespace control_message_tests
