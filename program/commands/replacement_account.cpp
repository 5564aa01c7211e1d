// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/replacement_account.hpp>

#include <elastic/agent/run_result.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/status/detail/event_sentence.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

/// The cost of a run's failures, in seconds until the furthest step was reached again.
struct failure_costs {
  int replacements = 0;
  std::vector<double> of_replacements;
  std::vector<double> of_restarts;
  std::optional<double> of_first_start;
};

/// The cost of a restart, without the wait for workers that should have left their epoch but did
/// not.
double restart_cost(const detail::job_attempt& before, const detail::job_attempt& after) {
  if (before.stopping_us < before.ended_us) return *after.reached_seconds;
  return detail::seconds_between(before.stopping_us, after.reached_us);
}

failure_costs costs_of(const detail::job_state& job) {
  failure_costs costs;
  const auto& attempts = job.attempts();
  if (!attempts.empty()) costs.of_first_start = attempts.front().reached_seconds;
  for (std::size_t index = 1; index < attempts.size(); ++index) {
    const detail::attempt_end end = attempts[index - 1].end;
    const bool is_failure =
        end == detail::attempt_end::failure || end == detail::attempt_end::hang;
    if (!is_failure) continue;
    const detail::job_attempt& attempt = attempts[index];
    if (attempt.is_replacement) ++costs.replacements;
    if (!attempt.reached_seconds) continue;
    if (attempt.is_replacement) {
      costs.of_replacements.push_back(*attempt.reached_seconds);
    } else {
      costs.of_restarts.push_back(restart_cost(attempts[index - 1], attempt));
    }
  }
  return costs;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string saved_words(const failure_costs& costs) {
  if (costs.of_replacements.empty()) {
    return "what that saved is not known, because no worker reported its steps afterwards";
  }
  const bool has_restarts = !costs.of_restarts.empty();
  if (!has_restarts && !costs.of_first_start) {
    return "what that saved is not known, because the journal has no start of all workers with a "
           "step after it";
  }
  const double usual = has_restarts ? median_of(costs.of_restarts) : *costs.of_first_start;
  double saved = 0;
  for (const double cost : costs.of_replacements) saved += usual - cost;
  const std::string basis =
      has_restarts
          ? fmt::format("a restart of all workers took {} from their stop to the same point (the "
                        "median of {})",
                        detail::span_words(usual), costs.of_restarts.size())
          : fmt::format("the first start of the workers took {} to their first step, and a restart "
                        "of all would have repeated that, and the steps since a checkpoint",
                        detail::span_words(usual));
  if (saved <= 0) return "that saved nothing: " + basis;
  return fmt::format("that saved about {}: {}", detail::span_words(saved), basis);
}

std::string account_of(const detail::job_state& job) {
  const detail::job_replacements& replacements = job.replacements();
  if (replacements.epochs == 0) return {};
  const std::string node = elastic::printable_text(job.node());
  std::string text;
  elastic::run_result::rank_replacements ranks;
  for (const auto& [rank, count] : replacements.by_rank) {
    ranks.by_rank[static_cast<int>(rank)] = static_cast<int>(count);
  }
  if (!ranks.empty()) text += fmt::format("  {}: {}\n", node, ranks.text());
  const std::string took = detail::span_words(replacements.durations.sum);
  text += replacements.epochs == 1
              ? fmt::format("  {}: workers survived one change; all were running again {} later\n",
                            node, took)
              : fmt::format("  {}: workers survived {} changes; until all were running again, "
                            "that took {} in all\n",
                            node, replacements.epochs, took);
  const failure_costs costs = costs_of(job);
  if (costs.replacements == 0) return text;
  if (!costs.of_replacements.empty()) {
    const double lost =
        std::accumulate(costs.of_replacements.begin(), costs.of_replacements.end(), 0.0);
    const auto known = static_cast<int>(costs.of_replacements.size());
    const std::string failures = known == costs.replacements
                                     ? fmt::format("{}", known)
                                     : fmt::format("{} of {}", known, costs.replacements);
    text += fmt::format(
        "  {}: until the furthest step was reached again, {} failure{} cost {} in all\n", node,
        failures, costs.replacements == 1 ? "" : "s", detail::span_words(lost));
  }
  return text + fmt::format("  {}: {}\n", node, saved_words(costs));
}

}  // namespace

std::string replacement_account(const std::vector<journal_run>& runs) {
  std::string text;
  for (const journal_run& run : runs) text += account_of(run.job);
  return text;
}

}  // namespace elasticrun
