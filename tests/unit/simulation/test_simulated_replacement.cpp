// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs with workers that outlive their rounds. Agents, links, the server's coordinator and the
// control channels are real; the network, the clocks and the workers are simulated.
//
//   ELASTIC_SIMULATION_SEEDS=10000 ELASTIC_SIMULATION_FIRST=1 unit_tests "replacement simulation*"

#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/simulated_native_job.hpp>
#include <support/simulation_seeds.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace simulated_replacement_tests {

using elastic::exit_status;
using elastic::task;
using elastic::time_point;
using elastic::worker_spec;
using elastic::test::channel_peer;
using elastic::test::fake_process;
using elastic::test::manual_time;
using elastic::test::round_name;
using elastic::test::simulated_native_job;
using elastic::test::simulated_node;

/// What a worker does at a message that it hears or has said.
enum class whim { obey, die, be_late, be_silent };

/// What a job promises whose workers can outlive a round, besides what every native job does:
///
/// - No worker is in a round while another one is in a newer one; those that wait are in none.
/// - In a round each rank is one process.
/// - A worker is told of no other round than the one that its node has joined.
/// - Whatever the workers do, every node comes to an end, and the job to a whole world again.
class replacement_job final : public simulated_native_job {
 public:
  replacement_job(manual_time& time, std::uint64_t seed)
      : simulated_native_job(time, seed),
        // Nodes that wait for a silent worker, for six times as long, and then for its node, which
        // may be cut off meanwhile, must not give up.
        rejoin_timeout_(200 + random_.below(2000)),
        whims_(random_.below(4) == 0 ? 0 : 6 + random_.below(40)) {}

 private:
  void shape(worker_spec& workers) override {
    workers.on_failure = elastic::failure_policy::replace;
    workers.rejoin_timeout = rejoin_timeout_;
  }

  /// A worker's end of the control channel, and where it is in the job.
  struct survivor {
    std::unique_ptr<channel_peer> channel;
    std::size_t heard = 0;
    std::int64_t epoch = 0;
    /// It has left the epoch, and waits for the next one.
    bool is_apart = false;
    bool has_asked = false;
    bool is_silent = false;
  };

  task<void> live(simulated_node& node, std::shared_ptr<fake_process> self,
                  std::size_t number) override {
    if (!self->running()) co_return;
    enter(node, number, std::stoi(self->variable("RANK")));
    if (random_.below(20) == 0) {
      // A script that knows nothing of it.
      co_await simulated_job::live(node, std::move(self), number);
      co_return;
    }
    survivor me;
    me.channel =
        std::make_unique<channel_peer>(self->variable("ELASTIC_CONTROL"), self->local_rank());
    me.channel->say(R"({"kind":"survive"})");
    me.epoch = node.round->round;
    time_point end = end_of_work();
    bool fails = is_failing_worker();
    while (self->running() && !over_) {
      const auto pause = std::chrono::milliseconds(5 + random_.below(600));
      co_await time_.sleep_until(time_.now() + pause);
      if (!self->running() || over_) break;
      if (calm_) me.is_silent = false;
      const std::optional<nlohmann::json> message = next_message(me);
      if (message) {
        const bool has_entered = co_await take(node, *self, number, me, *message);
        if (has_entered) end = end_of_work();
        if (has_entered) fails = is_failing_worker();
        continue;
      }
      if (me.is_apart || me.is_silent) continue;
      if (time_.now() < end && !calm_) {
        ask_at_times(me);
        continue;
      }
      if (fails && !calm_) {
        die(node, *self, number);
      } else {
        me.channel->say(fmt::format(R"({{"kind":"finished","epoch":{}}})", me.epoch));
        self->exit(0);
      }
    }
  }

  /// None: nothing was said, or it is not listened to.
  std::optional<nlohmann::json> next_message(survivor& me) {
    if (me.is_silent) return std::nullopt;
    const std::string& heard = me.channel->heard();
    const std::size_t end = heard.find('\n', me.heard);
    if (end == std::string::npos) return std::nullopt;
    const std::string line = heard.substr(me.heard, end - me.heard);
    me.heard = end + 1;
    return nlohmann::json::parse(line);
  }

  /// Result: whether it is in a new epoch now.
  task<bool> take(simulated_node& node, fake_process& self, std::size_t number, survivor& me,
                  const nlohmann::json& message) {
    const std::string kind = message.at("kind");
    const bool is_of_epoch = message.contains("epoch") && message.at("epoch") == me.epoch;
    if (kind == "no_change" && is_of_epoch) die(node, self, number);
    if (kind == "change" && is_of_epoch && !me.is_apart) {
      co_await follow_whim(node, self, number, me);
      if (!self.running() || me.is_silent) co_return false;
      me.channel->say(fmt::format(R"({{"kind":"ready","epoch":{}}})", me.epoch));
      me.is_apart = true;
      node.worker_rounds.at(number).reset();
      co_await follow_whim(node, self, number, me);
    }
    if (kind != "rejoin" || !self.running()) co_return false;
    if (!me.is_apart) complain("a worker that has not left is told of another round");
    if (message.at("epoch") != node.round->round) {
      complain(fmt::format("a worker of node {} is told of round {}, and its node is in round {}",
                           node.id, message.at("epoch").get<std::int64_t>(), node.round->round));
    }
    me.epoch = message.at("epoch");
    me.is_apart = false;
    me.has_asked = false;
    const std::string rank = message.at("environment").at("RANK");
    node.worker_rounds.at(number) = round_name(*node.round);
    check_other_rounds(node, *node.worker_rounds.at(number));
    enter(node, number, std::stoi(rank));
    co_await follow_whim(node, self, number, me);
    co_return true;
  }

  /// Kills or silences a worker at times.
  task<void> follow_whim(simulated_node& node, fake_process& self, std::size_t number,
                         survivor& me) {
    whim chosen = whim::obey;
    if (!calm_ && whims_ > 0) {
      const std::uint64_t throw_of_dice = random_.below(whims_);
      if (throw_of_dice < 3) chosen = static_cast<whim>(1 + throw_of_dice);
    }
    if (chosen == whim::die) die(node, self, number);
    if (chosen == whim::be_silent) me.is_silent = true;
    if (chosen != whim::be_late) co_return;
    const auto late = std::chrono::milliseconds(random_.below(15'000));
    co_await time_.sleep_until(time_.now() + late);
  }

  void ask_at_times(survivor& me) {
    if (me.has_asked || random_.below(400) != 0) return;
    me.has_asked = true;
    me.channel->say(
        fmt::format(R"({{"kind":"ask","epoch":{},"reason":"a collective failed"}})", me.epoch));
  }

  /// By itself; that may be counted in the round of its node, or in its own.
  void die(simulated_node& node, fake_process& self, std::size_t number) {
    if (node.round) note_failing_round(round_name(*node.round));
    if (node.worker_rounds.at(number)) note_failing_round(*node.worker_rounds.at(number));
    if (random_.below(2) == 0) {
      self.exit(3);
    } else {
      self.end(exit_status::signalled(SIGKILL));
    }
  }

  void enter(const simulated_node& node, std::size_t number, int rank) {
    const std::pair<int, std::size_t> process{node.id, number};
    const round_name round(*node.round);
    const auto [entry, is_new] = ranks_[round].try_emplace(rank, process);
    note(fmt::format("worker {} of node {} is rank {} in round {}", number, node.id, rank,
                     round.round));
    if (is_new || entry->second == process) return;
    complain(fmt::format("rank {} of round {} is a worker of node {} and one of node {}", rank,
                         round.round, entry->second.first, node.id));
  }

  const std::chrono::milliseconds rejoin_timeout_;
  /// One message in so many is followed by each whim; 0: none is.
  const std::uint64_t whims_;
  std::map<round_name, std::map<int, std::pair<int, std::size_t>>> ranks_;
};

TEST_CASE("replacement simulation: whatever happens to workers, nodes and network, each rank is "
          "one process of one round, and the job becomes whole again",
          "[simulation][replacement]") {
  elastic::test::run_seeds<replacement_job>("replacement simulation*");
}

}  // namespace simulated_replacement_tests
