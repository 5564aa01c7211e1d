// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/failure_report.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/rendezvous/exit_barrier.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::test {

/// A rendezvous that the test controls and that records its calls.
class fake_rendezvous final : public rendezvous_handler {
 public:
  explicit fake_rendezvous(std::shared_ptr<std::vector<std::string>> record)
      : notes(std::move(record)) {}

  std::string job = "a job";
  /// This node's group rank in every round.
  int group_rank = 0;
  int group_world_size = 1;
  /// The store of all rounds; share it between the handlers of several nodes.
  std::shared_ptr<store> agents = std::make_shared<memory_store>();
  /// Called at the start of each round with its number; an exception fails the round.
  std::function<void(int)> on_round;
  /// Changes each round before it is returned.
  std::function<void(rendezvous_round&)> spoil;
  /// The round of this number waits until it is cancelled, or `let_meet` is called.
  int hold_at = -1;
  /// If set, `close` or `shutdown` throws it.
  std::exception_ptr close_failure;
  std::exception_ptr shutdown_failure;
  /// The error that `wait_for_change` throws when it is cancelled.
  std::exception_ptr failure_when_cancelled;

  /// The error that `report_failure` throws.
  std::exception_ptr report_failure_error;
  /// The change that `change` reports.
  rendezvous_change what{rendezvous_change::cause::node_waiting, "node b_1_0 waits to join"};
  /// How often workers of the job have failed.
  int failures = 0;
  /// Whether `report_failure` answers that another node's failure was counted.
  bool failure_is_elsewhere = false;

  std::shared_ptr<std::vector<std::string>> notes;
  /// How many coroutines wait for a change.
  int watchers = 0;
  /// How many wait in `next_round`.
  int joining = 0;

  void let_meet() { held_->set(); }

  /// The membership changes.
  void change() { changed_->set(); }
  /// Breaks the connection to the others: everyone who waits for a change gets the error.
  void break_down(std::exception_ptr failure) {
    breakdown_ = std::move(failure);
    changed_->set();
  }

  /// The result of `obstacle`.
  std::string hindrance;
  std::string obstacle() const override { return hindrance; }

  std::string backend() const override { return "c10d"; }
  std::string run_id() const override { return job; }

  /// The error that `pause` throws.
  std::exception_ptr pause_failure;
  /// Whether the server does not know of a pause yet.
  bool is_pause_under_way = false;

  void pause(std::string why, bool saves_first) override {
    if (pause_failure) std::rethrow_exception(pause_failure);
    notes->push_back("pause: " + why);
    if (is_pause_under_way) return;
    what = rendezvous_change{rendezvous_change::cause::node_waiting, std::move(why)};
    what.is_pause = true;
    what.saves_first = saves_first;
    is_paused_ = true;
    if (changed_) changed_->set();
  }
  void resume() override {
    notes->push_back("resume");
    is_paused_ = false;
    if (resumed_) resumed_->set();
  }

  task<rendezvous_round> next_round() override {
    auto executor = co_await asio::this_coro::executor;
    resumed_ = std::make_shared<event_flag>(executor);
    const std::shared_ptr<event_flag> resumed = resumed_;
    while (is_paused_) co_await resumed->wait();
    const int number = rounds_++;
    notes->push_back(fmt::format("round {}", number));
    if (on_round) on_round(number);
    if (number == hold_at) {
      const counted here(joining);
      const auto held = held_ = std::make_shared<event_flag>(executor);
      co_await held->wait();
    }
    changed_ = std::make_shared<event_flag>(executor);
    fenced_ = std::make_shared<event_flag>(executor);
    rendezvous_round met;
    met.round = number;
    met.group_rank = group_rank;
    met.group_world_size = group_world_size;
    met.restarts = failures;
    round_agents_ = std::make_shared<prefix_store>(fmt::format("round_{}", number), agents);
    met.agents = round_agents_;
    met.master.address = "192.0.2.1";
    met.master.port = 29501;
    // Whoever serves the store inspects the connections of its workers after half a minute, on a
    // thread, for which virtual time does not wait.
    met.master.served_by_agent = false;
    if (spoil) spoil(met);
    co_return met;
  }

  task<rendezvous_change> wait_for_change() override {
    const counted here(watchers);
    const std::shared_ptr<event_flag> changed = changed_;
    try {
      co_await changed->wait();
    } catch (...) {
      if (failure_when_cancelled) std::rethrow_exception(failure_when_cancelled);
      throw;
    }
    if (breakdown_) std::rethrow_exception(breakdown_);
    rendezvous_change change = what;
    change.restarts = failures;
    co_return change;
  }

  task<rendezvous_change> report_failure(std::string reason) override {
    if (report_failure_error) std::rethrow_exception(report_failure_error);
    rendezvous_change change{rendezvous_change::cause::worker_failed, std::move(reason),
                             ++failures};
    change.on_other_node = failure_is_elsewhere;
    co_return change;
  }

  task<void> exit_barrier() override {
    co_await elastic::exit_barrier(round_agents_, group_world_size);
  }

  /// Lets the others continue without this node.
  void fence() { fenced_->set(); }
  task<void> wait_for_fence() override {
    const std::shared_ptr<event_flag> fenced = fenced_;
    if (fenced) co_return co_await fenced->wait();
    co_await rendezvous_handler::wait_for_fence();
  }

  task<void> close(rendezvous_handler::job_end how, std::string) override {
    notes->push_back(how == rendezvous_handler::job_end::succeeded ? "close" : "close as failed");
    if (close_failure) std::rethrow_exception(close_failure);
    co_return;
  }
  task<void> shutdown() override {
    notes->push_back("shutdown");
    if (shutdown_failure) std::rethrow_exception(shutdown_failure);
    co_return;
  }

 private:
  struct counted {
    explicit counted(int& number) : number_(number) { ++number_; }
    ~counted() { --number_; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    int& number_;
  };

  int rounds_ = 0;
  std::shared_ptr<store> round_agents_;
  std::shared_ptr<event_flag> held_;
  std::shared_ptr<event_flag> changed_;
  std::shared_ptr<event_flag> fenced_;
  std::shared_ptr<event_flag> resumed_;
  bool is_paused_ = false;
  std::exception_ptr breakdown_;
};

}  // namespace elastic::test
