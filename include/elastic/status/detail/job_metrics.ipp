// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_metrics.hpp>

#include <elastic/base/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// Writes families of metrics. If several roles write to the same family, it keeps their samples
/// together.
class metrics_writer {
 public:
  explicit metrics_writer(metrics_format format) : format_(format) {}

  /// From now on, samples are of this role: they have its name as their first label.
  void begin_role(std::string name) { role_ = std::move(name); }
  /// Empty: of a job without roles.
  const std::string& role() const { return role_; }

  /// Begins a family. @param type  "counter", "gauge", "histogram" or "info"
  void family(std::string_view name, std::string_view type, std::string_view help) {
    const auto [known, is_new] = places_.try_emplace(std::string(name), families_.size());
    current_ = known->second;
    name_ = name;
    type_ = type;
    if (!is_new) return;
    const bool is_open = format_ == metrics_format::openmetrics;
    // OpenMetrics names a family without its suffix, the older form with it.
    const std::string shown = is_open ? name_ : name_ + std::string(suffix());
    const std::string_view kind = !is_open && type == "info" ? "gauge" : type;
    families_.push_back(fmt::format("# HELP {} {}\n# TYPE {} {}\n", shown, help, shown, kind));
  }

  /// @param labels  "" or "{name=\"value\"}", whose values are escaped
  void sample(double value, std::string_view labels = {}) {
    write_sample(suffix(), value, with_role(labels));
  }

  /// A sample whose labels name the role.
  void sample_of_role(double value, std::string_view labels) {
    write_sample(suffix(), value, std::string(labels));
  }

  void histogram(const duration_histogram& durations) {
    std::int64_t below = 0;
    for (std::size_t index = 0; index < durations.bounds.size(); ++index) {
      below += durations.counts[index];
      write_bucket(bound_text(durations.bounds[index]), below);
    }
    write_bucket("+Inf", durations.count);
    write_sample("_sum", durations.sum, with_role({}));
    write_sample("_count", durations.count, with_role({}));
  }

  std::string take() {
    std::string text;
    for (const std::string& family : families_) text += family;
    if (format_ == metrics_format::openmetrics) text += "# EOF\n";
    return text;
  }

 private:
  std::string_view suffix() const {
    if (type_ == "counter") return "_total";
    return type_ == "info" ? "_info" : "";
  }

  /// Names of roles have nothing that is to be escaped.
  std::string with_role(std::string_view labels) const {
    if (role_.empty()) return std::string(labels);
    if (labels.empty()) return fmt::format("{{role=\"{}\"}}", role_);
    return fmt::format("{{role=\"{}\",{}", role_, labels.substr(1));
  }

  template <class Value>
  void write_sample(std::string_view ending, Value value, const std::string& labels) {
    families_[current_] += fmt::format("{}{}{} {}\n", name_, ending, labels, value);
  }

  void write_bucket(const std::string& bound, std::int64_t below) {
    write_sample("_bucket", below, with_role(fmt::format("{{le=\"{}\"}}", bound)));
  }

  /// OpenMetrics wants bounds as floating point numbers.
  static std::string bound_text(double bound) {
    std::string text = fmt::format("{}", bound);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }

  metrics_format format_;
  std::string role_;
  std::string name_;
  std::string type_;
  /// The families with their samples, in the order in which they were begun.
  std::vector<std::string> families_;
  std::map<std::string, std::size_t> places_;
  std::size_t current_ = 0;
};

inline std::string label_value(std::string_view text) {
  std::string value;
  for (const char letter : text) {
    if (letter == '\\' || letter == '"' || letter == '\n') value += '\\';
    value += letter == '\n' ? 'n' : letter;
  }
  return value;
}

inline std::string label(std::string_view name, std::string_view value) {
  return fmt::format("{{{}=\"{}\"}}", name, label_value(value));
}

inline void write_state(metrics_writer& writer, const job_state& job) {
  writer.family("elastic_job", "info", "Information about the job of the agent.");
  const std::string& role = writer.role().empty() ? job.role() : writer.role();
  writer.sample_of_role(1, fmt::format(R"({{run_id="{}",role="{}",backend="{}",version="{}"}})",
                                       label_value(job.run_id()), label_value(role),
                                       label_value(job.backend()), version_text));
  writer.family("elastic_job_state", "gauge",
                "Whether the agent is in the given state (1) or not (0).");
  for (std::size_t index = 0; index < agent_activity_names.size(); ++index) {
    const bool is_it = job.activity() == static_cast<agent_activity>(index);
    writer.sample(is_it ? 1 : 0, label("state", agent_activity_names[index]));
  }
  if (job.round() < 0) return;
  writer.family("elastic_round", "gauge",
                "Number of the last rendezvous round that the node joined.");
  writer.sample(static_cast<double>(job.round()));
}

/// Whether this node writes the metrics about the whole job: it serves the rendezvous, or it has
/// group rank 0 and no other node shows the job.
inline bool tells_of_whole_job(const job_view& view) {
  return view.whole().is_known() || (view.job().group_rank() == 0 && !view.is_shown_elsewhere());
}

inline void write_nodes(metrics_writer& writer, const job_view& view) {
  const viewed_job& whole = view.whole();
  const bool is_running = view.job().activity() == agent_activity::running;
  if (!is_running && !whole.is_known()) return;
  writer.family("elastic_nodes", "gauge",
                "Number of nodes by state: active in the current round, waiting, lost.");
  if (is_running) {
    const auto nodes = static_cast<double>(view.job().attempts().back().nodes);
    writer.sample(nodes, label("state", "active"));
  } else {
    writer.sample(whole.active(), label("state", "active"));
  }
  if (!whole.is_known()) return;
  writer.sample(whole.waiting(), label("state", "waiting"));
  writer.sample(whole.lost(), label("state", "lost"));
}

inline void write_whole_job(metrics_writer& writer, const job_view& view) {
  const job_state& job = view.job();
  if (!tells_of_whole_job(view)) return;
  if (job.activity() == agent_activity::running) {
    writer.family("elastic_world_size", "gauge", "Number of workers in the current round.");
    writer.sample(static_cast<double>(job.attempts().back().world_size));
  }
  write_nodes(writer, view);
  writer.family("elastic_restarts_remaining", "gauge",
                "Number of restarts left before the job fails.");
  writer.sample(
      static_cast<double>(std::max<std::int64_t>(job.max_restarts() - job.restarts(), 0)));
  writer.family("elastic_restarts", "counter", "Total number of ended attempts by cause.");
  for (const attempt_end end :
       {attempt_end::failure, attempt_end::hang, attempt_end::membership, attempt_end::request}) {
    const auto index = static_cast<std::size_t>(end);
    writer.sample(static_cast<double>(job.ends()[index]), label("cause", attempt_end_names[index]));
  }
}

inline void write_time(metrics_writer& writer, const job_view& view, std::int64_t now_us) {
  writer.family("elastic_productive_seconds", "counter",
                "Total time spent on new steps, or running if no worker reports steps.");
  writer.sample(view.seconds(time_use::training, now_us));
  writer.family("elastic_lost_seconds", "counter", "Total time not spent on new steps, by phase.");
  for (std::size_t index = 0; index < time_use_names.size(); ++index) {
    const auto use = static_cast<time_use>(index);
    if (use == time_use::training) continue;
    writer.sample(view.seconds(use, now_us), label("phase", time_use_names[index]));
  }
  writer.family("elastic_rendezvous_duration_seconds", "histogram",
                "Duration of the rendezvous until the round was complete.");
  writer.histogram(view.job().rendezvous_durations());
  writer.family("elastic_worker_start_duration_seconds", "histogram",
                "Duration of the start of all workers of the node.");
  writer.histogram(view.job().start_durations());
  writer.family("elastic_stop_duration_seconds", "histogram",
                "Duration of the stop of all workers of the node.");
  writer.histogram(view.job().stop_durations());
}

/// None in a job that does not replace ranks.
inline void write_replacements(metrics_writer& writer, const job_state& job) {
  const job_replacements& replacements = job.replacements();
  if (!replacements.is_known()) return;
  writer.family("elastic_replacements", "counter",
                "Total number of ranks replaced while other workers continued.");
  writer.sample(static_cast<double>(replacements.ranks));
  writer.family("elastic_replacement_duration_seconds", "histogram",
                "Duration from the end of an epoch to the start of the next.");
  writer.histogram(replacements.durations);
  writer.family("elastic_replacements_abandoned", "counter",
                "Total number of replacements abandoned for a restart of all workers.");
  writer.sample(static_cast<double>(replacements.abandoned));
}

/// None in a job that has made no standbys.
inline void write_standbys(metrics_writer& writer, const job_state& job) {
  if (!job.standbys()) return;
  writer.family("elastic_standbys", "gauge", "Number of standbys of the node by state.");
  writer.sample(static_cast<double>(job.standbys()->ready), label("state", "ready"));
  writer.sample(static_cast<double>(job.standbys()->making), label("state", "making"));
  writer.family("elastic_standby_memory_bytes", "gauge",
                "Memory of the ready standbys of the node.");
  writer.sample(static_cast<double>(job.standbys()->bytes));
}

/// Writes the metrics of the vault, unless the job has none.
inline void write_vault(metrics_writer& writer, const job_state& job, std::int64_t now_us) {
  if (!job.vault()) return;
  writer.family("elastic_vault_memory_bytes", "gauge", "Memory of the vault's slots on the node.");
  writer.sample(static_cast<double>(job.vault()->bytes));
  writer.family("elastic_vault_skipped_commits", "counter",
                "Total number of commits that workers of the node skipped.");
  writer.sample(static_cast<double>(job.vault()->skipped));
  writer.family("elastic_vault_restores", "counter",
                "Total number of restores of all workers of the node from memory.");
  writer.sample(static_cast<double>(job.vault()->restores));
  writer.family("elastic_vault_age_seconds", "gauge",
                "Age of the newest complete generation that was recorded.");
  if (job.vault()->complete_us == 0) return;
  writer.sample(seconds_between(job.vault()->complete_us, now_us));
}

/// Only a few ranks are named, because each label makes a time series of its own.
inline constexpr std::size_t most_named_ranks = 8;

inline void write_suspicions(metrics_writer& writer, const job_view& view) {
  writer.family("elastic_worker_suspected", "gauge",
                "Whether the rank seems to delay the others (1).");
  std::size_t named = 0;
  for (const viewed_worker& worker : view.workers()) {
    if (!worker.is_suspected()) continue;
    if (named++ == most_named_ranks) break;
    writer.sample(
        1, fmt::format(R"({{rank="{}",state="{}"}})", worker.rank, to_string(worker.suspicion)));
  }
}

/// A sample only once a stall was found: 0 would say that a job which nobody diagnoses is well.
inline void write_stall(metrics_writer& writer, const job_state& job) {
  writer.family("elastic_stalled_ranks", "gauge", "Number of ranks that a diagnosed stall blames.");
  if (!job.stall()) return;
  const std::int64_t ranks = job.stall()->event.count.value_or(0);
  writer.sample(job.is_stalled() ? static_cast<double>(ranks) : 0);
}

inline void write_workers(metrics_writer& writer, const job_view& view) {
  writer.family("elastic_worker_exits", "counter",
                "Total number of worker exits by exit code or signal.");
  for (const auto& [code, count] : view.job().exits()) {
    writer.sample(static_cast<double>(count), label("code", code));
  }
  write_suspicions(writer, view);
  write_stall(writer, view.job());
  const viewed_progress progress = view.progress();
  if (!progress.slowest) return;
  writer.family("elastic_progress_steps", "gauge",
                "Last step of the worker that is furthest behind.");
  writer.sample(static_cast<double>(progress.slowest->step));
  std::int64_t last_us = 0;
  for (const viewed_worker& worker : view.workers()) {
    last_us = std::max(last_us, worker.progress_us);
  }
  writer.family("elastic_last_heartbeat_timestamp_seconds", "gauge",
                "Unix timestamp of the last progress report of a worker.");
  writer.sample(static_cast<double>(last_us) / 1e6);
  const double median = progress.median_seconds;
  if (median <= 0) return;
  writer.family("elastic_step_duration_seconds", "gauge",
                "Duration of a step, median of the workers.");
  writer.sample(median);
  std::vector<const viewed_worker*> slow;
  for (const viewed_worker& worker : view.workers()) {
    if (worker.step_seconds > median * straggler_ratio) slow.push_back(&worker);
  }
  std::sort(slow.begin(), slow.end(), [](auto* a, auto* b) {
    return std::pair(-a->step_seconds, a->rank) < std::pair(-b->step_seconds, b->rank);
  });
  slow.resize(std::min(slow.size(), most_named_ranks));
  writer.family("elastic_straggler_ratio", "gauge",
                "Ratio of the step duration of a slow rank to the median.");
  for (const viewed_worker* const worker : slow) {
    writer.sample(worker->step_seconds / median, label("rank", fmt::format("{}", worker->rank)));
  }
}

inline void write_stores(metrics_writer& writer, const viewed_stores& stores) {
  writer.family("elastic_store_requests", "counter",
                "Total number of requests to the stores of the node by operation.");
  for (const auto& [operation, count] : stores.requests) {
    writer.sample(static_cast<double>(count), label("op", operation));
  }
  writer.family("elastic_store_keys", "gauge", "Number of keys in the stores of the node.");
  writer.sample(static_cast<double>(stores.keys));
}

ELASTIC_DECL metrics_format metrics_format_for(std::string_view accept) {
  return accept.find("application/openmetrics-text") != std::string_view::npos
             ? metrics_format::openmetrics
             : metrics_format::text;
}

ELASTIC_DECL std::string_view content_type(metrics_format format) {
  return format == metrics_format::openmetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

inline void write_view(metrics_writer& writer, const job_view& view, std::int64_t now_us,
                       const std::optional<viewed_stores>& stores) {
  write_state(writer, view.job());
  write_whole_job(writer, view);
  write_time(writer, view, now_us);
  write_replacements(writer, view.job());
  write_standbys(writer, view.job());
  write_vault(writer, view.job(), now_us);
  write_workers(writer, view);
  if (stores) write_stores(writer, *stores);
}

ELASTIC_DECL std::string metrics_text(const job_view& view, metrics_format format,
                                      std::int64_t now_us,
                                      const std::optional<viewed_stores>& stores) {
  metrics_writer writer(format);
  write_view(writer, view, now_us, stores);
  return writer.take();
}

ELASTIC_DECL std::string metrics_text(const std::vector<role_metrics>& roles, metrics_format format,
                                      std::int64_t now_us) {
  constexpr std::array<std::string_view, 6> states{"waiting",   "running", "stopping",
                                                   "succeeded", "failed",  "stopped"};
  metrics_writer writer(format);
  for (const role_metrics& role : roles) {
    writer.begin_role(role.name);
    writer.family("elastic_role_state", "gauge",
                  "Whether the role is in the given state (1) or not (0).");
    for (const std::string_view state : states) {
      writer.sample(role.state == state ? 1 : 0, label("state", state));
    }
    write_view(writer, *role.view, now_us, role.stores);
  }
  return writer.take();
}

}  // namespace elastic::detail
