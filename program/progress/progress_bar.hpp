// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/agent/agent_part.hpp>
#include <elastic/process/detail/console_target.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <program/progress/progress_line.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace elasticrun {

/// Shows the progress of a job in the last row of a terminal, from the first report of a worker on.
/// All other output, including that of the workers, scrolls in the rows above: the terminal
/// excludes the last row from scrolling, so no output needs to pass through this class.
///
/// It draws at most ten times a second, and only after a report, or when the condition of the job
/// changes. The destructor releases the row; if it never runs, the command `reset` does.
///
/// Thread-safety: one strand at a time, the agent's.
class progress_bar final : public elastic::agent_part {
 public:
  /// @param descriptor  a terminal (see `can_show`); must outlive this object
  explicit progress_bar(std::shared_ptr<elastic::time_source> time, int descriptor = STDERR_FILENO);
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  ~progress_bar() override { hide(); }

  /// Whether a descriptor is a terminal that is large enough and understands the escape sequences.
  static bool can_show(int descriptor, std::string_view terminal_name);
  void started(const elastic::agent_part::started_workers& job) override;
  void progressed(const elastic::worker_progress& made) override;

  /// Follows the job by its journal, from now on.
  void take(const elastic::journal_record& record);

  /// Releases the row.
  void hide();

 private:
  void draw();

  // Writes in one call, so that no other output interrupts it. Bytes that the terminal does not
  // accept are dropped.
  void write(std::string_view bytes);

  std::shared_ptr<elastic::time_source> time_;
  elastic::detail::console_target terminal_;
  progress_line line_;
  elastic::detail::job_view view_;
  std::string condition_;
  elastic::time_point drawn_{};
  /// The number of rows of the terminal when the last one was reserved; 0: none is reserved.
  int rows_ = 0;
};

/// A part that draws the row for one agent, which it follows by the records of its journal.
std::shared_ptr<elastic::agent_part> make_progress_bar(
    std::shared_ptr<elastic::time_source> time, const elastic::agent_part::context& context);

}  // namespace elasticrun
