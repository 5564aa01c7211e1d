// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <memory>
#include <mutex>
#include <string_view>

#include <fmt/core.h>

namespace elastic {

/// The severity of a log line.
enum class log_level { debug, info, warning, error, off };

/// Where log lines go. Implement it to send them to your own logging system.
///
/// Thread-safety: `write` is called from any thread on which an agent or server runs, by one at a
/// time.
class ELASTIC_EXPORT log_handler {
 public:
  log_handler() = default;
  log_handler(const log_handler&) = delete;
  log_handler& operator=(const log_handler&) = delete;
  virtual ~log_handler() = default;

  /// One line, without a line end. Must not block for long, throw, or log to this handler.
  virtual void write(log_level level, std::string_view text) noexcept = 0;

 private:
  friend class logger;

  std::mutex mutex_;
};

/// A threshold and a handler, passed by value to code that logs. A default-constructed logger
/// discards everything, so an embedded agent logs nothing unless it gets a handler.
class logger {
 public:
  logger() = default;
  ELASTIC_DECL logger(std::shared_ptr<log_handler> handler, log_level threshold);

  bool is_enabled(log_level level) const { return handler_ && level >= threshold_; }

  template <class... Args>
  void debug(fmt::format_string<Args...> text, Args&&... args) const {
    write(log_level::debug, text, fmt::make_format_args(args...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> text, Args&&... args) const {
    write(log_level::info, text, fmt::make_format_args(args...));
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> text, Args&&... args) const {
    write(log_level::warning, text, fmt::make_format_args(args...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> text, Args&&... args) const {
    write(log_level::error, text, fmt::make_format_args(args...));
  }

 private:
  ELASTIC_DECL void write(log_level level, fmt::string_view text, fmt::format_args arguments) const;

  std::shared_ptr<log_handler> handler_;
  log_level threshold_ = log_level::off;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/impl/log.ipp>
#endif
