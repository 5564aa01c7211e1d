// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/detail/stderr_line.hpp>
#include <elastic/telemetry/metric_handler.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace elastic {

/// One value as "[time][group]: name=value", without a line end; the time in seconds since 1970
/// with six decimals.
ELASTIC_DECL std::string to_console_line(const metric_handler::metric& measured);

/// Writes each value as one line.
class ELASTIC_EXPORT console_metric_handler final : public metric_handler {
 public:
  /// Takes a line without its end.
  using line_sink = std::function<void(std::string_view)>;

  /// To stderr, so that stdout is left to the workers.
  console_metric_handler() : sink_(&detail::write_stderr_line) {}
  /// To a sink of your own; its exceptions are passed to the caller of `emit`.
  explicit console_metric_handler(line_sink sink) : sink_(std::move(sink)) {}

  void emit(const metric_handler::metric& measured) override { sink_(to_console_line(measured)); }

 private:
  line_sink sink_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/telemetry/impl/console_metric_handler.ipp>
#endif
