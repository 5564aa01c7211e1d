// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <support/scenario.hpp>

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::test {

/// An answer of a job's server to a node, as scenarios have it.
class rendezvous_words {
 public:
  using output = scenario_output;

  /// @param usual_term  the term of the server that goes without saying
  explicit rendezvous_words(std::string node, std::int64_t usual_term = 1000)
      : node_(std::move(node)), usual_term_(usual_term) {}

  output operator()(const detail::rendezvous_messages::welcome& answer) const {
    return to_node((answer.resumed ? "welcome back" : "welcome") + in_term(answer.term));
  }
  output operator()(const detail::rendezvous_messages::refused& answer) const {
    return to_node("refused: " + answer.why);
  }
  output operator()(const detail::rendezvous_messages::peers& answer) const {
    return to_node(
        fmt::format("round {} has the addresses \"{}\"", answer.round, answer.addresses));
  }
  output operator()(const detail::rendezvous_messages::placed& answer) const {
    const std::string server =
        answer.host_rank < 0 ? "" : fmt::format(" by the server of {}", answer.host_rank);
    return {
        fmt::format("round {} of {} at {}{}{}{}: ", answer.round, answer.world,
                    answer.master.address, after(answer.restarts), server, in_term(answer.term)),
        {{node_, fmt::format("{} is {}", node_, answer.rank)}},
        {}};
  }
  output operator()(const detail::rendezvous_messages::on_hold& answer) const {
    return to_node("on hold: " + answer.why);
  }
  output operator()(const detail::rendezvous_messages::changed& answer) const {
    return to_node(fmt::format("round {} ends{}: {}", answer.round, after(answer.what.restarts),
                               answer.what.reason));
  }
  output operator()(const detail::rendezvous_messages::all_finished& answer) const {
    return to_node(fmt::format("round {} has finished", answer.round));
  }
  output operator()(const detail::rendezvous_messages::closed& answer) const {
    const bool is_well = answer.end == rendezvous_handler::job_end::succeeded;
    return to_node(fmt::format("the job {}: {}", is_well ? "succeeded" : "failed", answer.why));
  }
  output operator()(const detail::rendezvous_messages::alive&) const { return to_node("alive"); }
  output operator()(const detail::rendezvous_messages::resigned&) const {
    return to_node("the server resigns");
  }
  output operator()(const detail::rendezvous_messages::report_wanted&) const {
    return to_node("report wanted");
  }

 private:
  output to_node(const std::string& what) const { return {{}, {{node_, node_}}, ": " + what}; }
  std::string in_term(std::int64_t term) const {
    return term == usual_term_ ? "" : fmt::format(" in term {}", term);
  }
  static std::string after(int restarts) {
    if (restarts == 0) return {};
    return fmt::format(" after {} restart{}", restarts, restarts == 1 ? "" : "s");
  }

  std::string node_;
  std::int64_t usual_term_;
};

}  // namespace elastic::test
