// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::testing {

/// Keeps every line of a log, for tests:
///
///     const auto log = std::make_shared<log_recorder>();
///     services.log = log->log();
///     …
///     assert(log->has("restarting"));
///
/// Thread-safety: any thread.
class log_recorder final : public log_handler, public std::enable_shared_from_this<log_recorder> {
 public:
  ELASTIC_DECL void write(log_level level, std::string_view text) noexcept override;

  /// A logger that writes here, from debug level. The recorder must be owned by a
  /// `std::shared_ptr`.
  ELASTIC_DECL logger log();

  /// How many lines of `level` and above contain `part`.
  ELASTIC_DECL std::size_t count(std::string_view part, log_level level = log_level::debug) const;
  bool has(std::string_view part, log_level level = log_level::debug) const {
    return count(part, level) > 0;
  }

  /// All lines, for the message of a failed test.
  ELASTIC_DECL std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<log_level, std::string>> lines_;
};

}  // namespace elastic::testing

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/testing/impl/log_recorder.ipp>
#endif
