// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs that run jobs, not for programs that embed one.

#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <functional>
#include <memory>

namespace elastic {

struct agent_services;
struct launch_config;
class local_agent;
struct program_options;

/// What an opt-in module adds to a program that runs an agent (`add_status`). The program_run
/// creates and owns one object.
///
/// Thread-safety: called on the executor of `program_run::run`.
class program_extension {
 public:
  /// Creates the program_extension of a program, and completes the services for its agent. Called
  /// by the constructor of program_run, which throws its errors.
  using factory = std::function<std::unique_ptr<program_extension>(
      const launch_config& config, const program_options& options, agent_services& services)>;

  program_extension() = default;
  program_extension(const program_extension&) = delete;
  program_extension& operator=(const program_extension&) = delete;
  virtual ~program_extension() = default;

  /// Called before the agent runs.
  /// Errors: an exception ends the run before the agent starts; `close` is then not called.
  virtual void begin(asio::any_io_executor executor, std::shared_ptr<local_agent> agent) = 0;

  /// Awaited when the agent has ended, however it ended. When it returns, nothing of the extension
  /// runs.
  virtual task<void> close() = 0;
};

}  // namespace elastic
