// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/output/merged_output.hpp>

#include <elastic/agent/logs_specs.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/process/console_output.hpp>
#include <program/limits.hpp>
#include <program/output/line_merger.hpp>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elasticrun {

/// A console that shows equal lines of several workers once. A line of a worker begins with a
/// marker, which workers do not know, and the local rank: "MARKER3 text". Text without a marker is
/// a later piece of a line that is too long to buffer, or does not come from a worker. It is shown
/// unchanged.
class merged_console final : public elastic::output_sink {
 public:
  merged_console(const asio::any_io_executor& strand, std::string role, std::string marker,
                 std::shared_ptr<elastic::time_source> time,
                 std::shared_ptr<elastic::output_sink> console)
      : lines_(std::move(role)),
        marker_(std::move(marker)),
        time_(std::move(time)),
        console_(std::move(console)),
        is_waiting_(strand) {}

  void expect(std::size_t workers) { lines_.expect(workers); }

  elastic::task<void> write(std::string_view bytes) override {
    const elastic::time_point now = time_->now();
    const std::size_t unmarked = std::min(bytes.find(marker_), bytes.size());
    if (unmarked > 0) lines_.pass_piece(bytes.substr(0, unmarked));
    take_lines(bytes.substr(unmarked), now);
    std::string due = lines_.take(now);
    if (lines_.next_deadline() != elastic::time_point::max()) is_waiting_.set();
    if (!due.empty()) co_await console_->write(due);
    lines_.reuse(std::move(due));
  }

  elastic::task<void> run() {
    for (;;) {
      co_await is_waiting_.wait();
      co_await time_->sleep_until(lines_.next_deadline());
      const std::string due = lines_.take(time_->now());
      if (lines_.next_deadline() == elastic::time_point::max()) is_waiting_.reset();
      if (!due.empty()) co_await console_->write(due);
    }
  }

  elastic::task<void> finish() {
    const std::string rest = lines_.take_all();
    if (!rest.empty()) co_await console_->write(rest);
  }

 private:
  // Takes lines of one worker: each write has lines of only one, and all have the same head.
  void take_lines(std::string_view lines, elastic::time_point now) {
    int local_rank = 0;
    const std::string_view head = read_head(lines, local_rank);
    const bool is_large = lines.size() > limits::merged_write_bytes;
    while (!lines.empty()) {
      lines.remove_prefix(head.size());
      const std::string_view line = lines.substr(0, lines.find(head));
      if (is_large) {
        lines_.pass(local_rank, line);
      } else {
        lines_.add(local_rank, line, now);
      }
      lines.remove_prefix(line.size());
    }
  }

  // The marker, the local rank and a space, with which lines begin; empty if there are none.
  std::string_view read_head(std::string_view lines, int& local_rank) const {
    if (lines.empty()) return {};
    const char* const number = lines.data() + marker_.size();
    const char* const end = std::from_chars(number, lines.data() + lines.size(), local_rank).ptr;
    return lines.substr(0, static_cast<std::size_t>(end + 1 - lines.data()));
  }

  line_merger lines_;
  std::string marker_;
  std::shared_ptr<elastic::time_source> time_;
  std::shared_ptr<elastic::output_sink> console_;
  elastic::event_flag is_waiting_;
};

namespace {

/// Makes all shown output pass through this process, with the marker and the local rank before each
/// line.
class marked_logs final : public elastic::logs_specs {
 public:
  marked_logs(std::shared_ptr<elastic::logs_specs> specs, std::string marker,
              std::shared_ptr<merged_console> out, std::shared_ptr<merged_console> err)
      : specs_(std::move(specs)),
        marker_(std::move(marker)),
        out_(std::move(out)),
        err_(std::move(err)) {}

  std::vector<worker_output> plan(const attempt_logs& attempt) override {
    std::vector<worker_output> plans = specs_->plan(attempt);
    std::size_t shown_out = 0;
    std::size_t shown_err = 0;
    for (std::size_t local_rank = 0; local_rank < plans.size(); ++local_rank) {
      const std::string head = fmt::format("{}{} ", marker_, local_rank);
      shown_out += mark(plans[local_rank].out, head);
      shown_err += mark(plans[local_rank].err, head);
    }
    out_->expect(shown_out);
    err_->expect(shown_err);
    return plans;
  }

 private:
  // Result: 1 if the stream is shown.
  static std::size_t mark(elastic::output_plan& stream, const std::string& head) {
    using how = elastic::output_plan::how;
    if (stream.kind == how::inherit) stream.kind = how::copy;
    if (stream.kind != how::copy || !stream.console) return 0;
    stream.prefix = head;
    return 1;
  }

  std::shared_ptr<elastic::logs_specs> specs_;
  std::string marker_;
  std::shared_ptr<merged_console> out_;
  std::shared_ptr<merged_console> err_;
};

std::shared_ptr<elastic::output_sink> console_of(const std::shared_ptr<elastic::output_sink>& sink,
                                                 const asio::any_io_executor& strand, int fd,
                                                 const elastic::logger& log) {
  return sink ? sink : elastic::make_console_writer(strand, fd, log);
}

}  // namespace

merged_output::merged_output(const asio::any_io_executor& strand, std::string role,
                             std::shared_ptr<elastic::time_source> time,
                             elastic::agent_services& services)
    : time_(std::move(time)) {
  const std::string marker = fmt::format("\x1e{:016x}:", elastic::detail::random_source().next());
  out_ = std::make_shared<merged_console>(
      strand, role, marker, time_,
      console_of(services.console_out, strand, STDOUT_FILENO, services.log));
  err_ = std::make_shared<merged_console>(
      strand, role, marker, time_,
      console_of(services.console_err, strand, STDERR_FILENO, services.log));
  services.logs = std::make_shared<marked_logs>(services.logs, marker, out_, err_);
  services.console_out = out_;
  services.console_err = err_;
}

merged_output::~merged_output() = default;

elastic::task<void> merged_output::run() {
  std::vector<elastic::task<void>> both;
  both.push_back(out_->run());
  both.push_back(err_->run());
  co_await elastic::when_all(std::move(both));
}

elastic::task<void> merged_output::finish() {
  std::vector<elastic::task<void>> both;
  both.push_back(out_->finish());
  both.push_back(err_->finish());
  elastic::task<void> writing = elastic::when_all(std::move(both));
  const elastic::time_point end =
      elastic::deadline_after(time_->now(), limits::merged_last_output);
  co_await elastic::with_deadline(*time_, end, std::move(writing));
}

}  // namespace elasticrun
