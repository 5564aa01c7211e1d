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
    return node(group_rank, [time = time_, group_rank, delay](round_inspection::request) {
      return answer(time, group_rank, delay);
    });
  }

  round_inspection node(int group_rank, round_inspection::inspector inspect,
                        bool is_open = true) const {
    rendezvous_round round;
    round.group_rank = group_rank;
    round.group_world_size = 4;
    round.agents = agents_;
    return round_inspection(round, time_, logger(), std::move(inspect), is_open);
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

using texts = std::vector<std::string>;

task<std::string> keep(texts& heard, round_inspection::request told) {
  const bool has_ended = told.what == round_inspection::question::ended;
  heard.push_back(has_ended ? "ended " + told.reason : "digests");
  co_return std::string();
}

/// A node that keeps what it is told, and answers nothing.
round_inspection hearing(const stage& job, int group_rank, texts& heard, bool is_open = true) {
  return job.node(
      group_rank,
      [&heard](round_inspection::request told) { return keep(heard, std::move(told)); }, is_open);
}

round_inspection::request telling(std::string what) {
  round_inspection::request told;
  told.what = round_inspection::question::ended;
  told.reason = std::move(what);
  return told;
}

/// Two nodes tell, and then the first one asks.
task<void> tell_and_ask(round_inspection& first, round_inspection& second, answers& learned) {
  const bool is_first = co_await first.tell_first(telling("5 0-7"));
  const bool is_second_first = co_await second.tell_first(telling("5 8-15"));
  CHECK(is_first);
  CHECK_FALSE(is_second_first);
  learned = co_await first.ask(round_inspection::request());
}

TIME_TEST("round inspection: what a node tells first, all others hear once", "[inspection]") {
  const stage job(time);
  texts zero_heard, one_heard, two_heard, three_heard;
  round_inspection zero = hearing(job, 0, zero_heard), one = hearing(job, 1, one_heard);
  // One that is not open answers no questions.
  round_inspection two = hearing(job, 2, two_heard, false), three = job.node(3, 0ms);
  answers learned;
  co_await race(tell_and_ask(zero, one, learned), zero.answer_all(), one.answer_all(),
                two.answer_all(), three.answer_all());
  CHECK(zero_heard == texts{"digests"});
  CHECK(one_heard == texts{"ended 5 0-7", "digests"});
  CHECK(two_heard == texts{"ended 5 0-7"});
  CHECK(learned == answers{"", std::nullopt, std::nullopt, "3"});
}

/// Answers for a second, and then again.
task<void> answer_twice(round_inspection& node, std::shared_ptr<time_source> time) {
  co_await with_deadline(*time, time->now() + 1s, node.answer_all());
  co_await node.answer_all();
}

task<void> tell_early_and_late(round_inspection& teller, std::shared_ptr<time_source> time) {
  co_await teller.tell_first(telling("0"));
  co_await time->sleep_until(time->now() + 2s);
  co_await teller.ask(telling("1"));
}

TIME_TEST("round inspection: a node that answers again takes only what is new", "[inspection]") {
  const stage job(time);
  texts heard;
  round_inspection zero = job.node(0, 0ms), one = hearing(job, 1, heard);
  co_await race(tell_early_and_late(zero, time.share()), answer_twice(one, time.share()));
  CHECK(heard == texts{"ended 0", "ended 1"});
}

TIME_TEST("round inspection: a node alone is the first that tells", "[inspection]") {
  rendezvous_round round;
  round_inspection alone(round, time.share(), logger(), nullptr);
  const bool is_first = co_await alone.tell_first(telling("0"));
  CHECK(is_first);
}

}  // namespace round_inspection_test

}  // namespace
}  // namespace elastic
