// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// In a job with thousands of nodes, the coordinator's work for one event is at most linear in the
// number of nodes, and its work for N events of N nodes is less than quadratic. The tests count the
// nodes that it visits and the messages that it sends.

#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/previous_membership.hpp>
#include <elastic/nodes/detail/rendezvous_coordinator.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace large_job_tests {

using namespace std::chrono_literals;
using namespace elastic::detail::rendezvous_messages;
using elastic::duration;
using elastic::time_point;
using elastic::detail::rendezvous_coordinator;

constexpr int most = 4096;

/// What an event cost.
struct work {
  std::uint64_t visited_nodes = 0;
  std::size_t messages = 0;
};

/// A coordinator with many nodes, named by their numbers.
class crowd {
 public:
  crowd(int min, int max) {
    settings.min_nodes = min;
    settings.max_nodes = max;
  }

  elastic::rendezvous_settings settings;
  time_point now{12h};
  rendezvous_coordinator coordinator{"job", elastic::logger(), 1000};
  /// Messages of one kind since the last `take_work`.
  template <class Message>
  std::size_t count() const {
    std::size_t found = 0;
    for (const auto& answer : answers_) found += std::holds_alternative<Message>(answer.what);
    return found;
  }

  static rendezvous_coordinator::connection link_of(int number) {
    return 2 * static_cast<rendezvous_coordinator::connection>(number) + 1;
  }
  static rendezvous_coordinator::connection witness_of(int number) { return link_of(number) + 1; }

  void greet(int number, std::optional<former_round> former = std::nullopt) {
    coordinator.connected(link_of(number), {});
    hello greeting;
    greeting.run_id = "job";
    const auto unique = static_cast<std::uint64_t>(number);
    greeting.node = {"host", 1 + number, 0, {unique * 0x9e3779b97f4a7c15, unique}};
    greeting.name = fmt::format("node-{}", number);
    greeting.settings = settings;
    greeting.former = std::move(former);
    if (greeting.former) greeting.highest_term = greeting.former->term;
    say(number, greeting);
    coordinator.connected(witness_of(number), {});
    coordinator.received(witness_of(number), witness{greeting.run_id, greeting.node}, now);
  }

  void say(int number, const elastic::detail::rendezvous_request& request) {
    coordinator.received(link_of(number), request, now);
    collect();
  }

  void ask_join(int number, std::int64_t after = -1) {
    say(number, join{after, 600s, {"10.0.0.1", 1, true}});
  }

  void gather(int first, int end) {
    for (int number = first; number < end; ++number) {
      greet(number);
      ask_join(number);
    }
  }

  void cut(int number) {
    coordinator.disconnected(link_of(number), now);
    coordinator.disconnected(witness_of(number), now);
    collect();
  }

  void pass(duration time) {
    now += time;
    coordinator.advance(now);
    collect();
  }

  /// The work since the last call.
  work take_work() {
    const std::uint64_t visited = coordinator.visited_nodes();
    const work done{visited - std::exchange(seen_, visited), answers_.size()};
    answers_.clear();
    return done;
  }

 private:
  void collect() {
    for (auto& answer : coordinator.take_answers()) answers_.push_back(std::move(answer));
    coordinator.take_dropped();
  }

  std::vector<rendezvous_coordinator::sending> answers_;
  std::uint64_t seen_ = 0;
};

/// A few looks at each node of `nodes`, however many events there were.
std::uint64_t linear(int nodes) { return 16U * static_cast<std::uint64_t>(nodes); }

crowd running_job(int nodes, int max) {
  crowd job(nodes, max);
  job.settings.last_call_timeout = 0s;
  job.gather(0, nodes);
  job.pass(1s);
  REQUIRE(job.count<placed>() == static_cast<std::size_t>(nodes));
  job.take_work();
  return job;
}

std::vector<int> numbers(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST_CASE("large job: nodes meet, and meet again, by a few looks at each", "[rendezvous]") {
  for (const int nodes : {256, most}) {
    CAPTURE(nodes);
    crowd job(nodes, nodes);
    job.gather(0, nodes);
    CHECK(job.count<placed>() == static_cast<std::size_t>(nodes));
    CHECK(job.take_work().visited_nodes <= linear(nodes));
    for (const int number : numbers(nodes)) job.ask_join(number, 0);
    CHECK(job.count<placed>() == static_cast<std::size_t>(nodes));
    CHECK(job.take_work().visited_nodes <= linear(nodes));
  }
}

TEST_CASE("large job: it ends by a few looks at each node, in whatever order they finish",
          "[rendezvous]") {
  std::vector<std::vector<int>> orders(3, numbers(most));
  std::reverse(orders[1].begin(), orders[1].end());
  std::shuffle(orders[2].begin(), orders[2].end(), std::mt19937(1));
  for (const auto& order : orders) {
    crowd job = running_job(most, most);
    for (const int number : order) job.say(number, finished{0});
    // The last one is told twice.
    CHECK(job.count<all_finished>() == order.size() + 1);
    for (const int number : order) {
      job.say(number, close_job{elastic::rendezvous_handler::job_end::succeeded, ""});
    }
    for (const int number : order) job.say(number, leave{});
    const work done = job.take_work();
    CHECK(done.visited_nodes <= linear(most));
    CHECK(done.messages <= 4U * most);
    CHECK(job.coordinator.is_idle());
  }
}

TEST_CASE("large job: those that leave before all have finished hold up nobody, and cost little",
          "[rendezvous]") {
  crowd job = running_job(most, most);
  for (int number = 0; number < most - 1; ++number) {
    job.say(number, finished{0});
    job.say(number, leave{});
  }
  job.say(most - 1, finished{0});
  CHECK(job.count<all_finished>() >= 1);
  CHECK(job.take_work().visited_nodes <= linear(most));
}

TEST_CASE("large job: a node that meets again after its success is waited for once more",
          "[rendezvous]") {
  crowd job = running_job(3, 3);
  job.say(0, finished{0});
  job.ask_join(0, 0);
  job.say(1, finished{0});
  CHECK(job.count<all_finished>() == 0);
  job.say(2, finished{0});
  CHECK(job.count<all_finished>() > 0);
}

TEST_CASE("large job: a loss is one look at each node, and so are many at a time", "[rendezvous]") {
  for (const int lost : {1, most / 2}) {
    crowd job = running_job(most, most);
    for (int number = 0; number < lost; ++number) job.cut(number);
    CHECK(job.take_work().visited_nodes == 0);
    job.pass(1s);
    CHECK(job.count<changed>() == static_cast<std::size_t>(most - lost));
    CHECK(job.take_work().visited_nodes <= linear(most));
    for (int number = lost; number < most; ++number) job.ask_join(number, 0);
    CHECK(job.take_work().visited_nodes <= linear(most));
  }
}

TEST_CASE("large job: a node that joins is one look at each, and one that stands by none",
          "[rendezvous]") {
  crowd job = running_job(most, most + 1);
  job.gather(most, most + 1);
  CHECK(job.count<changed>() == most);
  CHECK(job.take_work().visited_nodes <= linear(most));
  job.gather(most + 1, most + 100);
  CHECK(job.take_work().visited_nodes <= 100);
}

TEST_CASE("large job: a keep-alive looks at nobody, though a node is excluded and the rest wait",
          "[rendezvous]") {
  crowd job(most, most + 1);
  job.gather(0, most - 1);
  job.greet(most - 1);
  job.say(most - 1, leave{600s, "bad memory"});
  CHECK(job.take_work().visited_nodes <= linear(most));
  for (const int number : numbers(most - 1)) job.say(number, keep_alive{});
  CHECK(job.count<alive>() == most - 1);
  CHECK(job.take_work().visited_nodes == 0);
}

TEST_CASE("large job: nodes that wait and leave one after the other cost one look each",
          "[rendezvous]") {
  SECTION("while the round has too few") {
    crowd job(most + 1, most + 1);
    job.gather(0, most);
    job.take_work();
    for (const int number : numbers(most)) job.say(number, leave{});
    CHECK(job.take_work().visited_nodes <= linear(most));
  }
  SECTION("while others are to leave the round that ends") {
    crowd job = running_job(most, most);
    for (int number = 0; number < most / 2; ++number) job.ask_join(number, 0);
    for (int number = most / 2; number < most; ++number) job.say(number, leave{});
    CHECK(job.take_work().visited_nodes <= linear(most));
    CHECK(job.coordinator.state().participants.size() == most / 2);
  }
}

TEST_CASE("large job: a server that follows another one takes up its nodes by a few looks at each",
          "[rendezvous]") {
  crowd job(most, most);
  for (const int number : numbers(most)) {
    former_round former;
    former.term = 7;
    former.round = 3;
    former.rank = number;
    former.world = most;
    former.host_rank = 0;
    former.until_end = true;
    job.greet(number, former);
  }
  for (const int number : numbers(most)) job.ask_join(number, 3);
  job.pass(1s);
  CHECK(job.take_work().visited_nodes <= linear(most));
  job.pass(60s);
}

TEST_CASE("large job: whether a former world is over is known without a look at each of its nodes",
          "[rendezvous]") {
  // With a look at each of them at each step this would take minutes.
  const int world = elastic::limits::nodes;
  elastic::detail::previous_membership before;
  former_round former;
  former.term = 7;
  former.round = 3;
  former.world = world;
  former.until_end = true;
  const time_point now{12h};
  before.reported(former, "", 15s, now);
  for (int rank = 0; rank < world; ++rank) {
    REQUIRE_FALSE(before.is_over(now));
    former.rank = rank;
    before.joined(former);
  }
  CHECK(before.is_over(now));
}

}  // namespace large_job_tests
