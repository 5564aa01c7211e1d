// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/round_register.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/store/store.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The error of a rendezvous that was closed: `errc::rendezvous_finished` or
/// `errc::rendezvous_closed`.
/// @param ending  empty if a node of torchrun has closed it
ELASTIC_DECL error closed_error(const std::string& run_id, const std::optional<job_ending>& ending);

/// Leaves a rendezvous, for at most `limits::rendezvous_leave_timeout`: if that fails, the other
/// nodes notice by themselves that this node is gone.
ELASTIC_DECL task<void> try_to_leave(task<void> leaving, std::shared_ptr<time_source> time,
                                     logger log);

/// One node's end of a round that may include agents of torchrun: their exit barrier, and what a
/// closed rendezvous means for a node that has reached it.
///
/// Thread-safety: one strand at a time.
class torch_exit {
 public:
  /// In no round.
  torch_exit() = default;

  /// @param agents  the store of the round
  ELASTIC_DECL torch_exit(std::shared_ptr<store> agents, int rank, int size, torch_dialect dialect);

  /// Whether the workers of this node have succeeded.
  bool has_begun() const { return has_begun_; }

  /// Waits until the workers of every node have succeeded.
  ///
  /// @param time      limits the wait for nodes that do not get to read the result
  /// @param silence   how long such a node may take
  /// @param announce  called before this node waits at a barrier that only counts; may be empty
  /// Errors: those of the store. Cancellation: all types.
  ELASTIC_DECL task<void> wait(std::shared_ptr<time_source> time, duration silence,
                               std::function<task<void>()> announce);

  /// Called after the rendezvous was closed. Result: whether the workers of all nodes have
  /// succeeded, including this node's, so that only this node has not yet heard of it.
  /// @param how  empty if a node of torchrun has closed it
  ELASTIC_DECL task<bool> is_passed(std::optional<rendezvous_handler::job_end> how);

  /// Passes the barrier for this node, whose workers have failed: otherwise PyTorch's agents, whose
  /// workers may have succeeded, would wait for it.
  ELASTIC_DECL task<void> release();

 private:
  ELASTIC_DECL task<void> gather(std::shared_ptr<time_source> time, duration silence);

  std::shared_ptr<store> agents_;
  int rank_ = 0;
  int size_ = 0;
  /// Whether the barrier uses `gather`, like agents of PyTorch before 2.4; otherwise it only
  /// counts.
  bool gathers_ = false;
  bool has_begun_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/torch_exit.ipp>
#endif
