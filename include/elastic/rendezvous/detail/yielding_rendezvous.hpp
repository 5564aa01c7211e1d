// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/race.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

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
  yielding_rendezvous(std::shared_ptr<rendezvous_handler> first, std::function<task<void>()> sign,
                      maker other)
      : current_(std::move(first)), sign_(std::move(sign)), other_(std::move(other)) {}

  std::string backend() const override { return current_->backend(); }
  std::string run_id() const override { return current_->run_id(); }

  task<rendezvous_round> next_round() override {
    if (sign_) {
      std::optional<rendezvous_round> met;
      co_await race(meet(met), sign_());
      if (!met) {
        co_await current_->shutdown();
        current_ = co_await other_();
      }
      sign_ = nullptr;
      if (met) co_return std::move(*met);
    }
    co_return co_await current_->next_round();
  }

  task<rendezvous_change> wait_for_change() override { return current_->wait_for_change(); }
  task<rendezvous_change> report_failure(std::string what) override {
    return current_->report_failure(std::move(what));
  }
  task<void> exit_barrier() override { return current_->exit_barrier(); }
  task<int> num_nodes_waiting() override { return current_->num_nodes_waiting(); }
  task<bool> is_closed() override { return current_->is_closed(); }
  task<void> close(job_end how, std::string why) override {
    return current_->close(how, std::move(why));
  }
  task<void> shutdown() override { return current_->shutdown(); }

 private:
  task<void> meet(std::optional<rendezvous_round>& met) { met = co_await current_->next_round(); }

  std::shared_ptr<rendezvous_handler> current_;
  std::function<task<void>()> sign_;
  maker other_;
};

}  // namespace elastic::detail
