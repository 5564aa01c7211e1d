// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Includes the whole of nlohmann/json, for the escapes of JSON texts.

#include <elastic/base/config.hpp>
#include <elastic/telemetry/detail/stderr_line.hpp>
#include <elastic/telemetry/event.hpp>
#include <elastic/telemetry/event_handler.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace elastic {

/// One event as a line of JSON, without a line end. The keys, their order and the spaces are those
/// of torchelastic, so that programs that read its log can read this one.
ELASTIC_DECL std::string to_json_line(const event& happened);

/// Writes each event as one line of JSON.
class ELASTIC_EXPORT console_event_handler final : public event_handler {
 public:
  /// Takes a line without its end.
  using line_sink = std::function<void(std::string_view)>;

  /// To stderr, as torchrun does.
  console_event_handler() : sink_(&detail::write_stderr_line) {}
  /// To a sink of your own; its exceptions are passed to the caller of `record`.
  explicit console_event_handler(line_sink sink) : sink_(std::move(sink)) {}

  ELASTIC_DECL void record(const event& happened) override;

 private:
  line_sink sink_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/telemetry/impl/console_event_handler.ipp>
#endif
