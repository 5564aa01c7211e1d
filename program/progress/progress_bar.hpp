// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/process/detail/console_target.hpp>
#include <elastic/telemetry/worker_observer.hpp>
#include <program/progress/progress_line.hpp>

#include <memory>
#include <string_view>

namespace elasticrun {

/// Shows how far a job is in the last row of a terminal, from the first worker's report on. All
/// output, the workers' own too, scrolls in the rows above it: the terminal is told to leave the
/// last row alone, so that nobody has to write through this.
///
/// It is drawn at most ten times a second, when something was reported, and costs nothing else. The
/// row is given back by the destructor, and by `reset` of a shell if there was none.
///
/// Thread-safety: one strand at a time, the agent's.
class progress_bar final : public elastic::worker_observer {
 public:
  /// `descriptor` is borrowed: of a terminal, see `can_show`.
  explicit progress_bar(std::shared_ptr<elastic::time_source> time, int descriptor = STDERR_FILENO);
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  ~progress_bar() override { hide(); }

  /// Whether a descriptor is of a terminal with room for it that understands its language.
  static bool can_show(int descriptor, std::string_view terminal_name);
  void started(const elastic::started_workers& job) override;
  void progress(const elastic::worker_progress& made) override;

  /// Gives the row back.
  void hide();

 private:
  void draw();

  // At once, so that nothing of somebody else's comes between; what a terminal does not take is
  // left out.
  void write(std::string_view bytes);

  std::shared_ptr<elastic::time_source> time_;
  elastic::detail::console_target terminal_;
  progress_line line_;
  elastic::time_point drawn_{};
  /// How many rows the terminal had when it was told; 0: it was not.
  int rows_ = 0;
};

}  // namespace elasticrun
