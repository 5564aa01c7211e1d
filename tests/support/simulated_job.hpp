// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/process/detail/spawn.hpp>
#include <elastic/rendezvous/exit_barrier.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <support/fake_launcher.hpp>
#include <support/host_clock.hpp>
#include <support/manual_time.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::test {

/// Identifies a round of a job: the term of the server that made it, and its number there.
struct round_name {
  explicit round_name(const rendezvous_round& of) : term(of.term), round(of.round) {}
  std::int64_t term;
  std::int64_t round;
  friend auto operator<=>(const round_name&, const round_name&) = default;
};

/// The choices that the seed makes before anything runs.
struct simulated_plan {
  explicit simulated_plan(elastic::detail::random_source& random)
      : nodes(3 + static_cast<int>(random.below(7))),
        max_nodes(1 + static_cast<int>(random.below(static_cast<std::uint64_t>(nodes)))),
        min_nodes(1 + static_cast<int>(random.below(static_cast<std::uint64_t>(max_nodes)))),
        max_restarts(static_cast<int>(random.below(6))),
        faults(static_cast<int>(random.below(16))),
        failing(random.below(3) == 0),
        worker_grace(random.below(4) == 0 ? 6 : 2) {}

  int nodes;
  int max_nodes;
  int min_nodes;
  int max_restarts;
  int faults;
  /// Whether workers sometimes fail by themselves.
  bool failing;
  /// How long a stopped worker may take to end.
  std::chrono::seconds worker_grace;
};

/// One node of a simulated_job. A restarted host counts as another node.
struct simulated_node {
  int id;
  /// Anyone who knows it can take the node's place.
  detail::node_id::random_number number;
  std::shared_ptr<host_clock> clock;
  std::shared_ptr<fake_launcher> launcher = std::make_shared<fake_launcher>();
  std::unique_ptr<local_agent> agent;
  asio::cancellation_signal cancel;
  /// The round of each of its workers, in the order of starts; empty: the worker has left a round
  /// and waits for the next.
  std::vector<std::optional<round_name>> worker_rounds;
  /// The last round that it joined.
  std::optional<rendezvous_round> round;
  bool crashed = false;
  bool ended = false;
  /// Whether it could have learned how the job ended.
  bool is_informed = true;
  /// Others have closed the job as failed.
  bool was_closed = false;
  /// Its own result; none if it was told how the job ended.
  std::optional<run_result> result;
  /// The error with which it ended instead of a result.
  std::string failure;
  std::error_code failure_code;
  /// When it started, when it asked for its next round, and when it ended.
  time_point started_at;
  time_point joins_since;
  time_point ended_at;
  /// Whether its workers have succeeded and it waits for the others.
  bool is_done = false;
  /// When it last waited in this way, and in which round.
  time_point done_until;
  std::optional<round_name> done_round;
};

/// A job of several nodes under a virtual clock. The agents and handlers are real; the workers, the
/// clocks and the network are simulated. Everything follows from a seed. Invariants are checked
/// from outside, from what was started where and when.
///
/// The derived class defines the rendezvous, its faults besides crashes and new nodes, and its
/// further invariants. These hold for every job: each rank occurs once in a round, rounds have
/// allowed sizes, a node never returns to a round, the nodes of a round agree on the number of
/// restarts, which is within the budget, no worker outlives its agent, every node ends in bounded
/// time, the job does not succeed for some nodes and fail for others, and restarts are counted, and
/// the job fails, only if workers failed by themselves in as many rounds.
class simulated_job {
 public:
  simulated_job(manual_time& time, std::uint64_t seed)
      : time_(time), random_(seed), plan_(random_) {}
  virtual ~simulated_job() = default;
  simulated_job(const simulated_job&) = delete;
  simulated_job& operator=(const simulated_job&) = delete;

  /// Runs the job and checks the invariants.
  task<void> run() {
    const time_point begin = time_.now();
    for (int node = 0; node < plan_.nodes; ++node) {
      start_node_after(std::chrono::milliseconds(random_.below(20'000)));
    }
    for (int fault = 0; fault < plan_.faults; ++fault) {
      spawn(cause_trouble(begin + std::chrono::milliseconds(random_.below(60'000))));
    }
    co_await time_.sleep_until(begin + troubled_time);
    note("the troubles are over");
    calm_ = true;
    calm_since_ = time_.now();
    end_troubles();
    const time_point limit = time_.now() + patience;
    while (!all_ended() && time_.now() < limit) {
      co_await time_.sleep_until(time_.now() + std::chrono::seconds(1));
    }
    for (const auto& node : nodes_) {
      if (!node->ended) complain(fmt::format("node {} has not come to an end", node->id));
    }
    check_outcome();
    check_ends();
    over_ = true;
    for (const auto& node : nodes_) node->cancel.emit(asio::cancellation_type::terminal);
    close_up();
    co_await time_.sleep_until(time_.now() + std::chrono::seconds(60));
  }

  /// The violations, in the order in which they occurred.
  const std::vector<std::string>& complaints() const { return complaints_; }
  /// The events, each with its time.
  const std::vector<std::string>& notes() const { return notes_; }
  bool had_round() const { return !rounds_.empty(); }

 protected:
  /// Faults happen during this time. After it, workers succeed and every node must end.
  static constexpr std::chrono::seconds troubled_time{60};
  static constexpr std::chrono::seconds join_timeout{30};
  /// How long a node may take after the faults: to be given up, to wait for others, to work, and to
  /// leave.
  static constexpr duration patience =
      std::chrono::seconds(15) + 3 * join_timeout + std::chrono::seconds(30);

  /// What the members of a round were told.
  struct known_round {
    std::set<int> worlds;
    std::set<int> ranks;
    std::set<int> restarts;
  };

  // ---- rendezvous -----------------------------------------------------------------------------

  virtual std::shared_ptr<rendezvous_handler> make_handler(simulated_node& node,
                                                           rendezvous_parameters parameters) = 0;
  /// Causes a fault of a node that is specific to this rendezvous.
  virtual task<void> trouble(simulated_node& node, duration span) = 0;
  /// Adjusts the worker_spec of a node.
  virtual void shape(worker_spec&) {}
  /// The behaviour of a worker, the `number`th that was started on its node.
  virtual task<void> live(simulated_node& node, std::shared_ptr<fake_process> self,
                          std::size_t number) {
    const bool fails = is_failing_worker();
    const time_point end = end_of_work();
    co_await work_until(self, end);
    if (!self->running()) co_return;
    const bool has_failed = fails && !calm_;
    if (has_failed) note_failing_round(*node.worker_rounds.at(number));
    self->exit(has_failed ? 1 : 0);
  }
  /// The number of kinds of specific faults; each kind gets a share of all faults.
  virtual int kinds_of_trouble() const = 0;
  /// Cuts off a dead node: nothing that it sends arrives any more.
  virtual void cut_for_good(simulated_node& node) = 0;
  /// Ends all faults.
  virtual void end_troubles() = 0;
  /// Ends everything that is still in progress once the job is over.
  virtual void close_up() = 0;

  /// Called when a node has learned the size of its round, which `known` does not contain yet.
  virtual void check_world(const simulated_node& node, const known_round& round) = 0;
  /// Called when a node has joined a round.
  virtual void entered_round(const simulated_node&) {}
  /// Called when `starting` starts a worker while `other` runs one of another round.
  virtual void found_other_round(const simulated_node& starting, const simulated_node& other,
                                 const fake_process& its_worker, round_name its_round) = 0;
  /// Called before a node asks for its next round, when it is in none.
  virtual void left_round(simulated_node&) {}
  /// Called when a node has learned that the workers of its round have succeeded on every node.
  virtual void passed_barrier(const simulated_node&) {}
  /// Called when a node has ended with an error.
  virtual void check_failure(const simulated_node&) = 0;
  /// Called when all nodes have ended or should have.
  virtual void check_ends() {}
  /// Called when a node ends: notes whether it knows how the job ended.
  virtual void note_knowledge(simulated_node& node) { node.is_informed = could_know(node); }
  /// Whether a node that ends now knows how the job ended, rather than only that it is alone.
  virtual bool could_know(const simulated_node&) const { return true; }

  // ---- for derived classes --------------------------------------------------------------------

  void note(std::string text) {
    const double seconds = std::chrono::duration<double>(time_.elapsed()).count();
    notes_.push_back(fmt::format("{:9.4f} {}", seconds, text));
  }

  void complain(std::string text) {
    note("WRONG: " + text);
    complaints_.push_back(std::move(text));
  }

  /// Kills a whole node at once: its agent sends nothing any more, and its workers die.
  void crash(simulated_node& node) {
    if (node.crashed || node.ended) return;
    note(fmt::format("node {} crashes", node.id));
    node.crashed = true;
    cut_for_good(node);
    for (const auto& worker : node.launcher->started) {
      if (worker->running()) worker->end(exit_status::signalled(SIGKILL));
    }
    node.cancel.emit(asio::cancellation_type::terminal);
  }

  bool is_failing_worker() { return plan_.failing && random_.below(4) == 0; }

  time_point end_of_work() {
    const std::uint64_t longest = random_.below(8) == 0 ? 400'000 : 40'000;
    return time_.now() + std::chrono::milliseconds(200 + random_.below(longest));
  }

  /// Waits until `end`, the end of the process, or the end of the faults.
  task<void> work_until(std::shared_ptr<fake_process> self, time_point end) {
    constexpr std::chrono::milliseconds look{500};
    while (self->running() && time_.now() < end && !calm_) {
      const time_point next_look = std::min(end, time_.now() + look);
      co_await time_.sleep_until(next_look);
    }
  }

  /// Notes that a worker has failed by itself in this round.
  void note_failing_round(round_name round) { failing_rounds_.insert(round); }

  /// Checks, when a worker begins in a round, that no worker runs in another round.
  void check_other_rounds(const simulated_node& starting, round_name round) {
    for (const auto& node : nodes_) {
      const auto& started = node->launcher->started;
      for (std::size_t place = 0; place < started.size(); ++place) {
        const std::optional<round_name> its_round = node->worker_rounds.at(place);
        if (!its_round || *its_round == round || !started[place]->running()) continue;
        found_other_round(starting, *node, *started[place], *its_round);
      }
    }
  }

  /// Starts a further node.
  void start_node_after(duration delay) { spawn(start_node_later(delay)); }

  void spawn(task<void> work) {
    asio::co_spawn(time_.context(), std::move(work), [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
  }

  manual_time& time_;
  elastic::detail::random_source random_;
  simulated_plan plan_;
  std::vector<std::unique_ptr<simulated_node>> nodes_;
  std::map<round_name, known_round> rounds_;
  bool calm_ = false;
  time_point calm_since_;
  bool over_ = false;

 private:
  // Notes the rounds that a node joins and leaves.
  class observed_rendezvous final : public rendezvous_handler {
   public:
    observed_rendezvous(simulated_job& by, simulated_node& node,
                        std::shared_ptr<rendezvous_handler> inner)
        : by_(by), node_(node), inner_(std::move(inner)) {}

    std::string backend() const override { return inner_->backend(); }
    std::string run_id() const override { return inner_->run_id(); }
    task<rendezvous_round> next_round() override {
      node_.joins_since = by_.time_.now();
      if (node_.is_done) node_.done_until = node_.joins_since;
      node_.is_done = false;
      by_.left_round(node_);
      rendezvous_round met = co_await heard(inner_->next_round());
      by_.placed(node_, met);
      co_return met;
    }
    task<rendezvous_change> wait_for_change() override {
      rendezvous_change change = co_await heard(inner_->wait_for_change());
      by_.note(fmt::format("node {} hears: {}", node_.id, change.reason));
      co_return change;
    }
    task<rendezvous_change> report_failure(std::string reason) override {
      return heard(inner_->report_failure(std::move(reason)));
    }
    task<void> exit_barrier() override {
      by_.note(fmt::format("node {} is done", node_.id));
      node_.is_done = true;
      node_.done_round = round_name(*node_.round);
      co_await heard(inner_->exit_barrier());
      by_.passed_barrier(node_);
    }
    task<void> wait_for_fence() override { return inner_->wait_for_fence(); }
    task<void> close(rendezvous_handler::job_end how, std::string why) override {
      return inner_->close(how, std::move(why));
    }
    task<void> shutdown() override { return inner_->shutdown(); }

   private:
    // Notes if others have closed the job.
    template <class T>
    task<T> heard(task<T> answer) {
      try {
        co_return co_await std::move(answer);
      } catch (const error& failure) {
        if (failure.code() == errc::rendezvous_closed) node_.was_closed = true;
        throw;
      }
    }

    simulated_job& by_;
    simulated_node& node_;
    std::shared_ptr<rendezvous_handler> inner_;
  };

  // ---- nodes ----------------------------------------------------------------------------------

  task<void> start_node_later(duration delay) {
    co_await time_.sleep_until(time_.now() + delay);
    if (!over_) start_node();
  }

  void start_node() {
    auto made = std::make_unique<simulated_node>();
    simulated_node& node = *made;
    node.id = static_cast<int>(nodes_.size());
    node.started_at = time_.now();
    node.clock = random_clock(time_, random_);
    rendezvous_parameters parameters;
    parameters.backend = "c10d";
    parameters.run_id = "job";
    parameters.min_nodes = plan_.min_nodes;
    parameters.max_nodes = plan_.max_nodes;
    parameters.share_worker_store = false;
    parameters.join_timeout = join_timeout;
    parameters.last_call_timeout = std::chrono::seconds(3);
    node.number = {random_.next(), random_.next()};
    detail::internals::of(parameters).identity = detail::node_id{"host", 1, node.id, node.number};
    parameters.time = node.clock;
    local_agent::options options;
    options.workers.program = "worker";
    options.workers.nproc_per_node = 1 + static_cast<int>(random_.below(2));
    options.workers.max_restarts = plan_.max_restarts;
    options.workers.log_dir = "/dev/null";
    options.workers.shutdown_timeout = plan_.worker_grace;
    shape(options.workers);
    options.rendezvous =
        std::make_shared<observed_rendezvous>(*this, node, make_handler(node, parameters));
    options.services.launcher = node.launcher;
    options.services.time = node.clock;
    node.launcher->on_start = [this, &node](fake_process& process) { give_life(node, process); };
    node.agent = std::make_unique<local_agent>(std::move(options));
    nodes_.push_back(std::move(made));
    note(fmt::format("node {} starts", node.id));
    asio::co_spawn(
        time_.context(), node.agent->run(),
        asio::bind_cancellation_slot(node.cancel.slot(),
                                     [this, &node](std::exception_ptr failure, run_result result) {
                                       take_end(node, failure, std::move(result));
                                     }));
  }

  void take_end(simulated_node& node, std::exception_ptr failure, run_result result) {
    note_knowledge(node);
    node.ended = true;
    node.ended_at = time_.now();
    try {
      if (failure) std::rethrow_exception(failure);
      const bool is_told = node.was_closed && result.state == worker_state::failed;
      if (is_told) throw error(errc::rendezvous_closed, result.reason);
      node.result = std::move(result);
    } catch (const std::system_error& thrown) {
      node.failure = thrown.what();
      node.failure_code = thrown.code();
    } catch (const std::exception& thrown) {
      node.failure = thrown.what();
    }
    if (node.crashed || over_) return;
    const std::string how = node.result ? node.result->reason : node.failure;
    note(fmt::format("node {} ends: {}", node.id, how));
    if (!node.result) check_failure(node);
    const auto& started = node.launcher->started;
    if (std::any_of(started.begin(), started.end(),
                    [](const auto& process) { return process->running(); })) {
      complain(fmt::format("node {} left a worker behind", node.id));
    }
  }

  void placed(simulated_node& node, const rendezvous_round& round) {
    if (node.crashed) return;
    note(fmt::format("node {} is {} of {} in round {}, {} restarts", node.id, round.group_rank,
                     round.group_world_size, round.round, round.restarts));
    if (node.round && node.round->round >= round.round) complain("a round came back");
    if (node.round && node.round->restarts > round.restarts) complain("restarts were forgotten");
    node.round = round;
    entered_round(node);
    const int world = round.group_world_size;
    if (world < plan_.min_nodes || world > plan_.max_nodes) {
      complain(fmt::format("round {} has {} nodes", round.round, world));
    }
    known_round& entry = rounds_[round_name(round)];
    if (entry.worlds.count(world) == 0) check_world(node, entry);
    entry.worlds.insert(world);
    if (round.group_rank < 0 || round.group_rank >= world) complain("a rank outside of its round");
    if (!entry.ranks.insert(round.group_rank).second) {
      complain(fmt::format("rank {} of round {} is taken twice", round.group_rank, round.round));
    }
    if (round.restarts > failing_rounds()) {
      complain(fmt::format("round {} counts {} restarts, and workers failed in {} rounds",
                           round.round, round.restarts, failing_rounds()));
    }
    entry.restarts.insert(round.restarts);
    if (entry.restarts.size() > 1) {
      complain(fmt::format("the nodes of round {} do not agree on the restarts", round.round));
    }
  }

  // ---- workers --------------------------------------------------------------------------------

  void give_life(simulated_node& node, fake_process& process) {
    if (node.crashed || over_) throw error(errc::start_failed, "the node is gone");
    const round_name round(*node.round);
    node.worker_rounds.push_back(round);
    if (node.round->restarts > plan_.max_restarts) complain("more restarts than are allowed");
    check_other_rounds(node, round);
    const duration slowness = std::chrono::milliseconds(random_.below(1000));
    if (random_.below(5) == 0) {
      process.on_signal = fake_process::ignore_all();
    } else if (random_.below(2) == 0) {
      process.on_signal = fake_process::exit_after(time_, slowness);
    }
    spawn(live(node, process.shared_from_this(), node.worker_rounds.size() - 1));
  }

  // ---- faults ---------------------------------------------------------------------------------

  task<void> cause_trouble(time_point when) {
    co_await time_.sleep_until(when);
    if (nodes_.empty()) co_return;
    simulated_node& node = *nodes_[random_.below(nodes_.size())];
    const duration span = std::chrono::milliseconds(1 + random_.below(20'000));
    const auto kinds = static_cast<std::uint64_t>(3 + kinds_of_trouble());
    switch (random_.below(kinds)) {
      case 0:
      case 1:
        crash(node);
        if (random_.below(2) == 0) start_node_after(span / 4);
        break;
      case 2: start_node(); break;
      default: co_await trouble(node, span);
    }
  }

  // ---- checks ---------------------------------------------------------------------------------

  bool all_ended() const {
    return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return node->ended; });
  }

  void check_outcome() {
    bool any_succeeded = false;
    bool any_failed = false;
    for (const auto& node : nodes_) {
      if (node->crashed || !node->result || !node->is_informed) continue;
      any_succeeded = any_succeeded || node->result->state == worker_state::succeeded;
      any_failed = any_failed || node->result->state == worker_state::failed;
    }
    if (any_succeeded && any_failed) complain("the job succeeded and failed");
    if (any_failed && failing_rounds() <= plan_.max_restarts) {
      complain(fmt::format("the job failed, and workers failed in {} rounds, where {} are allowed",
                           failing_rounds(), plan_.max_restarts));
    }
  }

  int failing_rounds() const { return static_cast<int>(failing_rounds_.size()); }

  /// The rounds in which a worker has failed by itself.
  std::set<round_name> failing_rounds_;

  std::vector<std::string> notes_;
  std::vector<std::string> complaints_;
};

}  // namespace elastic::test
