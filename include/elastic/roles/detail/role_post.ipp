// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_post.hpp>

#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL role_post::role_post(std::shared_ptr<role_board> board, std::size_t role, int workers,
                                  std::set<std::string> ports, place here)
    : board_(std::move(board)),
      role_(role),
      names_(std::move(ports)),
      here_(std::move(here)),
      ports_(static_cast<std::size_t>(workers)),
      leases_(static_cast<std::size_t>(workers)) {}

ELASTIC_DECL void role_post::open(asio::any_io_executor executor,
                                  std::function<void(std::int64_t)> call) {
  {
    const std::lock_guard lock(mutex_);
    executor_ = std::move(executor);
    call_ = std::move(call);
  }
  post_work(board_->strand(), [self = shared_from_this()] {
    self->board_->listen([weak = self->weak_from_this()](std::int64_t revision) {
      const auto post = weak.lock();
      return post && post->notify(revision);
    });
  });
}

ELASTIC_DECL void role_post::close() {
  const std::lock_guard lock(mutex_);
  executor_ = {};
  call_ = {};
}

ELASTIC_DECL bool role_post::notify(std::int64_t revision) {
  const std::lock_guard lock(mutex_);
  if (!executor_) return false;
  post_work(executor_, [self = shared_from_this(), revision] {
    std::function<void(std::int64_t)> call;
    {
      const std::lock_guard inner(self->mutex_);
      call = self->call_;
    }
    if (call) call(revision);
  });
  return true;
}

ELASTIC_DECL void role_post::choose_ports(const std::vector<std::size_t>& slots) {
  for (const std::size_t slot : slots) {
    // The former leases are held until the new ports are chosen, so that no new port is a former
    // one: a client with an outdated address then reaches no other worker.
    port_map chosen;
    std::vector<port_lease> held;
    for (const std::string& name : names_) {
      chosen.emplace(name, held.emplace_back(lease_port()).port());
    }
    ports_[slot] = std::move(chosen);
    leases_[slot] = std::move(held);
  }
}

ELASTIC_DECL std::string role_post::places(int base_rank) {
  base_rank_ = base_rank;
  std::vector<job_roles::worker> mine;
  for (std::size_t slot = 0; slot < ports_.size(); ++slot) {
    job_roles::worker& worker = mine.emplace_back();
    worker.local_rank = static_cast<int>(slot);
    worker.rank = base_rank + worker.local_rank;
    worker.node = here_.node;
    worker.address = here_.address;
    worker.ports = ports_[slot];
  }
  return workers_text(mine);
}

ELASTIC_DECL void role_post::met(const std::vector<std::string>& places) {
  std::vector<job_roles::worker> workers;
  for (const std::string& text : places) {
    std::vector<job_roles::worker> listed = parse_workers(text);
    std::move(listed.begin(), listed.end(), std::back_inserter(workers));
  }
  std::sort(workers.begin(), workers.end(),
            [](const auto& left, const auto& right) { return left.rank < right.rank; });
  met_ = std::move(workers);
}

ELASTIC_DECL void role_post::started(std::int64_t round, std::vector<pid_t> pids) {
  round_ = round;
  workers_ = met_;
  is_published_ = true;
  publish();
  if (!on_start_) return;
  const auto call = new_shared<std::function<void(std::vector<running>)>>(on_start_);
  auto started = new_shared<std::vector<running>>();
  for (std::size_t slot = 0; slot < ports_.size() && slot < pids.size(); ++slot) {
    if (pids[slot] > 0) started->push_back({pids[slot], static_cast<int>(slot), ports_[slot]});
  }
  post_work(board_->strand(), [call, started] { (*call)(std::move(*started)); });
}

ELASTIC_DECL void role_post::ended(std::size_t slot) {
  const std::int64_t rank = base_rank_ + static_cast<std::int64_t>(slot);
  const std::size_t count =
      std::erase_if(workers_, [&](const auto& each) { return each.rank == rank; });
  if (count > 0 && is_published_) publish();
}

ELASTIC_DECL void role_post::stopped() {
  workers_.clear();
  if (!std::exchange(is_published_, false)) return;
  post_work(board_->strand(), [board = board_, role = role_] { board->clear_workers(role); });
}

ELASTIC_DECL void role_post::publish() {
  auto workers = new_shared<std::vector<job_roles::worker>>(workers_);
  post_work(board_->strand(), [board = board_, role = role_, round = round_, workers] {
    board->set_workers(role, round, std::move(*workers));
  });
}

}  // namespace elastic::detail
