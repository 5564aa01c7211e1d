// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <asio/any_io_executor.hpp>

#include <memory>
#include <string>

namespace elasticrun {

class merged_console;

/// `--merge-output`: equal lines of the workers of this node appear once on the console. Files are
/// not changed.
///
/// Thread-safety: one strand at a time, the agent's.
class merged_output {
 public:
  /// Inserts itself between the agent and the logs_specs and consoles of `services`.
  /// @param role  the name in the prefix of lines
  merged_output(const asio::any_io_executor& strand, std::string role,
                std::shared_ptr<elastic::time_source> time, elastic::agent_services& services);
  ~merged_output();
  merged_output(const merged_output&) = delete;
  merged_output& operator=(const merged_output&) = delete;

  /// Shows lines when they have waited long enough. No timer runs while no line waits.
  /// Cancellation: all types; only a cancellation ends it.
  elastic::task<void> run();

  /// Shows everything that still waits, within `limits::merged_last_output`. Errors: none.
  /// Cancellation: all types.
  elastic::task<void> finish();

 private:
  std::shared_ptr<elastic::time_source> time_;
  std::shared_ptr<merged_console> out_;
  std::shared_ptr<merged_console> err_;
};

}  // namespace elasticrun
