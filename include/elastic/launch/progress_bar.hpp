// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for programs, not for those who embed a job.

#include <elastic/base/time.hpp>
#include <elastic/launch/progress_line.hpp>
#include <elastic/process/console_target.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// Shows how far a job is in the last row of a terminal, from the first worker's report on. All
/// output, the workers' own too, scrolls in the rows above it: the terminal is told to leave the
/// last row alone, so that nobody has to write through this.
///
/// It is drawn at most ten times a second, when something was reported, and costs nothing else. The
/// row is given back by the destructor, and by `reset` of a shell where there was none.
///
/// Thread-safety: one strand at a time, the agent's.
class progress_bar final : public worker_observer {
 public:
  /// `descriptor` is borrowed: of a terminal, see `can_show`.
  explicit progress_bar(std::shared_ptr<time_source> time, int descriptor = STDERR_FILENO)
      : time_(std::move(time)), terminal_(descriptor) {}
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;
  ~progress_bar() override { hide(); }

  /// Whether a descriptor is of a terminal with room for it that understands its language.
  static bool can_show(int descriptor, std::string_view terminal_name) {
    winsize size{};
    return ::isatty(descriptor) != 0 && terminal_name != "dumb" && !terminal_name.empty() &&
           ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row >= 3 && size.ws_col >= 20;
  }

  void started(const started_workers& all) override {
    line_.started(all);
    if (rows_ > 0) draw();
  }

  void progress(const worker_progress& made) override {
    const time_point now = time_->now();
    line_.progress(made, now);
    constexpr std::chrono::milliseconds pause(100);
    if (rows_ > 0 && now - drawn_ < pause) return;
    drawn_ = now;
    draw();
  }

  /// Gives the row back.
  void hide() {
    if (std::exchange(rows_, 0) == 0) return;
    write("\x1b" "7\x1b[r\x1b" "8\x1b[J");
  }

 private:
  void draw() {
    winsize size{};
    if (::ioctl(terminal_.fd(), TIOCGWINSZ, &size) != 0 || size.ws_row < 3) return;
    std::string bytes;
    if (rows_ != size.ws_row) {
      // A line end makes room where the cursor is in the last row; then it goes up again.
      bytes += fmt::format("\n\x1b" "7\x1b[1;{}r\x1b" "8\x1b[1A", size.ws_row - 1);
      rows_ = size.ws_row;
    }
    const std::size_t width = size.ws_col > 0 ? size.ws_col - std::size_t{1} : 79;
    bytes += fmt::format("\x1b" "7\x1b[{};1H\x1b[2K{}\x1b" "8", rows_, line_.text(width));
    write(bytes);
  }

  // At once, so that nothing of somebody else's comes between; what a terminal does not take is
  // left out.
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto written = terminal_.write_some(bytes);
      if (!written) return;
      bytes.remove_prefix(*written);
    }
  }

  std::shared_ptr<time_source> time_;
  console_target terminal_;
  progress_line line_;
  time_point drawn_{};
  /// How many rows the terminal had when it was told; 0: it was not.
  int rows_ = 0;
};

}  // namespace elastic
