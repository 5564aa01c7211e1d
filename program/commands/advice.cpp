// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/advice.hpp>

#include <elastic/base/printable_text.hpp>
#include <elastic/status/detail/event_sentence.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

/// This many failed attempts in a row without progress are a loop. An attempt that reports no step
/// makes progress if it lasts this many seconds.
constexpr int loop_attempts = 3;
constexpr double loop_uptime = 60;
/// A loss of time is worth advice if it is at least this share of the whole time and this many
/// seconds.
constexpr double worthy_share = 0.1;
constexpr double worthy_seconds = 10;

double sum_of(const std::vector<journal_run>& runs, detail::time_use use) {
  double sum = 0;
  for (const journal_run& run : runs) sum += run.seconds_of(use);
  return sum;
}

bool is_worthy(const std::vector<journal_run>& runs, double seconds) {
  double total = 0;
  for (const journal_run& run : runs) total += run.total();
  return seconds >= worthy_seconds && seconds >= worthy_share * total;
}

/// The largest number of failed attempts in a row without progress.
int longest_loop(const journal_run& run) {
  int longest = 0;
  int row = 0;
  std::int64_t furthest = -1;
  for (const elastic::detail::job_attempt& attempt : run.job.attempts()) {
    const bool has_failed = attempt.started_us > 0 && attempt.change == "worker_failed";
    const bool came_further =
        attempt.step ? *attempt.step > furthest : attempt.work_seconds >= loop_uptime;
    if (attempt.step) furthest = std::max(furthest, *attempt.step);
    row = has_failed && !came_further ? row + 1 : 0;
    // A failed attempt that made progress may be the first of a loop: the next ones may not get
    // past its step.
    if (has_failed && came_further && attempt.step) row = 1;
    longest = std::max(longest, row);
  }
  return longest;
}

std::string loop(const std::vector<journal_run>& runs) {
  int longest = 0;
  for (const journal_run& run : runs) longest = std::max(longest, longest_loop(run));
  if (longest < loop_attempts) return "";
  return fmt::format(
      "{} attempts in a row failed without progress: a restart does not remove the cause. "
      "--restart-while-progress {} ends such a loop early.",
      longest, loop_attempts - 1);
}

/// How often each worker, by node and local rank, was the root cause of a failure.
std::map<std::pair<std::string, std::int64_t>, int> first_failures(
    const std::vector<journal_run>& runs) {
  std::map<std::pair<std::string, std::int64_t>, int> counts;
  for (const journal_run& run : runs) {
    for (const elastic::detail::job_attempt& attempt : run.job.attempts()) {
      const elastic::job_event* const cause = attempt.root_cause();
      if (cause) ++counts[{run.job.node(), cause->local_rank.value_or(-1)}];
    }
  }
  return counts;
}

std::string same_worker(const std::vector<journal_run>& runs) {
  int failures = 0;
  std::map<std::string, int> by_node;
  const auto counts = first_failures(runs);
  for (const auto& [worker, count] : counts) {
    failures += count;
    by_node[worker.first] += count;
  }
  if (failures < loop_attempts) return "";
  for (const auto& [worker, count] : counts) {
    // A worker that caused all failures is suspicious, unless the job has only one worker.
    if (count < failures || counts.size() > 1) continue;
    const bool is_alone = std::all_of(runs.begin(), runs.end(), [](const journal_run& run) {
      const auto& attempts = run.job.attempts();
      return std::all_of(attempts.begin(), attempts.end(),
                         [](const auto& attempt) { return attempt.workers <= 1; });
    });
    if (is_alone) continue;
    return fmt::format(
        "All {} failures began with local rank {} on {}: look at that GPU, its memory and its "
        "links, and at the data that this rank gets.",
        failures, worker.second, worker.first);
  }
  if (runs.size() < 2) return "";
  for (const auto& [node, count] : by_node) {
    if (count < failures || by_node.size() < 1) continue;
    const bool has_others = std::any_of(
        runs.begin(), runs.end(), [&](const journal_run& run) { return run.job.node() != node; });
    if (!has_others) continue;
    return fmt::format("All {} failures began on {}: look at that node, or leave it out.", failures,
                       node);
  }
  return "";
}

std::string hung(const std::vector<journal_run>& runs) {
  int count = 0;
  for (const journal_run& run : runs) {
    for (const elastic::detail::job_attempt& attempt : run.job.attempts()) {
      count += static_cast<int>(attempt.hung.size());
    }
  }
  if (count == 0) return "";
  return fmt::format(
      "{} worker{} hung: --hang-hook 'py-spy dump --pid \"$ELASTIC_HUNG_PID\"' shows where, in "
      "hang.log beside the worker's log files.",
      count, count == 1 ? " was" : "s were");
}

std::string stood_still(const std::vector<journal_run>& runs) {
  int count = 0;
  std::set<std::int64_t> ranks;
  for (const journal_run& run : runs) {
    for (const elastic::detail::job_attempt& attempt : run.job.attempts()) {
      count += static_cast<int>(attempt.stalls.size());
      for (const elastic::job_event& stall : attempt.stalls) {
        if (stall.rank) ranks.insert(*stall.rank);
      }
    }
  }
  if (count == 0) return "";
  const std::string what =
      fmt::format("The job stalled {}", count == 1 ? "once" : fmt::format("{} times", count));
  if (ranks.empty()) return what + ", and the cause is unknown: the journal has the evidence.";
  const bool is_one = ranks.size() == 1;
  return fmt::format("{}, waiting for rank{} {}: look at {}, {} and {}.", what, is_one ? "" : "s",
                     fmt::join(ranks, ", "), is_one ? "its data" : "their data",
                     is_one ? "its node" : "their nodes", is_one ? "its links" : "their links");
}

std::string out_of_memory(const std::vector<journal_run>& runs) {
  for (const journal_run& run : runs) {
    for (const elastic::detail::job_attempt& attempt : run.job.attempts()) {
      for (const elastic::job_event& event : attempt.failures) {
        if (event.signal != SIGKILL || event.reason.find("memory") == std::string::npos) continue;
        return fmt::format(
            "Rank {} on {} was most likely killed because memory ran out: use fewer or smaller "
            "data loaders, or give the node or its cgroup more memory.",
            event.rank.value_or(-1), run.job.node());
      }
    }
  }
  return "";
}

std::string long_grace(const std::vector<journal_run>& runs) {
  int count = 0;
  double lost = 0;
  double allowed = 0;
  for (const journal_run& run : runs) {
    for (const elastic::detail::job_attempt& attempt : run.job.attempts()) {
      const double seconds = attempt.stop_seconds.value_or(0);
      const double grace = attempt.stop_allowed.value_or(0);
      if (grace < 5 || grace > seconds * 1.1) continue;
      ++count;
      lost += seconds;
      allowed = grace;
    }
  }
  if (count == 0) return "";
  return fmt::format(
      "Workers did not end within the grace of {}, {} time{}, and were killed then, which took {} "
      "in all: have them end on SIGTERM, or give them less by --shutdown-timeout.",
      detail::span_words(allowed), count, count == 1 ? "" : "s", detail::span_words(lost));
}

/// The advice about a node that often joins last, so that the others wait for it.
std::string slow_node(const std::vector<journal_run>& runs) {
  std::map<std::int64_t, std::vector<std::pair<double, std::string>>> waits;
  for (const journal_run& run : runs) {
    for (const elastic::detail::job_attempt& attempt : run.job.attempts()) {
      if (!attempt.met_seconds || attempt.round < 0) continue;
      waits[attempt.round].emplace_back(*attempt.met_seconds, run.job.node());
    }
  }
  std::map<std::string, int> last;
  double lost = 0;
  for (auto& [round, entries] : waits) {
    if (entries.size() < 2) continue;
    std::sort(entries.begin(), entries.end());
    const double behind = entries[1].first - entries[0].first;
    if (behind < 1) continue;
    ++last[entries[0].second];
    lost += behind;
  }
  for (const auto& [node, count] : last) {
    if (!is_worthy(runs, lost) || static_cast<std::size_t>(count) * 2 <= last.size()) continue;
    return fmt::format(
        "{} came last to {} round{}, and the others waited {} for it: look at what it does before "
        "it meets them (its disk, its image, its address look-ups), or whether it stops slowly.",
        node, count, count == 1 ? "" : "s", detail::span_words(lost));
  }
  return "";
}

std::string long_rendezvous(const std::vector<journal_run>& runs) {
  const double seconds = sum_of(runs, detail::time_use::rendezvous);
  if (!is_worthy(runs, seconds) || !slow_node(runs).empty()) return "";
  return fmt::format(
      "{} went to meeting the other nodes: start the nodes together, keep spare ones waiting, or "
      "let the job run with fewer (--nnodes MIN:MAX).",
      detail::span_words(seconds));
}

std::string long_start(const std::vector<journal_run>& runs) {
  int restarts = 0;
  for (const journal_run& run : runs) restarts += static_cast<int>(run.job.attempts().size()) - 1;
  const double seconds = sum_of(runs, detail::time_use::start);
  if (restarts < 1 || !is_worthy(runs, seconds)) return "";
  const bool has_steps = std::any_of(runs.begin(), runs.end(), [](const journal_run& run) {
    return run.job.has_steps();
  });
  if (has_steps) {
    return fmt::format(
        "{} went to starting workers, until their first step: --warm-standby keeps a started "
        "Python ready for each; otherwise look at imports and at how the checkpoint is loaded.",
        detail::span_words(seconds));
  }
  return fmt::format(
      "{} went to starting workers: the log directory, the guard or the start of the program are "
      "slow on this node.",
      detail::span_words(seconds));
}

std::string joining_nodes(const std::vector<journal_run>& runs) {
  int longest = 0;
  for (const journal_run& run : runs) {
    const auto is_join = [](const elastic::detail::job_attempt& attempt) {
      return attempt.change == "node_waiting";
    };
    const auto& attempts = run.job.attempts();
    longest = std::max(longest,
                       static_cast<int>(std::count_if(attempts.begin(), attempts.end(), is_join)));
  }
  if (longest < loop_attempts) return "";
  return fmt::format(
      "The workers were stopped {} times because a node joined: start the nodes together, or wait "
      "longer for them (--rdzv-conf last_call_timeout=SECONDS).",
      longest);
}

std::string lost_nodes(const std::vector<journal_run>& runs) {
  for (const journal_run& run : runs) {
    const auto& attempts = run.job.attempts();
    if (std::none_of(attempts.begin(), attempts.end(),
                     [](const auto& attempt) { return attempt.is_fenced; })) {
      continue;
    }
    return fmt::format(
        "{} was cut off from the other nodes, and its workers were killed before the others "
        "continued: check its network, and whether the machine was suspended.",
        run.job.node());
  }
  return "";
}

std::string silent_end(const std::vector<journal_run>& runs) {
  for (const journal_run& run : runs) {
    const bool is_last = &run == &runs.back();
    const bool has_later =
        !is_last && std::any_of(&run + 1, &runs.back() + 1, [&](const journal_run& later) {
          return later.job.node() == run.job.node();
        });
    if (run.job.has_ended() || !has_later) continue;
    return fmt::format(
        "The agent of {} ended unexpectedly and was started again: it was killed (look for the "
        "kernel's out-of-memory killer in dmesg), or its machine was.",
        run.job.node());
  }
  return "";
}

/// The advice about ranks that could not be replaced individually, with the reason.
std::string abandoned_replacements(const std::vector<journal_run>& runs) {
  const detail::job_replacements* worst = nullptr;
  for (const journal_run& run : runs) {
    const detail::job_replacements& mine = run.job.replacements();
    if (mine.abandoned > 0 && (!worst || mine.abandoned > worst->abandoned)) worst = &mine;
  }
  if (!worst) return "";
  const std::string& obstacle = worst->last_obstacle;
  std::string help = "see \"What restarts all ranks\" in docs/survive.md.";
  if (obstacle.find("has not said that it can rejoin") != obstacle.npos) {
    help = "call a function decorated with elasticrun.survive.run on every rank, before its work.";
  } else if (obstacle.find("did not leave its epoch in time") != obstacle.npos) {
    help = "look at what that rank does for so long, or give it more by --rejoin-timeout.";
  }
  return fmt::format(
      "In spite of --on-failure replace, all workers restarted {}, because {}: {}",
      worst->abandoned == 1 ? std::string("once")
                            : fmt::format("{} times, the last time", worst->abandoned),
      obstacle, help);
}

}  // namespace

const std::vector<advice_rule>& advice_rules() {
  static const std::vector<advice_rule> rules{
      {"loop without progress", loop},
      {"always the same place", same_worker},
      {"hung rank", hung},
      {"rank that others waited for", stood_still},
      {"out of memory", out_of_memory},
      {"grace too long", long_grace},
      {"slow node", slow_node},
      {"long rendezvous", long_rendezvous},
      {"long start", long_start},
      {"repeated joins", joining_nodes},
      {"lost contact", lost_nodes},
      {"silent end", silent_end},
      {"not replaced", abandoned_replacements},
  };
  return rules;
}

}  // namespace elasticrun
