// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/progress/progress_bar.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/status/detail/job_condition.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/journal_sink.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

progress_bar::progress_bar(std::shared_ptr<elastic::time_source> time, int descriptor)
    : time_(std::move(time)), terminal_(descriptor) {}

bool progress_bar::can_show(int descriptor, std::string_view terminal_name) {
  winsize size{};
  return ::isatty(descriptor) != 0 && terminal_name != "dumb" && !terminal_name.empty() &&
         ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row >= 3 && size.ws_col >= 20;
}

void progress_bar::started(const elastic::agent_part::started_workers& job) {
  line_.started(job);
  if (rows_ > 0) draw();
}

void progress_bar::progressed(const elastic::worker_progress& made) {
  const elastic::time_point now = time_->now();
  line_.progress(made, now);
  constexpr std::chrono::milliseconds pause(100);
  if (rows_ > 0 && now - drawn_ < pause) return;
  drawn_ = now;
  draw();
}

void progress_bar::take(const elastic::journal_record& record) {
  view_.take(record);
  const elastic::detail::job_condition now = elastic::detail::condition_of(view_);
  const std::string shown = now.is_moving() ? std::string() : std::string(now.name);
  if (shown == condition_) return;
  condition_ = shown;
  line_.condition(shown);
  if (rows_ > 0) draw();
}

void progress_bar::hide() {
  if (std::exchange(rows_, 0) == 0) return;
  write(
      "\x1b"
      "7\x1b[r\x1b"
      "8\x1b[J");
}

void progress_bar::draw() {
  winsize size{};
  if (::ioctl(terminal_.fd(), TIOCGWINSZ, &size) != 0 || size.ws_row < 3) return;
  std::string bytes;
  if (rows_ != size.ws_row) {
    // The line feed frees the last row if the cursor is there; then the cursor moves up again.
    bytes += fmt::format(
        "\n\x1b"
        "7\x1b[1;{}r\x1b"
        "8\x1b[1A",
        size.ws_row - 1);
    rows_ = size.ws_row;
  }
  const std::size_t width = size.ws_col > 0 ? size.ws_col - std::size_t{1} : 79;
  bytes += fmt::format(
      "\x1b"
      "7\x1b[{};1H\x1b[2K{}\x1b"
      "8",
      rows_, line_.text(width));
  write(bytes);
}

void progress_bar::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = terminal_.draw_some(bytes);
    if (!written) return;
    bytes.remove_prefix(*written);
  }
}

namespace {

/// Passes records to the strand of the agent, since they may be recorded on another strand.
class bar_sink final : public elastic::journal_sink {
 public:
  bar_sink(asio::any_io_executor strand, std::weak_ptr<progress_bar> bar)
      : strand_(std::move(strand)), bar_(std::move(bar)) {}

  void take(const elastic::journal_record& record) override {
    asio::post(strand_, [bar = bar_, record] {
      if (const auto shown = bar.lock()) shown->take(record);
    });
  }

 private:
  asio::any_io_executor strand_;
  std::weak_ptr<progress_bar> bar_;
};

}  // namespace

std::shared_ptr<elastic::agent_part> make_progress_bar(
    std::shared_ptr<elastic::time_source> time, const elastic::agent_part::context& context) {
  auto bar = std::make_shared<progress_bar>(std::move(time));
  context.journal->add(std::make_shared<bar_sink>(context.strand, bar));
  return bar;
}

}  // namespace elasticrun
