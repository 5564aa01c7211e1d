// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/status/detail/job_view.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The requests to the stores that a node serves, by operation, and the number of keys there.
struct viewed_stores {
  std::map<std::string, std::uint64_t> requests;
  std::int64_t keys = 0;
};

/// The two forms in which Prometheus reads metrics.
enum class metrics_format { openmetrics, text };

/// The form that a client takes, by its header "Accept": OpenMetrics only if it names it.
ELASTIC_DECL metrics_format metrics_format_for(std::string_view accept);

/// The "Content-Type" of the response.
ELASTIC_DECL std::string_view content_type(metrics_format format);

/// One role of a job. Its samples carry the role's name as the label `role`.
struct role_metrics {
  std::string name;
  /// "waiting", "running" and so on.
  std::string state;
  std::shared_ptr<const job_view> view;
  std::optional<viewed_stores> stores = {};
};

/// The view as metrics, which docs/observe.md lists. Only one node writes the metrics about the job
/// as a whole, so that a sum over nodes counts them once: the node that serves the rendezvous, or
/// else the node of group rank 0.
/// @param now_us  the time of day, in microseconds since 1970
/// @param stores  none: this node serves none, or nobody counts
ELASTIC_DECL std::string metrics_text(const job_view& view, metrics_format format,
                                      std::int64_t now_us,
                                      const std::optional<viewed_stores>& stores = {});

/// The same of several roles. Each family has the samples of all of them.
ELASTIC_DECL std::string metrics_text(const std::vector<role_metrics>& roles,
                                      metrics_format format, std::int64_t now_us);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/job_metrics.ipp>
#endif
