// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/log.hpp>
#include <support/simulated_job.hpp>

#include <cstdint>
#include <memory>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace elastic::test {

/// A job whose rounds a coordinator decides, wherever that runs. It promises, besides what every
/// job does:
///
/// - The nodes of a round agree on its size.
/// - No worker runs at the same time as one of another round.
/// - A node considers its round finished only if all nodes of the round are done.
/// - No log line has the number of a node.
class coordinated_job : public simulated_job {
 public:
  using simulated_job::simulated_job;

 protected:
  void check_world(const simulated_node&, const known_round& known) override {
    if (!known.worlds.empty()) complain("two sizes of one round");
  }

  void found_other_round(const simulated_node& starting, const simulated_node& other,
                         const fake_process&, round_name its_round) override {
    complain(fmt::format(
        "node {} starts a worker of round {} while one of round {} runs on node {}", starting.id,
        starting.round->round, its_round.round, other.id));
  }

  void passed_barrier(const simulated_node& passed) override {
    const round_name round(*passed.round);
    for (const auto& node : nodes_) {
      const bool is_in = node->round && round_name(*node->round) == round;
      if (!is_in || node->crashed || node->ended || node->done_round == round) continue;
      complain(fmt::format("node {} takes round {} for finished, and node {} is not done",
                           passed.id, passed.round->round, node->id));
    }
  }

  void check_failure(const simulated_node&) override {}

  // A node that is told to stop ends with the outcome of its own workers.
  bool could_know(const simulated_node& node) const override {
    return stopped_.count(node.id) == 0;
  }

  /// Tells the node's agent to stop; half of the time, a new node starts.
  void stop(simulated_node& node, duration span) {
    note(fmt::format("node {} is told to stop", node.id));
    if (node.crashed || node.ended) return;
    stopped_.insert(node.id);
    node.agent->stop({});
    if (random_.below(2) == 0) start_node_after(span / 4);
  }

  /// A logger that adds the node's log lines to the notes.
  elastic::logger log_of(const simulated_node& node) {
    return elastic::logger(std::make_shared<story>(*this, node.id), elastic::log_level::debug);
  }

 private:
  class story final : public elastic::log_handler {
   public:
    story(coordinated_job& job, int node) : job_(job), node_(node) {}
    void write(elastic::log_level level, std::string_view text) noexcept override {
      job_.check_line(text);
      if (level >= elastic::log_level::info) job_.note(fmt::format("node {}: {}", node_, text));
    }

   private:
    coordinated_job& job_;
    int node_;
  };

  void check_line(std::string_view text) {
    for (const auto& node : nodes_) {
      for (const std::uint64_t half : {node->number.high, node->number.low}) {
        const bool is_told = text.find(fmt::format("{:x}", half)) != std::string_view::npos ||
                             text.find(fmt::format("{}", half)) != std::string_view::npos;
        if (is_told) complain(fmt::format("the log has the number of node {}: {}", node->id, text));
      }
    }
  }

  std::set<int> stopped_;
};

}  // namespace elastic::test
