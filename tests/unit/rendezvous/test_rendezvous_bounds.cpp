// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// How much nodes can make the server of a rendezvous hold, and for how long.

#include <elastic/base/limits.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/rendezvous/native/rendezvous_coordinator.hpp>
#include <elastic/rendezvous/native/rendezvous_message.hpp>
#include <elastic/rendezvous/native/rendezvous_service.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace rendezvous_bounds_tests {

using namespace std::chrono_literals;
using namespace elastic::rendezvous_messages;
using elastic::node_id;
using elastic::rendezvous_answer;
using elastic::rendezvous_coordinator;
using elastic::rendezvous_request;
using elastic::rendezvous_service;
using elastic::rendezvous_settings;
using elastic::time_point;
using elastic::rendezvous_messages::pause;
namespace limits = elastic::limits;

constexpr int max_nodes = 4;
constexpr std::size_t most_connected = 2 * max_nodes + limits::rendezvous_spare_nodes;
constexpr std::size_t most_gone = max_nodes + limits::rendezvous_gone_nodes;

/// The node of this number, and what it says first.
node_id node_of(std::int64_t number) {
  return {fmt::format("host-{}", number), number, 0, {static_cast<std::uint64_t>(number), 1}};
}

hello greeting_of(std::int64_t number) {
  hello greeting;
  greeting.run_id = "job";
  greeting.node = node_of(number);
  greeting.name = fmt::format("node-{}", number);
  greeting.settings.min_nodes = 1;
  greeting.settings.max_nodes = max_nodes;
  return greeting;
}

/// A coordinator whose nodes are numbers: each has the connection of its own number.
class stage {
 public:
  rendezvous_coordinator job{"job"};
  time_point now{12h};

  void say(std::int64_t number, const rendezvous_request& request) {
    job.received(link_of(number), request, now);
  }
  void connect(std::int64_t number, std::optional<hello> greeting = std::nullopt) {
    job.connected(link_of(number), {});
    say(number, greeting ? *greeting : greeting_of(number));
  }
  void join(std::int64_t number) {
    connect(number);
    say(number, elastic::rendezvous_messages::join{-1, 600s, {"a", 1, true}});
  }
  void cut(std::int64_t number) { job.disconnected(link_of(number), now); }
  bool knows(std::int64_t number) const { return job.knows(node_of(number)); }
  void pass(elastic::duration span) {
    now += span;
    job.advance(now);
  }

  /// What a node was told last, if it was told anything since this was called last.
  std::optional<rendezvous_answer> last_answer_to(std::int64_t number) {
    std::optional<rendezvous_answer> last;
    for (auto& answer : job.take_answers()) {
      if (answer.to == link_of(number)) last = std::move(answer.what);
    }
    return last;
  }
  std::string refusal_of(std::int64_t number) {
    const auto answer = last_answer_to(number);
    const auto* const refusal = answer ? std::get_if<refused>(&*answer) : nullptr;
    return refusal != nullptr ? refusal->why : "";
  }

 private:
  static rendezvous_coordinator::connection link_of(std::int64_t number) {
    return static_cast<rendezvous_coordinator::connection>(number);
  }
};

// ---- texts --------------------------------------------------------------------------------------

/// A text that JSON makes six times as long.
std::string costly(std::size_t bytes) { return std::string(bytes, '\x01'); }

TEST_CASE("rendezvous bounds: a text that is too long is refused, with the bound",
          "[rendezvous]") {
  struct sized_text {
    std::string field;
    std::size_t most;
    rendezvous_request request;
  };
  const auto with = [](auto change) {
    hello greeting = greeting_of(1);
    greeting.former = former_round{.server = "10.0.0.1"};
    change(greeting);
    return greeting;
  };
  const std::size_t one_more = GENERATE(0, 1);
  const auto text = [one_more](std::size_t most) { return std::string(most + one_more, 'a'); };
  const std::vector<sized_text> texts = {
      {"run_id", limits::run_id_bytes,
       with([&](hello& to) { to.run_id = text(limits::run_id_bytes); })},
      {"run_id", limits::run_id_bytes, witness{text(limits::run_id_bytes), node_of(1)}},
      {"host", limits::host_name_bytes,
       with([&](hello& to) { to.node.host = text(limits::host_name_bytes); })},
      {"server", limits::numeric_address_bytes,
       with([&](hello& to) { to.former->server = text(limits::numeric_address_bytes); })},
      {"address", limits::host_name_bytes,
       elastic::rendezvous_messages::join{-1, 1s, {text(limits::host_name_bytes), 1, true}}},
      {"why", limits::pause_text_bytes, pause{text(limits::pause_text_bytes), false}},
      {"text", limits::node_report_bytes, report{text(limits::node_report_bytes)}},
  };
  for (const sized_text& entry : texts) {
    CAPTURE(entry.field, one_more);
    const std::string message = elastic::to_text(entry.request);
    if (one_more == 0) {
      CHECK(elastic::to_text(elastic::parse_rendezvous_request(message)) == message);
      continue;
    }
    try {
      elastic::parse_rendezvous_request(message);
      FAIL_CHECK("was taken");
    } catch (const elastic::error& refusal) {
      CHECK(std::string(refusal.what()) ==
            fmt::format("a message of the rendezvous has \"{}\" of {} bytes; up to {} are taken",
                        entry.field, entry.most + 1, entry.most));
    }
  }
}

TEST_CASE("rendezvous bounds: of a long reason the beginning counts", "[rendezvous]") {
  // Cut where it is said, and where an earlier release did not.
  const std::string letter = "\xc3\xbc";
  const std::string kept(limits::failure_text_bytes - 1, 'x');
  CHECK(elastic::to_text(rendezvous_request(failed{1, kept + letter})) ==
        elastic::to_text(rendezvous_request(failed{1, kept})));
  const std::string long_text(60'000, 'x');
  const auto heard = std::get<failed>(elastic::parse_rendezvous_request(
      R"({"kind": "failed", "round": 1, "what": ")" + long_text + "\"}"));
  CHECK(heard.what == long_text.substr(0, limits::failure_text_bytes));
  const auto closing = std::get<close_job>(elastic::parse_rendezvous_request(
      R"({"kind": "close", "end": "failed", "why": ")" + long_text + "\"}"));
  CHECK(closing.why == long_text.substr(0, limits::ending_text_bytes));
}

TEST_CASE("rendezvous bounds: whatever nodes say, each answer fits into a message",
          "[rendezvous]") {
  stage job;
  const auto say = [&job](std::int64_t number, const rendezvous_request& request) {
    job.say(number, elastic::parse_rendezvous_request(elastic::to_text(request)));
  };
  for (const std::int64_t number : {1, 2}) {
    hello greeting = greeting_of(number);
    greeting.node.host = costly(limits::host_name_bytes);
    greeting.settings.max_nodes = 2;
    greeting.former = former_round{.server = costly(limits::numeric_address_bytes)};
    for (std::size_t count = 0; count < limits::excluded_nodes; ++count) {
      greeting.excluded.push_back({std::string(limits::node_name_bytes - 2, '"') +
                                       fmt::format("{:02}", count),
                                   1h, std::string(limits::exclusion_reason_bytes, '"')});
    }
    job.job.connected(static_cast<std::uint64_t>(number), {});
    say(number, greeting);
    std::string addresses;
    const std::string address = "fd00:1111:2222:3333:4444:5555:6666:7777 ";
    while (addresses.size() + address.size() <= limits::node_addresses_bytes) addresses += address;
    say(number, elastic::rendezvous_messages::join{
                    -1, 600s, {costly(limits::host_name_bytes), 1, true}, addresses});
  }
  // Until nothing of the former world can be left.
  for (int count = 0; count < 20 && !job.job.state().complete; ++count) {
    job.pass(4s);
    for (const std::int64_t number : {1, 2}) job.say(number, keep_alive{});
  }
  REQUIRE(job.job.state().complete);
  const std::int64_t round = job.job.state().round;
  say(1, failed{round, costly(60'000)});
  say(2, pause{costly(limits::pause_text_bytes), false});
  say(1, close_job{elastic::job_end::failed, costly(60'000)});
  std::size_t kinds = 0;
  for (const auto& answer : job.job.take_answers()) {
    const std::string text = elastic::to_text(answer.what);
    CHECK(text.size() <= limits::rendezvous_message_bytes);
    elastic::parse_rendezvous_answer(text);
    kinds |= std::size_t{1} << answer.what.index();
  }
  const auto was_answered = [kinds](const rendezvous_answer& kind) {
    return (kinds >> kind.index() & 1) != 0;
  };
  for (const rendezvous_answer& kind : std::vector<rendezvous_answer>{
           welcome{}, peers{}, placed{}, changed{}, closed{}}) {
    CAPTURE(elastic::to_text(kind));
    CHECK(was_answered(kind));
  }
}

}  // namespace rendezvous_bounds_tests
