// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/pending_command.hpp>
#include <elastic/agent/detail/run/request_inbox.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>

#include <memory>
#include <utility>

namespace elastic::detail {

/// The answer to a command, on its way from the agent to the caller.
struct command_reply {
  explicit command_reply(asio::any_io_executor its_strand)
      : strand(its_strand), is_there(std::move(its_strand)) {}

  asio::any_io_executor strand;
  event_flag is_there;
  job_command::outcome outcome;
};

/// Must run on a strand.
inline task<job_command::outcome> reply_to(job_command command,
                                           std::shared_ptr<request_inbox> inbox) {
  const asio::any_io_executor strand = co_await asio::this_coro::executor;
  const auto reply = new_shared<command_reply>(strand);
  const pending_command::answer_taker answer =
      [weak = std::weak_ptr<command_reply>(reply)](job_command::outcome outcome) {
        const auto waiting = weak.lock();
        if (!waiting) return;
        // Written once, before the strand reads it.
        waiting->outcome = std::move(outcome);
        post_work(waiting->strand, [waiting] { waiting->is_there.set(); });
      };
  inbox->push(new_shared<pending_command>(std::move(command), answer));
  co_await reply->is_there.wait();
  co_return reply->outcome;
}

/// Passes a command to the owner of an inbox, such as an agent, and waits for the outcome.
/// Cancellation: all types.
inline task<job_command::outcome> command_by_inbox(job_command command,
                                                  std::shared_ptr<request_inbox> inbox) {
  const auto strand = asio::make_strand(co_await asio::this_coro::executor);
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  task<job_command::outcome> replying = reply_to(std::move(command), std::move(inbox));
  co_return co_await run_on(strand, std::move(replying), cancellation.slot());
}

}  // namespace elastic::detail
