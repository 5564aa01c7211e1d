// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/slurm_step.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/cli/detail/option_types.hpp>
#include <elastic/cli/detail/slurm_hosts.hpp>
#include <elastic/contract/environment.hpp>

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

/// Fills in what Slurm knows of the job, option by option.
class slurm_adopter {
 public:
  slurm_adopter(given_options& options, const command_line::facts& facts, option_target& target)
      : given_(options), facts_(facts), target_(target) {}

  slurm_words adopt() {
    if (!is_step() || !adopt_nodes()) return words_;
    adopt_backend();
    if (rendezvous().backend == "c10d") adopt_endpoint();
    if (rendezvous().backend == "static") adopt_place();
    adopt_run_id();
    if (!taken_.empty()) {
      words_.notes.push_back(fmt::format("from Slurm's variables: {}", fmt::join(taken_, " ")));
    }
    return words_;
  }

 private:
  std::string variable(std::string_view name) const {
    return find_variable(facts_.environment, name).value_or("");
  }

  rendezvous_parameters& rendezvous() const { return target_.config.job.rendezvous; }

  bool has(std::string_view long_name) const { return given_.find(long_name).has_value(); }

  /// Slurm's numbers have 32 bits.
  std::uint32_t number(std::string_view name) const {
    const std::string text = variable(name);
    const char* const end = text.data() + text.size();
    std::uint32_t value = 0;
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    if (failure == std::errc() && stop == end) return value;
    refuse_value({text, std::string(name)}, fmt::format("a whole number from 0 to {} is needed",
                                                        std::numeric_limits<std::uint32_t>::max()));
  }

  void take(std::string_view long_name, std::string text, std::string_view source) {
    taken_.push_back(fmt::format("{} {}", long_name, text));
    given_.adopt(long_name, {std::move(text), std::string(source)}, facts_, target_);
  }

  /// Whether this is a task of a step, which only `srun` makes, and not a worker of another agent.
  bool is_step() const {
    return !target_.config.job.standalone && !variable("SLURM_STEP_ID").empty() &&
           !variable("SLURM_STEP_NUM_NODES").empty() && variable("TORCHELASTIC_RUN_ID").empty();
  }

  /// Result: whether this node meets others.
  bool adopt_nodes() {
    if (has("--nnodes")) {
      const auto nodes = number_between(variable("SLURM_STEP_NUM_NODES"), 1, limits::nodes);
      if (!nodes || *nodes == 1) return false;
      warn_of_nodes(*nodes);
      return rendezvous().max_nodes > 1;
    }
    const std::uint32_t nodes = number("SLURM_STEP_NUM_NODES");
    if (nodes <= 1) return false;
    if (!variable("SLURM_HET_SIZE").empty()) {
      warn_once(
          "nothing is taken from Slurm's variables: the job is a heterogeneous one, which takes "
          "--nnodes and --rdzv-endpoint");
      return false;
    }
    const std::uint32_t tasks = number("SLURM_STEP_NUM_TASKS");
    // Several tasks of a node are its workers, if the variables say where they are.
    if (tasks != nodes && target_.config.slots.step.empty()) {
      warn_once(
          "nothing is taken from Slurm's variables: srun starts {} tasks on {} nodes, and "
          "elasticrun takes one on each (--ntasks-per-node=1)",
          tasks, nodes);
      return false;
    }
    take("--nnodes", std::to_string(nodes), "SLURM_STEP_NUM_NODES");
    return true;
  }

  void warn_of_nodes(int nodes) {
    const std::string source = given_.find("--nnodes")->source;
    const std::string text = given_.find("--nnodes")->text;
    if (rendezvous().min_nodes > nodes) {
      warn_once("{} {} counts, although the step of Slurm has {} nodes", source, text, nodes);
    } else if (rendezvous().max_nodes == 1) {
      warn_once(
          "{} {} counts, although the step of Slurm has {} nodes: each of them is a job by itself",
          source, text, nodes);
    }
  }

  /// Notes a fact that is the same on all nodes: only the first task logs it.
  template <class... Values>
  void warn_once(fmt::format_string<Values...> format, Values&&... values) {
    if (variable("SLURM_PROCID") == "0") warn(format, std::forward<Values>(values)...);
  }

  template <class... Values>
  void warn(fmt::format_string<Values...> format, Values&&... values) {
    words_.warnings.push_back(fmt::format(format, std::forward<Values>(values)...));
  }

  /// Over c10d nodes may come and go, which torchrun's default cannot; an option for that alone
  /// says that it is wanted.
  void adopt_backend() {
    for (const char* name :
         {"--rdzv-backend", "--rdzv-endpoint", "--master-addr", "--master-port", "--node-rank"}) {
      if (has(name)) return;
    }
    take("--rdzv-backend", "c10d", "SLURM_STEP_ID");
  }

  std::string first_host() const {
    const std::string list = variable("SLURM_STEP_NODELIST");
    try {
      return parse_slurm_hosts(list).front();
    } catch (const error& refusal) {
      refuse_value({list, "SLURM_STEP_NODELIST"},
                   fmt::format("{}; name the first host by an option", refusal.what()));
    }
  }

  /// A port for each step, so that several jobs can have the same first host; below the ports that
  /// the kernel gives away by itself.
  int port() const {
    constexpr std::uint64_t first = 15'000;
    constexpr std::uint64_t count = 15'000;
    const std::uint64_t step = number("SLURM_STEP_ID");
    return static_cast<int>(first + (number("SLURM_JOB_ID") + 1009 * step) % count);
  }

  void adopt_endpoint() {
    if (has("--rdzv-endpoint")) return;
    take("--rdzv-endpoint", fmt::format("{}:{}", first_host(), port()), "SLURM_STEP_NODELIST");
  }

  void adopt_place() {
    if (!has("--node-rank")) {
      take("--node-rank", variable("SLURM_NODEID"), "SLURM_NODEID");
    } else if (const auto node = number_between(variable("SLURM_NODEID"), 0, limits::nodes);
               node && *node != rendezvous().node_rank) {
      warn("{} {} counts, although SLURM_NODEID is {}", given_.find("--node-rank")->source,
           rendezvous().node_rank, *node);
    }
    if (has("--rdzv-endpoint") || has("--master-addr")) return;
    take("--master-addr", first_host(), "SLURM_STEP_NODELIST");
    if (!has("--master-port")) take("--master-port", std::to_string(port()), "SLURM_JOB_ID");
  }

  /// Takes Slurm's name of the step, with the number of times that the job was requeued. The next
  /// try must not find what these nodes left in a place that outlives them, such as etcd.
  void adopt_run_id() {
    if (has("--rdzv-id")) return;
    std::string id = fmt::format("{}.{}", number("SLURM_JOB_ID"), number("SLURM_STEP_ID"));
    const std::string restarts = variable("SLURM_RESTART_COUNT");
    if (!restarts.empty() && restarts != "0") {
      id += fmt::format("-{}", number("SLURM_RESTART_COUNT"));
    }
    take("--rdzv-id", std::move(id), "SLURM_JOB_ID");
  }

  given_options& given_;
  const command_line::facts& facts_;
  option_target& target_;
  slurm_words words_;
  std::vector<std::string> taken_;
};

ELASTIC_DECL slurm_words adopt_slurm_step(given_options& options, const command_line::facts& facts,
                                          option_target& target) {
  return slurm_adopter(options, facts, target).adopt();
}

}  // namespace elastic::detail
