// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/status/job_view.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace elastic {

/// The two forms in which Prometheus reads metrics.
enum class metrics_format { openmetrics, text };

/// The form that a client takes, by its header "Accept": OpenMetrics only if it names it.
ELASTIC_DECL metrics_format metrics_format_for(std::string_view accept);

/// What the answer has as "Content-Type".
ELASTIC_DECL std::string_view content_type(metrics_format format);

/// The view as metrics, which docs/observe.md lists. What is true of the job as a whole is only
/// among those of one node, so that a sum over nodes counts it once: the one that serves the
/// rendezvous, or else that of group rank 0.
/// @param now_us  the time of day, in microseconds since 1970
ELASTIC_DECL std::string metrics_text(const job_view& view, metrics_format format,
                                      std::int64_t now_us);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/job_metrics.ipp>
#endif
