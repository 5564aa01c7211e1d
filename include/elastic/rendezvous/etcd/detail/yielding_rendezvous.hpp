// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// A rendezvous that is left for another one, as long as it has led to no round, when a sign says
/// that the other nodes meet there.
///
/// Thread-safety: one strand at a time.
class yielding_rendezvous final : public rendezvous_handler {
 public:
  using maker = std::function<task<std::shared_ptr<rendezvous_handler>>()>;

  /// @param sign   ends when nodes meet elsewhere; it is awaited once
  /// @param other  makes the rendezvous for there
  ELASTIC_DECL yielding_rendezvous(std::shared_ptr<rendezvous_handler> first,
                                   std::function<task<void>()> sign, maker other);

  std::string backend() const override { return current_->backend(); }
  std::string run_id() const override { return current_->run_id(); }

  ELASTIC_DECL task<rendezvous_round> next_round() override;

  task<rendezvous_change> wait_for_change() override { return current_->wait_for_change(); }
  ELASTIC_DECL task<rendezvous_change> report_failure(std::string what) override;
  task<void> exit_barrier() override { return current_->exit_barrier(); }
  task<int> num_nodes_waiting() override { return current_->num_nodes_waiting(); }
  ELASTIC_DECL task<void> close(job_end how, std::string why) override;
  task<void> shutdown() override { return current_->shutdown(); }

 private:
  ELASTIC_DECL task<void> meet(std::optional<rendezvous_round>& met);

  std::shared_ptr<rendezvous_handler> current_;
  std::function<task<void>()> sign_;
  maker other_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/etcd/detail/impl/yielding_rendezvous.ipp>
#endif
