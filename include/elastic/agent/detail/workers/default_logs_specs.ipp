// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/default_logs_specs.hpp>

#include <elastic/agent/detail/workers/line_template.hpp>
#include <elastic/base/detail/json_text.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::vector<logs_specs::worker_output> default_logs_specs::plan(
    const logs_specs::attempt_logs& attempt) {
  const log_options& options = attempt.spec.logs;
  const bool has_files = std::none_of(
      attempt.workers.begin(), attempt.workers.end(),
      [&](const worker_identity& who) { return attempt.layout.lacks_files(who.local_rank); });
  std::shared_ptr<log_file> matches[2];
  if (has_files && !options.duplicate_stdout_filters.empty()) {
    matches[0] = open(attempt.layout, attempt.layout.filtered_stdout_file(), options.rotation);
  }
  if (has_files && !options.duplicate_stderr_filters.empty()) {
    matches[1] = open(attempt.layout, attempt.layout.filtered_stderr_file(), options.rotation);
  }
  std::vector<logs_specs::worker_output> outputs;
  for (const worker_identity& who : attempt.workers) {
    logs_specs::worker_output& output = outputs.emplace_back();
    output.out = plan_stream(attempt, who, std_streams::out, matches[0]);
    output.err = plan_stream(attempt, who, std_streams::err, matches[1]);
  }
  return outputs;
}

ELASTIC_DECL std::shared_ptr<log_file> default_logs_specs::open(const log_layout& layout,
                                                                const std::string& path,
                                                                log_file::rotation rotation) {
  return log_file::open(path, rotation, layout.may_hang());
}

ELASTIC_DECL output_plan default_logs_specs::plan_stream(const logs_specs::attempt_logs& attempt,
                                                         const worker_identity& who,
                                                         std_streams stream,
                                                         const std::shared_ptr<log_file>& matches) {
  const worker_spec& spec = attempt.spec;
  const log_options& options = spec.logs;
  const bool is_err = stream == std_streams::err;
  const bool teed = contains(spec.tee.of(who.local_rank), stream);
  // Output is shown if no file can be written.
  const bool redirected = contains(spec.redirects.of(who.local_rank), stream) &&
                          !attempt.layout.lacks_files(who.local_rank);
  const bool shown = (teed || !redirected) && is_shown(options, who.local_rank);
  const bool as_json = options.format == log_options::line_format::json;

  output_plan plan;
  if (teed || redirected) {
    plan.file = is_err ? attempt.layout.stderr_file(who.local_rank)
                       : attempt.layout.stdout_file(who.local_rank);
  }
  const bool cut = !plan.file.empty() && options.rotation.max_size > 0;
  if (matches || cut || (teed && shown) || (teed && !plan.file.empty()) || (shown && as_json)) {
    plan.kind = output_plan::how::copy;
  } else if (redirected || teed) {
    plan.kind = plan.file.empty() ? output_plan::how::null : output_plan::how::file;
  } else if (is_err) {
    plan.kind = output_plan::how::copy;  // to keep its last lines
  } else if (!shown) {
    plan.kind = output_plan::how::null;
  }
  plan.keep_tail = is_err && plan.kind != output_plan::how::null;
  if (plan.kind != output_plan::how::copy) return plan;

  plan.rotation = options.rotation;
  plan.console = shown;
  plan.json = as_json;
  const line_head head =
      as_json ? object_head(attempt, who, is_err)
              : line_template(spec.log_line_prefix_template).head_of(who, attempt.host);
  if (teed || as_json) plan.prefix = head;
  if (matches) {
    plan.matches.filters =
        is_err ? options.duplicate_stderr_filters : options.duplicate_stdout_filters;
    plan.matches.prefix = head;
    plan.matches.file = matches;
  }
  return plan;
}

ELASTIC_DECL bool default_logs_specs::is_shown(const log_options& options, int local_rank) {
  const std::vector<int>& ranks = options.local_ranks_filter;
  return ranks.empty() || std::find(ranks.begin(), ranks.end(), local_rank) != ranks.end();
}

ELASTIC_DECL line_head default_logs_specs::object_head(const logs_specs::attempt_logs& attempt,
                                                       const worker_identity& who, bool is_err) {
  line_head head(R"({"time":")");
  head.add_time();
  head.add_text(fmt::format(R"(","host":{},"role":{},"rank":{},"local_rank":{},"attempt":{},)",
                            json_string(attempt.host), json_string(who.role_name),
                            who.rank, who.local_rank, attempt.layout.attempt()));
  head.add_text(is_err ? R"("stream":"stderr",)" : R"("stream":"stdout",)");
  return head;
}

}  // namespace elastic::detail
