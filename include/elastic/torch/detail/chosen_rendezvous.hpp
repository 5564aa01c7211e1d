// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// A rendezvous that forwards to another one, which is chosen while this node asks for its first
/// round, because that takes time: a server has to be found, or asked which protocol it speaks.
///
/// Thread-safety: one strand at a time.
class chosen_rendezvous : public rendezvous_handler {
 public:
  using maker = std::function<task<std::shared_ptr<rendezvous_handler>>()>;

  /// @param make  called once, unless it fails; what it throws `next_round` throws
  ELASTIC_DECL chosen_rendezvous(std::string backend, std::string run_id, maker make);

  std::string backend() const override { return backend_; }
  std::string run_id() const override { return run_id_; }

  ELASTIC_DECL task<rendezvous_round> next_round() override;

  task<rendezvous_change> wait_for_change() override { return chosen().wait_for_change(); }
  ELASTIC_DECL task<rendezvous_change> report_failure(std::string reason) override;
  task<void> exit_barrier() override { return chosen().exit_barrier(); }

  ELASTIC_DECL task<void> wait_for_fence() override;
  ELASTIC_DECL void pause(std::string why, bool saves_first) override;
  ELASTIC_DECL void resume() override;
  ELASTIC_DECL void keep_out(std::string why) override;
  std::optional<std::int64_t> arrived_workers() const override {
    return chosen_ ? chosen_->arrived_workers() : std::nullopt;
  }
  std::string obstacle() const override { return chosen_ ? chosen_->obstacle() : std::string(); }
  ELASTIC_DECL task<int> num_nodes_waiting() override;
  ELASTIC_DECL task<void> close(job_end how, std::string why) override;
  ELASTIC_DECL task<void> shutdown() override;

 protected:
  /// Asks for a round, and chooses before; called until that has led to one.
  ELASTIC_DECL virtual task<rendezvous_round> first_round();

  /// The handler that was chosen; null before.
  std::shared_ptr<rendezvous_handler> chosen_;

 private:
  ELASTIC_DECL rendezvous_handler& chosen() const;

  std::string backend_;
  std::string run_id_;
  maker make_;
  bool was_in_round_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/chosen_rendezvous.ipp>
#endif
