// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/run_files.hpp>

#include <elastic/agent/failure_report_json.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/keep_result.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline task<log_layout> make_log_layout(std::string base, std::string run_id, std::string name) {
  if (base == "/dev/null") co_return log_layout();
  if (!log_layout::base_may_hang(base)) co_return log_layout(base, run_id, name);
  std::function<log_layout()> work = [base, run_id, name] {
    return log_layout(base, run_id, name);
  };
  co_return co_await run_blocking<log_layout>(std::move(work));
}

/// The log directory of an ended run, and the problems with it.
struct left_log_directory {
  log_layout layout;
  std::string problem;
};

/// Keeps or removes the directory as documented, and writes the report for programs if there is
/// one.
inline left_log_directory leave_log_directory(log_layout layout,
                                              std::optional<worker_state> outcome,
                                              const std::string& report) {
  left_log_directory closed;
  layout.remove_empty();
  if (outcome == worker_state::succeeded) {
    layout.discard();
  } else if (outcome != worker_state::failed) {
    layout.discard_if_empty();
  }
  const std::string path = layout.report_file();
  closed.layout = std::move(layout);
  if (path.empty() || report.empty()) return closed;
  // Removes anything that a worker left at that path: opening a FIFO, for example, would wait for a
  // reader.
  ::unlink(path.c_str());
  // Creates the file so that only this user can read it.
  unique_fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  std::ofstream file(path);
  file << report;
  if (!file.flush()) {
    closed.problem = fmt::format("the report '{}' cannot be written: {}", path, errno_text(errno));
  }
  return closed;
}

ELASTIC_DECL run_files::run_files(job_journal& journal, time_source& time, const logger& log)
    : journal_(journal), time_(time), log_(log) {}

ELASTIC_DECL task<void> run_files::open(std::string run_id, std::string log_dir,
                                        std::string log_name, std::string journal_path) {
  task<log_layout> making =
      make_log_layout(std::move(log_dir), std::move(run_id), std::move(log_name));
  layout_ = co_await std::move(making);
  if (!layout_.notice().empty()) log_.warning("{}", layout_.notice());
  journal_file::options options;
  options.path = journal_path.empty() ? layout_.journal_file() : journal_path;
  options.log = log_;
  if (options.path.empty() || options.path == "/dev/null") co_return;
  journal_file_ = new_shared<journal_file>(std::move(options));
  journal_.add(journal_file_);
}

ELASTIC_DECL task<void> run_files::leave(run_result* result) {
  if (journal_file_) {
    co_await journal_file_->finish();
    journal_.remove(journal_file_);
  }
  const std::optional<worker_state> outcome = result ? std::optional(result->state) : std::nullopt;
  const bool has_succeeded = outcome == worker_state::succeeded;
  std::string report;
  if (result) {
    result->log_directory = has_succeeded && !layout_.keeps_files() ? "" : layout_.root();
  }
  if (result && result->state == worker_state::failed && layout_.is_enabled()) {
    report = failure_report_json(*result);
  }
  std::function<left_log_directory()> work = [layout = layout_, outcome, report] {
    return leave_log_directory(layout, outcome, report);
  };
  std::optional<left_log_directory> closed;
  if (layout_.is_given_up()) {
    // The directory did not answer before, so it is not touched again.
  } else if (layout_.may_hang()) {
    const time_point deadline = deadline_after(time_.now(), limits::log_directory_patience);
    task<void> leaving = keep_result(run_blocking<left_log_directory>(std::move(work)), closed);
    co_await with_deadline(time_, deadline, std::move(leaving));
  } else {
    closed = work();
  }
  if (!closed) {
    log_.error(
        "the log directory '{}' does not answer: what failed workers left there is not in the "
        "report, which is not written",
        layout_.root());
    co_return;
  }
  if (!closed->problem.empty()) log_.warning("{}", closed->problem);
  layout_ = closed->layout;
  if (result) result->log_directory = layout_.root();
}

}  // namespace elastic::detail
