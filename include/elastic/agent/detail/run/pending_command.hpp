// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/job_command.hpp>

#include <functional>
#include <string>
#include <utility>

namespace elastic::detail {

/// A command whose sender waits for the answer. It is answered once, at the latest when it is
/// destroyed.
class pending_command {
 public:
  using answer_taker = std::function<void(job_command::outcome)>;

  pending_command(job_command command, answer_taker answer)
      : command_(std::move(command)), answer_(std::move(answer)) {}
  pending_command(const pending_command&) = delete;
  pending_command& operator=(const pending_command&) = delete;
  ~pending_command() { settle(false, "not carried out: the workers, or the job, ended before"); }

  const job_command& command() const { return command_; }

  void settle(bool is_done, std::string text) {
    if (!answer_) return;
    const answer_taker answer = std::exchange(answer_, nullptr);
    answer(job_command::outcome{is_done, std::move(text)});
  }

 private:
  job_command command_;
  answer_taker answer_;
};

}  // namespace elastic::detail
