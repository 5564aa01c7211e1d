// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/status/detail/job_launch.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace elastic::detail {

/// The view as a JSON object, which docs/observe.md describes. What workers said of themselves is
/// cut, so that it is never longer than `limits::status_answer_bytes`.
/// @param now_us  the time of day, in microseconds since 1970
/// @param shown  what its reader may see that is not in the view
ELASTIC_DECL std::string job_json(const job_view& view, std::int64_t now_us,
                                  const job_disclosure& shown = {});

/// The view for people, in lines. Hostile text in it is escaped, so that a terminal can show it.
ELASTIC_DECL std::string job_text(const job_view& view, std::int64_t now_us);

/// The progress reports since a time, as {"time_us": …, "workers": [[rank, step, total, seconds
/// of a step], …]}: short, since it is sent again and again.
ELASTIC_DECL std::string progress_json(const job_view& view, std::int64_t since_us,
                                       std::int64_t now_us);

/// The progress of the job, as an object of job_json; and in words, empty if nobody reported it.
ELASTIC_DECL std::string progress_summary(const job_view& view);
ELASTIC_DECL std::string progress_line(const job_view& view);

/// Why the workers do not run; empty: they do.
ELASTIC_DECL std::string why_not_ready(const job_view& view);

/// The conditions of readiness, one line each.
ELASTIC_DECL std::string ready_checks(const job_view& view, std::int64_t now_us);

/// The last lines of a worker as JSON: {"rank": 3, "streams": [{"name": "stderr", "path": "…",
/// "lines": ["…"]}]}. Bytes that are not text are replaced; lines are cut after
/// `limits::shown_line_bytes`.
ELASTIC_DECL std::string output_json(std::int64_t rank, const std::vector<output_tail>& tails);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/job_document.ipp>
#endif
