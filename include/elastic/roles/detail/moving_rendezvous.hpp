// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The rendezvous of a role that runs on one node of its job while the others stand by. If this
/// node's first round is not the role's first, the role has moved here, which uses up one of its
/// restarts: the node reports a failure, and takes part in the next round.
///
/// Errors, cancellation and thread-safety: those of the inner handler.
class moving_rendezvous final : public rendezvous_handler {
 public:
  moving_rendezvous(std::shared_ptr<rendezvous_handler> inner, logger log)
      : inner_(std::move(inner)), log_(std::move(log)) {}

  /// A factory that wraps the handlers of another one.
  ELASTIC_DECL static rendezvous_factory around(rendezvous_factory inner, logger log);

  std::string backend() const override { return inner_->backend(); }
  std::string run_id() const override { return inner_->run_id(); }
  ELASTIC_DECL task<rendezvous_round> next_round() override;
  task<rendezvous_change> wait_for_change() override { return inner_->wait_for_change(); }
  task<rendezvous_change> report_failure(std::string reason) override {
    return inner_->report_failure(std::move(reason));
  }
  task<void> exit_barrier() override { return inner_->exit_barrier(); }
  task<void> wait_for_fence() override { return inner_->wait_for_fence(); }
  void pause(std::string why, bool saves_first) override {
    inner_->pause(std::move(why), saves_first);
  }
  void resume() override { inner_->resume(); }
  void exclude_node(std::string why) override { inner_->exclude_node(std::move(why)); }
  std::string obstacle() const override { return inner_->obstacle(); }
  std::optional<std::int64_t> arrived_workers() const override {
    return inner_->arrived_workers();
  }
  task<void> close(job_end how, std::string why) override {
    return inner_->close(how, std::move(why));
  }
  task<void> shutdown() override { return inner_->shutdown(); }

 private:
  std::shared_ptr<rendezvous_handler> inner_;
  logger log_;
  bool has_had_place_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/moving_rendezvous.ipp>
#endif
