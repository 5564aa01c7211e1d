// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace elastic::testing {

/// Keeps every line of a log, for tests:
///
///     log_recorder log;
///     services.log = log.log();
///     …
///     assert(log.has("restarting"));
///
/// Its loggers share the lines with it, and may outlive it.
///
/// Thread-safety: any thread.
class ELASTIC_EXPORT log_recorder final : public log_handler {
 public:
  ELASTIC_DECL log_recorder();
  log_recorder(const log_recorder&) = delete;
  log_recorder& operator=(const log_recorder&) = delete;

  ELASTIC_DECL void write(log_level level, std::string_view text) noexcept override;

  /// A logger that writes here, from debug level.
  ELASTIC_DECL logger log();

  /// How many lines of `level` and above contain `part`.
  ELASTIC_DECL std::size_t count(std::string_view part, log_level level = log_level::debug) const;
  bool has(std::string_view part, log_level level = log_level::debug) const {
    return count(part, level) > 0;
  }

  /// All lines, for the message of a failed test.
  ELASTIC_DECL std::string text() const;

 private:
  class record;

  std::shared_ptr<record> record_;
};

}  // namespace elastic::testing

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/testing/impl/log_recorder.ipp>
#endif
