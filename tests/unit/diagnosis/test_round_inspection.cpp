// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/diagnosis/detail/round_inspection.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/store/memory_store.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace round_inspection_test {

using namespace std::chrono_literals;
using detail::round_inspection;
using test::manual_time;
using answers = std::vector<std::optional<std::string>>;

/// A store behind a network: each request takes a millisecond.
class distant_store final : public store {
 public:
  distant_store(std::shared_ptr<store> inner, std::shared_ptr<time_source> time)
      : inner_(std::move(inner)), time_(std::move(time)) {}

  task<void> set(std::string key, std::string value) override {
    co_await travel();
    co_await inner_->set(std::move(key), std::move(value));
  }
  task<std::string> get(std::string key) override {
    co_await travel();
    co_return co_await inner_->get(std::move(key));
  }
  task<std::int64_t> add(std::string key, std::int64_t delta) override {
    co_await travel();
    co_return co_await inner_->add(std::move(key), delta);
  }
  task<bool> check(key_list keys) override {
    co_await travel();
    co_return co_await inner_->check(std::move(keys));
  }
  task<bool> erase(std::string key) override {
    co_await travel();
    co_return co_await inner_->erase(std::move(key));
  }
  // Nobody asks these of it.
  task<std::string> compare_set(std::string key, std::string expected,
                                std::string desired) override {
    return inner_->compare_set(std::move(key), std::move(expected), std::move(desired));
  }
  task<void> wait(key_list keys) override { return inner_->wait(std::move(keys)); }
  task<std::int64_t> num_keys() override { return inner_->num_keys(); }
  task<void> append(std::string key, std::string value) override {
    return inner_->append(std::move(key), std::move(value));
  }
  task<std::vector<std::string>> multi_get(key_list keys) override {
    return inner_->multi_get(std::move(keys));
  }
  task<void> multi_set(key_value_list pairs) override {
    return inner_->multi_set(std::move(pairs));
  }

 private:
  task<void> travel() { return time_->sleep_until(time_->now() + 1ms); }

  std::shared_ptr<store> inner_;
  std::shared_ptr<time_source> time_;
};

/// The nodes of one round. Each answers with its number.
class stage {
 public:
  explicit stage(manual_time& time)
      : time_(std::shared_ptr<void>(), &time),
        agents_(std::make_shared<distant_store>(std::make_shared<memory_store>(), time_)) {}

  /// @param delay  how long the inspection of its workers takes
  round_inspection node(int group_rank, duration delay) const {
    rendezvous_round round;
    round.group_rank = group_rank;
    round.group_world_size = 4;
    round.agents = agents_;
    return round_inspection(round, time_, logger(),
                            [time = time_, group_rank, delay](round_inspection::request) {
                              return answer(time, group_rank, delay);
                            });
  }

  /// What a node learns that asks.
  static task<void> ask(round_inspection& asker, answers& learned) {
    learned = co_await asker.ask(round_inspection::request());
  }

 private:
  static task<std::string> answer(std::shared_ptr<time_source> time, int number, duration delay) {
    co_await time->sleep_until(time->now() + delay);
    co_return std::to_string(number);
  }

  std::shared_ptr<time_source> time_;
  std::shared_ptr<store> agents_;
};

TIME_TEST("round inspection: every node answers", "[inspection]") {
  const stage job(time);
  round_inspection zero = job.node(0, 0ms), one = job.node(1, 10ms);
  round_inspection two = job.node(2, 2s), three = job.node(3, 0ms);
  answers learned;
  co_await race(stage::ask(zero, learned), one.answer_all(), two.answer_all(), three.answer_all());
  CHECK(learned == answers{"0", "1", "2", "3"});
  CHECK(time.elapsed() < 2100ms);
}

TIME_TEST("round inspection: a node that left hides none behind it", "[inspection]") {
  const stage job(time);
  round_inspection zero = job.node(0, 0ms), two = job.node(2, 1s), three = job.node(3, 2200ms);
  answers learned;
  co_await race(stage::ask(zero, learned), two.answer_all(), three.answer_all());
  CHECK(learned == answers{"0", std::nullopt, "2", "3"});
  CHECK(time.elapsed() <= limits::inspection_answer);
}

TIME_TEST("round inspection: a node that answers too late counts as silent", "[inspection]") {
  const stage job(time);
  round_inspection zero = job.node(0, 0ms), one = job.node(1, 1h), three = job.node(3, 0ms);
  answers learned;
  co_await race(stage::ask(zero, learned), one.answer_all(), three.answer_all());
  CHECK(learned == answers{"0", std::nullopt, std::nullopt, "3"});
  CHECK(time.elapsed() <= limits::inspection_answer);
}

}  // namespace round_inspection_test

}  // namespace
}  // namespace elastic
