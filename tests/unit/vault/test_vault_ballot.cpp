// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The votes of nodes on a generation, without their workers.

#include <elastic/base/log.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/vault/detail/vault_ballot.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>
#include <support/noting_store.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace vault_ballot_test {

using namespace std::chrono_literals;

/// A store whose answers to votes are late, and an earlier one later than those that follow.
class late_store final : public test::noting_store {
 public:
  late_store(test::manual_time& time, std::shared_ptr<std::vector<std::string>> notes)
      : noting_store(std::make_shared<memory_store>(), std::move(notes)), time_(time) {}

  task<std::int64_t> add(std::string key, std::int64_t delta) override {
    const time_point answered_at = time_.now() + delay_;
    delay_ -= 100ms;
    const std::int64_t sum = co_await noting_store::add(std::move(key), delta);
    co_await time_.sleep_until(answered_at);
    co_return sum;
  }

 private:
  test::manual_time& time_;
  std::chrono::milliseconds delay_{1000};
};

/// The only generation of a round of three nodes.
class vault_election {
 public:
  explicit vault_election(test::manual_time& time) {
    rendezvous_round round;
    round.agents = std::make_shared<late_store>(time, notes_);
    round.group_world_size = static_cast<int>(nodes.size());
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      nodes[index] = std::make_unique<detail::vault_ballot>(
          time.context().get_executor(), time.share(), logger(), round,
          [this, index](std::int64_t) { completions.insert(index); });
    }
  }

  /// What was written into the store.
  std::set<std::string> results() const {
    std::set<std::string> texts;
    for (const std::string& note : *notes_) {
      if (note.starts_with("set ")) texts.insert(note.substr(note.find('=') + 1));
    }
    return texts;
  }

  std::array<std::unique_ptr<detail::vault_ballot>, 3> nodes;
  /// The nodes for which the generation is complete.
  std::set<std::size_t> completions;

 private:
  std::shared_ptr<std::vector<std::string>> notes_ = std::make_shared<std::vector<std::string>>();
};

TIME_TEST("vault ballot: votes that are taken back twice have one result", "[vault]") {
  constexpr std::int64_t number = 1;
  // Two workers of a node, and those of two nodes.
  for (const std::size_t second : {0, 1}) {
    for (const bool have_all_voted : {false, true}) {
      CAPTURE(second, have_all_voted);
      vault_election election(time);
      auto& nodes = election.nodes;
      nodes[0]->vote(number, true);
      nodes[1]->vote(number, true);
      co_await time.sleep_until(time.now() + 61s);
      CHECK(nodes[0]->is_overdue(number));
      if (have_all_voted) nodes[2]->vote(number, true);
      task_group retracting(time.context().get_executor());
      retracting.spawn(nodes[0]->retract(number));
      retracting.spawn(nodes[second]->retract(number));
      if (!have_all_voted) nodes[2]->vote(number, true);
      co_await retracting.wait();
      co_await time.sleep_until(time.now() + 1s);
      CHECK(election.results() == std::set<std::string>{have_all_voted ? "complete" : "given up"});
      CHECK(election.completions.size() == (have_all_voted ? nodes.size() : 0));
      for (const auto& node : nodes) CHECK_FALSE(node->awaits_result(number));
    }
  }
}

}  // namespace vault_ballot_test

}  // namespace
}  // namespace elastic
