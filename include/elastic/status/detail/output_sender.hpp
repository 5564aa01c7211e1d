// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/status/detail/output_message.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace elastic::detail {

class job_monitor_core;
class output_feed;
class output_tails;

/// Sends the output of this node's workers to the node that shows the job, as far as somebody reads
/// it there. While nobody does, it runs nothing.
///
/// Thread-safety: the agent's strand.
class output_sender final : public agent_part, public std::enable_shared_from_this<output_sender> {
 public:
  ELASTIC_DECL output_sender(std::shared_ptr<job_monitor_core> monitor,
                             std::shared_ptr<output_tails> tails,
                             const agent_part::context& agent);

  /// Follows the demand from now on.
  ELASTIC_DECL void start();

  /// Sends the last lines, if somebody reads them; on the node that shows the job, waits for those
  /// of the others. Takes `farewell` at most.
  ELASTIC_DECL task<void> end() override;
  ELASTIC_DECL task<void> close() override;

 private:
  /// How long a node that ends sends what a reader lacks, and how long the node that shows the job
  /// waits for it.
  static constexpr auto farewell = limits::output_patience / 4;

  /// The lines of one reading, and what the viewer was told of them.
  struct sending {
    std::shared_ptr<output_feed> feed;
    bool follows = false;
    output_stage told = output_stage::behind;
  };

  ELASTIC_DECL void wake();
  ELASTIC_DECL static task<void> run(std::shared_ptr<output_sender> self);
  ELASTIC_DECL task<bool> send_all(std::shared_ptr<const output_request> wanted);
  ELASTIC_DECL task<bool> send_some(std::int64_t id);
  ELASTIC_DECL void update(const output_request& wanted, int breaks);

  std::shared_ptr<job_monitor_core> monitor_;
  std::shared_ptr<output_tails> tails_;
  std::shared_ptr<time_source> time_;
  logger log_;
  asio::any_io_executor strand_;
  bool is_running_ = false;
  /// The workers have ended.
  bool is_ending_ = false;
  /// See `job_monitor_core::breaks`.
  int breaks_ = 0;
  /// The reading that comes first at the next look.
  std::size_t turn_ = 0;
  std::map<std::int64_t, sending> sendings_;
  task_group tasks_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/output_sender.ipp>
#endif
