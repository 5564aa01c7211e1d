// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace elastic {

/// A rendezvous that is made when a node first asks for a round, because that takes time: a server
/// has to be found, or asked which protocol it speaks.
///
/// Thread-safety: one strand at a time.
class deferred_rendezvous final : public rendezvous_handler {
 public:
  using maker = std::function<task<std::shared_ptr<rendezvous_handler>>()>;

  /// @param make  called once, unless it fails; what it throws `next_round` throws
  deferred_rendezvous(std::string backend, std::string run_id, maker make)
      : backend_(std::move(backend)), run_id_(std::move(run_id)), make_(std::move(make)) {}

  std::string backend() const override { return backend_; }
  std::string run_id() const override { return run_id_; }

  task<rendezvous_round> next_round() override {
    if (!made_) made_ = co_await make_();
    co_return co_await made_->next_round();
  }

  task<rendezvous_change> wait_for_change() override { return made().wait_for_change(); }
  task<rendezvous_change> report_failure(std::string what) override {
    return made().report_failure(std::move(what));
  }
  task<void> exit_barrier() override { return made().exit_barrier(); }

  task<int> num_nodes_waiting() override {
    if (!made_) co_return 0;
    co_return co_await made_->num_nodes_waiting();
  }

  task<bool> is_closed() override {
    if (!made_) co_return false;
    co_return co_await made_->is_closed();
  }

  task<void> close(job_end how, std::string why) override {
    if (made_) co_await made_->close(how, std::move(why));
  }

  task<void> shutdown() override {
    if (made_) co_await made_->shutdown();
  }

 private:
  rendezvous_handler& made() const {
    if (!made_) throw error(errc::invalid_argument, "this node was in no round yet");
    return *made_;
  }

  std::string backend_;
  std::string run_id_;
  maker make_;
  std::shared_ptr<rendezvous_handler> made_;
};

}  // namespace elastic
