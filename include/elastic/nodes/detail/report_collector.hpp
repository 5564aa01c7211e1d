// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/limits.hpp>
#include <elastic/telemetry/detail/report_exchange.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// Decides which nodes of a job are asked for reports, and keeps the reports until they are taken.
class report_collector {
 public:
  /// A node's report. @see job_roster::entry::key
  struct report {
    std::int64_t node;
    std::string text;
  };

  report_demand demand() const { return demand_; }
  const std::string& output() const { return output_; }

  /// Result: whether the demand has changed. When it becomes `nothing`, no node counts as asked.
  /// @param output  see report_exchange::output_demand
  bool set_demand(report_demand demand, std::string output) {
    if (demand == report_demand::nothing) asked_ = 0;
    const bool is_other_output = output_ != output;
    output_ = std::move(output);
    return std::exchange(demand_, demand) != demand || is_other_output;
  }

  /// Decides whether to ask a node now. At most `limits::viewed_nodes` nodes are asked.
  /// @param is_asked  whether the node was asked already, and afterwards whether it is
  bool ask(bool& is_asked) {
    if (demand_ == report_demand::nothing) return false;
    if (!is_asked && asked_ >= limits::viewed_nodes) return false;
    if (!std::exchange(is_asked, true)) ++asked_;
    return true;
  }

  /// Notes that a node which was asked is gone.
  void node_gone() { --asked_; }

  /// Ignores a report that nobody wants any more.
  void add(std::int64_t node, const std::string& text) {
    if (demand_ != report_demand::nothing) reports_.push_back({node, text});
  }

  /// The reports since the last call.
  std::vector<report> take() { return std::exchange(reports_, {}); }

 private:
  report_demand demand_ = report_demand::nothing;
  std::string output_;
  std::size_t asked_ = 0;
  std::vector<report> reports_;
};

}  // namespace elastic::detail
