// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_document.hpp>

#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/version.hpp>
#include <elastic/status/detail/event_sentence.hpp>
#include <elastic/status/detail/job_condition.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

/// The beginning of a text, cut between two characters.
inline std::string_view cut_text(std::string_view text, std::size_t most) {
  text = text.substr(0, most);
  return text.substr(0, text.size() - unfinished_character(text));
}

inline double rounded(double number) { return std::round(number * 1e3) / 1e3; }

inline std::string_view name_of(attempt_end end) {
  return attempt_end_names[static_cast<std::size_t>(end)];
}

inline std::string_view name_of(viewed_worker::condition state) {
  return worker_condition_names[static_cast<std::size_t>(state)];
}

/// Objects with commas between them, in brackets.
inline std::string json_list(const std::vector<std::string>& entries) {
  return fmt::format("[{}]", fmt::join(entries, ",\n"));
}

/// Numbers with commas between them, in brackets.
inline std::string number_list(const std::vector<std::int64_t>& numbers, std::size_t most) {
  const auto end = numbers.begin() + static_cast<std::ptrdiff_t>(std::min(numbers.size(), most));
  return fmt::format("[{}]", fmt::join(numbers.begin(), end, ", "));
}

inline std::string attempt_json(const job_attempt& attempt, bool has_lines) {
  json_object json;
  json.add("round", attempt.round).add("attempt", attempt.number);
  json.add("world_size", attempt.world_size).add("nodes", attempt.nodes);
  json.add("began_us", attempt.began_us).add("started_us", attempt.started_us);
  json.add("ended_us", attempt.ended_us).add("end", name_of(attempt.end));
  if (attempt.failed_rank) json.add("failed_rank", *attempt.failed_rank);
  json.add("reason", cut_text(attempt.reason, 400));
  if (!attempt.cause.empty()) json.add("cause", cut_text(attempt.cause, 400));
  if (has_lines && !attempt.last_lines.empty()) {
    json.add("last_lines", cut_text(attempt.last_lines, limits::journal_text_bytes));
  }
  json.add("decision", cut_text(attempt.decision, 200));
  if (attempt.lost_seconds) json.add("lost_seconds", rounded(*attempt.lost_seconds));
  if (attempt.is_replacement) json.add_json("replaced", number_list(attempt.replaced, 64));
  return json.text();
}

/// Texts of workers, as long as there is room for them.
class text_budget {
 public:
  std::string_view spend(std::string_view text, std::size_t most) {
    const std::string_view part = cut_text(text, std::min(most, left_));
    left_ -= part.size();
    return part;
  }

 private:
  // A byte of text takes up to 6 bytes in JSON, so these texts fill less than half of the answer.
  std::size_t left_ = limits::status_answer_bytes / 16;
};

inline std::string worker_json(const viewed_worker& worker, double median, text_budget& budget) {
  json_object json;
  json.add("rank", worker.rank).add("local_rank", worker.local_rank).add("pid", worker.pid);
  json.add("state", name_of(worker.state));
  if (worker.exit_code) json.add("exit_code", *worker.exit_code);
  if (worker.signal) json.add("signal", *worker.signal);
  if (worker.ended_us > 0) json.add("ended_us", worker.ended_us);
  if (!worker.reason.empty()) json.add("reason", budget.spend(worker.reason, 2048));
  if (worker.is_suspected()) {
    json.add("suspicion", to_string(worker.suspicion));
    json.add("suspicion_reason", budget.spend(worker.suspicion_reason, 256));
  }
  if (worker.replacements > 0) json.add("replacements", worker.replacements);
  if (worker.state == job_worker::condition::running && worker.usage.memory_bytes > 0) {
    if (worker.usage.processors >= 0) json.add("processors", rounded(worker.usage.processors));
    json.add("memory_bytes", worker.usage.memory_bytes);
  }
  if (worker.step < 0) return json.text();
  json.add("step", worker.step).add("total", worker.total).add("progress_us", worker.progress_us);
  if (worker.step_seconds > 0) json.add("step_seconds", rounded(worker.step_seconds));
  if (median > 0) json.add("ratio", rounded(worker.step_seconds / median));
  if (!worker.text.empty()) json.add("text", budget.spend(worker.text, 256));
  return json.text();
}

/// The time that the job still takes, while its workers make steps.
inline std::optional<double> seconds_left(const job_view& view, const viewed_progress& progress) {
  return condition_of(view).is_moving() ? progress.seconds_left() : std::nullopt;
}

inline std::string progress_part(const job_view& view, const viewed_progress& progress) {
  json_object json;
  if (const viewed_worker* const slowest = progress.slowest) {
    json.add("step", slowest->step).add("total", slowest->total);
    json.add("progress_us", slowest->progress_us);
    if (progress.speaker) json.add("text", cut_text(progress.speaker->text, 256));
    if (progress.median_seconds > 0) json.add("step_seconds", rounded(progress.median_seconds));
    if (const auto remaining = seconds_left(view, progress)) {
      json.add("seconds_left", rounded(*remaining));
    }
  }
  return json.text();
}

inline std::string node_json(const viewed_node& node, double median, text_budget& budget) {
  json_object json;
  json.add("host", budget.spend(node.entry.host, 256))
      .add("name", budget.spend(node.entry.name, 300));
  json.add("presence", to_string(node.entry.presence)).add("group_rank", node.entry.group_rank);
  json.add("since_us", node.since_us).add("own", node.is_own);
  if (node.epoch != 0) json.add("state", to_string(node.activity));
  if (!node.reason.empty()) json.add("reason", budget.spend(node.reason, 240));
  json.add("base_rank", node.base_rank);
  std::vector<std::string> workers;
  for (const viewed_worker& worker : node.workers) {
    workers.push_back(worker_json(worker, median, budget));
  }
  std::string text = json.text();
  text.pop_back();
  return fmt::format("{}, \"workers\": {}}}", text, json_list(workers));
}

inline std::string whole_part(const viewed_job& whole, double median, text_budget& budget) {
  if (!whole.is_known()) return "null";
  json_object json;
  json.add("round", whole.round()).add("complete", whole.is_complete());
  json.add("min_nodes", whole.min_nodes()).add("max_nodes", whole.max_nodes());
  json.add("active", whole.active()).add("waiting", whole.waiting()).add("lost", whole.lost());
  std::vector<std::string> nodes;
  for (const viewed_node& node : whole.nodes()) nodes.push_back(node_json(node, median, budget));
  std::string text = json.text();
  text.pop_back();
  return fmt::format("{}, \"nodes\": {}}}", text, json_list(nodes));
}

inline std::string uses_part(const job_view& view, std::int64_t now_us) {
  json_object json;
  for (std::size_t use = 0; use < time_use_names.size(); ++use) {
    json.add(time_use_names[use], rounded(view.seconds(static_cast<time_use>(use), now_us)));
  }
  return json.text();
}

// ---- for people
// -----------------------------------------------------------------------------------

/// "41.0 s", "20 min 13 s", "18 h 31 min".
inline std::string span_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  // Keeps the number within its type. No job runs for so many years.
  const auto whole = static_cast<std::int64_t>(std::min(seconds, 1e12));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

/// "14:00:02", in UTC.
inline std::string clock_text(std::int64_t time_us) {
  const std::int64_t seconds = time_us / 1'000'000 % 86'400;
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

inline std::string one_line(std::string_view text, std::size_t most) {
  std::string line(cut_text(text, most));
  std::replace(line.begin(), line.end(), '\n', ' ');
  return printable_text(line);
}

inline std::string times_text(std::int64_t count) {
  return count == 1 ? std::string("once") : fmt::format("{} times", count);
}

/// At most eight of them.
inline std::vector<std::int64_t> named_ranks(std::vector<std::int64_t> ranks) {
  constexpr std::size_t most_named = 8;
  ranks.resize(std::min(ranks.size(), most_named));
  return ranks;
}

/// The round of an attempt, or its state if it has no round: replicas run without having met.
inline std::string attempt_name(const job_attempt& attempt) {
  if (attempt.round >= 0) return fmt::format("round {}", attempt.round);
  if (attempt.started_us == 0) return "meeting";
  return attempt.end == attempt_end::none ? "running" : "ended";
}

inline std::string attempt_line(const job_attempt& attempt, bool has_job_ended,
                                std::int64_t now_us) {
  std::string line = fmt::format("  {}  ", clock_text(attempt.began_us));
  line += attempt_name(attempt);
  if (!attempt.replaced.empty()) {
    line += fmt::format("  replaced rank{} {}", attempt.replaced.size() == 1 ? "" : "s",
                        fmt::join(named_ranks(attempt.replaced), " "));
  } else if (attempt.is_replacement) {
    line += "  kept all workers";
  }
  const bool is_over = attempt.end != attempt_end::none;
  const std::int64_t until = is_over || has_job_ended ? attempt.ended_us : now_us;
  if (attempt.started_us > 0) {
    const double ran = seconds_between(attempt.started_us, until == 0 ? now_us : until);
    line += fmt::format("  ran {}", span_text(ran));
  }
  if (is_over) line += fmt::format("  {}", name_of(attempt.end));
  if (!attempt.reason.empty()) line += ": " + one_line(attempt.reason, 300);
  if (!attempt.cause.empty()) line += "; " + one_line(attempt.cause, 300);
  if (attempt.lost_seconds) line += fmt::format("  (lost {})", span_text(*attempt.lost_seconds));
  return line + "\n";
}

inline std::string worker_line(const viewed_worker& worker, double median) {
  std::string line =
      fmt::format("  rank {:<5} pid {:<8} {:<9}", worker.rank, worker.pid, name_of(worker.state));
  if (worker.step >= 0) line += fmt::format("  step {}", worker.step);
  // A suspicion already says how slow the worker is.
  if (!worker.is_suspected() && median > 0 && worker.step_seconds > median * straggler_ratio) {
    line += fmt::format("  slow: {:.2f} times the median", worker.step_seconds / median);
  }
  if (worker.is_suspected()) {
    line += fmt::format("  {}: {}", to_string(worker.suspicion),
                        one_line(worker.suspicion_reason, 200));
  }
  if (worker.replacements > 0) line += "  replaced " + times_text(worker.replacements);
  if (worker.exit_code) line += fmt::format("  exit code {}", *worker.exit_code);
  if (worker.signal) line += fmt::format("  signal {}", *worker.signal);
  if (!worker.reason.empty()) line += "  " + one_line(worker.reason, 300);
  return line + "\n";
}

inline bool is_remarkable(const viewed_worker& worker, double median) {
  using condition = viewed_worker::condition;
  const bool is_usual = worker.state == condition::running || worker.state == condition::waiting ||
                        worker.state == condition::succeeded;
  return !is_usual || worker.is_suspected() ||
         (median > 0 && worker.step_seconds > median * straggler_ratio);
}

/// A line for each worker if there are few; otherwise, lines for the remarkable ones only.
inline std::string workers_text(const job_view& view) {
  constexpr std::size_t most_lines = 16;
  const bool shows_each = view.workers().size() <= most_lines;
  const double median = view.progress().median_seconds;
  std::string text;
  std::size_t left_out = 0;
  std::size_t lines = 0;
  for (const viewed_worker& worker : view.workers()) {
    if ((shows_each || is_remarkable(worker, median)) && lines < most_lines) {
      text += worker_line(worker, median);
      ++lines;
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) text += fmt::format("  and {} more\n", left_out);
  return text;
}

/// Lines about workers of other nodes; only about those that are not simply running.
inline std::string other_workers_text(const job_view& view) {
  constexpr int most_lines = 16;
  const double median = view.whole_progress().median_seconds;
  std::string text;
  int lines = 0;
  for (const viewed_node& node : view.whole().nodes()) {
    for (const viewed_worker& worker : node.workers) {
      if (!is_remarkable(worker, median) || ++lines > most_lines) continue;
      text += fmt::format("  {}{}", one_line(node.entry.host, 100), worker_line(worker, median));
    }
  }
  if (lines > most_lines) text += fmt::format("  and {} more\n", lines - most_lines);
  return text.empty() ? text : "workers of other nodes\n" + text;
}

inline std::string headline(const job_view& view, std::int64_t now_us) {
  const job_state& job = view.job();
  const job_condition condition = condition_of(view);
  std::string line = fmt::format("job {}  {}", one_line(job.run_id(), 200), condition.name);
  if (!condition.reason.empty()) line += fmt::format(" ({})", one_line(condition.reason, 1024));
  line += '\n';
  if (job.round() >= 0) {
    const job_attempt& last = job.attempts().back();
    line += fmt::format("round {}  world {}  node {} of {} ({})  ", last.round, last.world_size,
                        job.group_rank(), last.nodes, one_line(job.node(), 100));
  }
  line += fmt::format("restarts {} of {}", job.restarts(), job.max_restarts());
  if (const auto part = view.goodput(now_us)) {
    line += fmt::format("  goodput {:.1f} %{}", *part * 100,
                        job.has_steps() ? "" : " (no steps reported)");
  }
  return line + "\n";
}

/// "nodes 2 of 2 to 4: node0 node1  lost: node2 (12.0 s ago)"; empty: not known here.
inline std::string nodes_line_of(const viewed_job& whole, std::int64_t now_us) {
  if (!whole.is_known()) return {};
  constexpr std::size_t most_names = 8;
  const int there = whole.active() + whole.waiting();
  const std::string most =
      whole.max_nodes() > whole.min_nodes() ? fmt::format(" to {}", whole.max_nodes()) : "";
  std::string line = fmt::format("nodes {} of {}{}", there, whole.min_nodes(), most);
  for (const node_presence presence : {node_presence::active, node_presence::waiting,
                                       node_presence::standing_by, node_presence::lost}) {
    std::size_t count = 0;
    for (const viewed_node& node : whole.nodes()) {
      if (node.entry.presence != presence || ++count > most_names) continue;
      line += count > 1 ? " " : fmt::format("  {}: ", to_string(presence));
      line += one_line(node.entry.name, 100);
      if (presence != node_presence::lost) continue;
      line += fmt::format(" ({} ago)", span_text(seconds_between(node.since_us, now_us)));
    }
    if (count > most_names) line += fmt::format(" and {} more", count - most_names);
  }
  return line + "\n";
}

ELASTIC_DECL std::string progress_line(const job_view& view) {
  const viewed_progress progress = view.whole_progress();
  const viewed_worker* const slowest = progress.slowest;
  if (!slowest) return {};
  std::string line = fmt::format("step {}", slowest->step);
  if (slowest->total > 0) line += fmt::format(" of {}", slowest->total);
  const double median = progress.median_seconds;
  if (median > 0) line += fmt::format("  {:.3g} s a step", median);
  if (const auto remaining = seconds_left(view, progress)) {
    line += fmt::format("  {} left", span_text(*remaining));
  }
  if (!slowest->text.empty()) line += "  " + one_line(slowest->text, 200);
  return line;
}

ELASTIC_DECL std::string progress_summary(const job_view& view) {
  return progress_part(view, view.whole_progress());
}

inline std::string stall_json(const journal_record& found, bool is_there) {
  const job_event& stall = found.event;
  json_object json;
  json.add("is_there", is_there).add("cause", cut_text(stall.state, 64));
  json.add("sentence", cut_text(stall.reason, 1024));
  json.add("evidence", cut_text(stall.lines, 4096));
  json.add("rank", stall.rank.value_or(-1)).add("ranks", stall.count.value_or(0));
  return json.add("found_us", found.time_us).text();
}

inline std::string replacements_json(const job_state& job) {
  const job_replacements& replacements = job.replacements();
  json_object json;
  json.add("worker_epoch", job.round());
  json.add("epochs", replacements.epochs).add("ranks", replacements.ranks);
  json.add("seconds", rounded(replacements.durations.sum));
  json.add("abandoned", replacements.abandoned);
  if (replacements.abandoned > 0) {
    json.add("last_obstacle", cut_text(replacements.last_obstacle, 400));
  }
  return json.text();
}

/// "replaced: rank 3 2 times, rank 5 once; all workers restarted once, …"; empty: neither.
inline std::string replacements_line(const job_replacements& replacements) {
  constexpr std::size_t most_named = 16;
  std::string line;
  std::size_t named = 0;
  for (const auto& [rank, count] : replacements.by_rank) {
    if (named++ == most_named) break;
    line += fmt::format("{}rank {} {}", line.empty() ? "replaced: " : ", ", rank,
                        times_text(count));
  }
  if (replacements.by_rank.size() > most_named) {
    line += fmt::format(" and {} other ranks", replacements.by_rank.size() - most_named);
  }
  if (replacements.abandoned > 0) {
    line += fmt::format("{}all workers restarted {}, the last time because {}",
                        line.empty() ? "" : "; ", times_text(replacements.abandoned),
                        one_line(replacements.last_obstacle, 200));
  }
  return line.empty() ? line : line + "\n";
}

inline std::string standbys_json(const job_standbys& standbys) {
  json_object json;
  json.add("ready", standbys.ready).add("making", standbys.making);
  json.add("memory_bytes", standbys.bytes);
  return json.text();
}

/// "standbys: 1 ready (225 MiB), 1 in the making"; empty: none was made.
inline std::string standbys_line(const job_state& job) {
  if (!job.standbys() || job.has_ended()) return {};
  std::string line = fmt::format("standbys: {} ready", job.standbys()->ready);
  if (job.standbys()->bytes > 0) line += fmt::format(" ({} MiB)", job.standbys()->bytes >> 20);
  if (job.standbys()->making > 0) line += fmt::format(", {} in the making", job.standbys()->making);
  return line + "\n";
}

inline std::string vault_json(const job_vault& vault) {
  json_object json;
  json.add("generation", vault.generation).add("step", vault.step);
  json.add("complete_us", vault.complete_us).add("memory_bytes", vault.bytes);
  json.add("skipped", vault.skipped).add("restores", vault.restores);
  return json.text();
}

/// "vault: generation 812 of step 8120, 12 s old, 2048 MiB, 3 skipped"; empty: nothing was kept.
inline std::string vault_line(const job_state& job, std::int64_t now_us) {
  if (!job.vault() || job.has_ended()) return {};
  const job_vault& vault = *job.vault();
  std::string line = "vault: no complete generation";
  if (vault.complete_us > 0) {
    line = fmt::format("vault: generation {} of step {}, {} old", vault.generation, vault.step,
                       span_words(seconds_between(vault.complete_us, now_us)));
  }
  return line + fmt::format(", {} MiB, {} skipped\n", vault.bytes >> 20, vault.skipped);
}

inline std::string launch_json(const job_disclosure& shown) {
  const job_launch& launch = shown.launch;
  json_object json;
  json.add("script", launch.script);
  if (shown.has_secrets) {
    std::vector<std::string> arguments;
    for (const std::string& argument : launch.arguments) arguments.push_back(json_string(argument));
    json.add_json("arguments", fmt::format("[{}]", fmt::join(arguments, ", ")));
    if (launch.left_out > 0) json.add("arguments_left_out", launch.left_out);
  }
  json.add("user", launch.user).add("host", launch.host).add("log_dir", launch.log_dir);
  return json.text();
}

ELASTIC_DECL std::string job_json(const job_view& view, std::int64_t now_us,
                                  const job_disclosure& shown) {
  const job_state& job = view.job();
  json_object head;
  // A page that asked for output in vain would be refused, which browsers take for an error of it.
  head.add("shows_output", shown.has_secrets);
  if (!shown.launch.script.empty()) head.add_json("launch", launch_json(shown));
  head.add("run_id", job.run_id()).add("role", job.role()).add("backend", job.backend());
  head.add("version", version_text).add("node", job.node());
  head.add("epoch", job.epoch()).add("sequence", job.sequence()).add("time_us", now_us);
  head.add("began_us", job.began_us()).add("state", to_string(job.activity()));
  head.add("reason", cut_text(job.reason(), 1024));
  const job_condition condition = condition_of(view);
  head.add("condition", condition.name).add("condition_reason", cut_text(condition.reason, 1024));
  if (job.stall()) head.add_json("stall", stall_json(*job.stall(), job.is_stalled()));
  if (job.replacements().is_known()) head.add_json("replacements", replacements_json(job));
  if (job.standbys()) head.add_json("standbys", standbys_json(*job.standbys()));
  if (job.vault()) head.add_json("vault", vault_json(*job.vault()));
  head.add("group_rank", job.group_rank()).add("base_rank", job.base_rank());
  head.add("restarts", job.restarts()).add("max_restarts", job.max_restarts());
  if (const auto part = view.goodput(now_us)) head.add("goodput", rounded(*part));
  head.add("has_steps", job.has_steps());
  std::vector<std::string> attempts;
  constexpr std::size_t with_lines = 8;
  for (std::size_t index = 0; index < job.attempts().size(); ++index) {
    const bool has_lines = index + with_lines >= job.attempts().size();
    attempts.push_back(attempt_json(job.attempts()[index], has_lines));
  }
  std::vector<std::string> workers;
  text_budget budget;
  const viewed_progress progress = view.whole_progress();
  for (const viewed_worker& worker : view.workers()) {
    workers.push_back(worker_json(worker, progress.median_seconds, budget));
  }
  const std::string whole = whole_part(view.whole(), progress.median_seconds, budget);
  std::string text = head.text();
  text.pop_back();
  return fmt::format(
      "{},\n\"seconds\": {},\n\"progress\": {},\n\"attempts\": {},\n\"workers\": {},\n"
      "\"whole\": {}}}\n",
      text, uses_part(view, now_us), progress_part(view, progress),
      json_list(attempts), json_list(workers), whole);
}

ELASTIC_DECL std::string job_text(const job_view& view, std::int64_t now_us) {
  const job_state& job = view.job();
  std::string text = headline(view, now_us) + nodes_line_of(view.whole(), now_us);
  const std::string progress = progress_line(view);
  if (!progress.empty()) text += progress + "\n";
  text += replacements_line(job.replacements()) + standbys_line(job) + vault_line(job, now_us);
  if (!job.attempts().empty()) text += "attempts (UTC)\n";
  for (const job_attempt& attempt : job.attempts()) {
    text += attempt_line(attempt, job.has_ended(), now_us);
  }
  if (!view.workers().empty()) text += "workers of this node\n";
  return text + workers_text(view) + other_workers_text(view);
}

ELASTIC_DECL std::string progress_json(const job_view& view, std::int64_t since_us,
                                       std::int64_t now_us) {
  std::vector<std::string> workers;
  const auto add = [&](const viewed_worker& worker) {
    if (worker.step < 0 || worker.progress_us < since_us) return;
    workers.push_back(fmt::format("[{},{},{},{}]", worker.rank, worker.step, worker.total,
                                  rounded(worker.step_seconds)));
  };
  for (const viewed_worker& worker : view.workers()) add(worker);
  for (const viewed_node& node : view.whole().nodes()) {
    if (node.entry.presence == node_presence::active) {
      std::for_each(node.workers.begin(), node.workers.end(), add);
    }
  }
  return fmt::format("{{\"time_us\": {}, \"workers\": [{}]}}", now_us, fmt::join(workers, ","));
}

ELASTIC_DECL std::string why_not_ready(const job_view& view) {
  const job_state& job = view.job();
  if (job.activity() == agent_activity::running) return {};
  std::string why(to_string(job.activity()));
  if (!job.reason().empty()) why += ": " + one_line(job.reason(), 300);
  return why;
}

ELASTIC_DECL std::string ready_checks(const job_view& view, std::int64_t now_us) {
  using condition = viewed_worker::condition;
  const auto line = [](bool is_good, std::string_view name, const std::string& state) {
    return fmt::format("[{}]{} {}\n", is_good ? '+' : '-', name, state);
  };
  const std::size_t count = view.workers().size();
  const auto running =
      std::count_if(view.workers().begin(), view.workers().end(),
                    [](const viewed_worker& worker) { return worker.state == condition::running; });
  const std::string why = why_not_ready(view);
  const std::int64_t round = view.job().round();
  std::string text = line(why.empty(), "agent", why.empty() ? "running" : why);
  text += line(round >= 0, "round", round >= 0 ? fmt::format("{}", round) : "none yet");
  text += line(running > 0 && static_cast<std::size_t>(running) == count, "workers",
               fmt::format("{} of {} run", running, count));
  std::string nodes = nodes_line_of(view.whole(), now_us);
  if (!nodes.empty()) {
    nodes.pop_back();
    const viewed_job& whole = view.whole();
    const bool is_enough = whole.active() + whole.waiting() >= whole.min_nodes();
    text += line(is_enough, "rendezvous", nodes);
  }
  return text + (why.empty() ? "ready\n" : "not ready\n");
}

ELASTIC_DECL std::string output_json(std::int64_t rank, const std::vector<output_tail>& tails) {
  std::string text = fmt::format(R"({{"rank": {}, "streams": [)", rank);
  bool is_first_tail = true;
  for (const output_tail& tail : tails) {
    text += fmt::format(R"({}{{"name": {}, "path": {}, "lines": [)",
                        std::exchange(is_first_tail, false) ? "" : ", ",
                        json_string(tail.stream), json_string(tail.path));
    bool is_first_line = true;
    for (const std::string_view line : tail.lines) {
      text += std::exchange(is_first_line, false) ? "" : ", ";
      const std::string_view begin = line.substr(0, limits::shown_line_bytes);
      text +=
          json_string(begin.substr(0, begin.size() - unfinished_character(begin)));
    }
    text += "]}";
  }
  return text + "]}\n";
}

}  // namespace elastic::detail
