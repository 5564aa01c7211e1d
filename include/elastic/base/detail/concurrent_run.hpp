// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace elastic::detail {

/// Whether a task ended because it was cancelled.
ELASTIC_DECL bool is_cancellation(const std::exception_ptr& failure);

/// How tasks that ran at once ended: their order, and the error of each.
struct concurrent_outcome {
  std::vector<std::size_t> order;
  std::vector<std::exception_ptr> failures;
};

/// Which event cancels the tasks that still run.
enum class cancelled_by { first_end, first_failure };

// Runs tasks at once until the last of them has ended. Unlike a parallel_group, it passes on every
// request of the caller, not only the first: a stop that escalates takes effect even after the
// tasks were cancelled.
template <class Handler>
class concurrent_run : public std::enable_shared_from_this<concurrent_run<Handler>> {
 public:
  // The caller's requests go to the first `addressees` tasks.
  concurrent_run(Handler handler, std::size_t count, std::size_t addressees, cancelled_by reason)
      : handler_(std::move(handler)), addressees_(addressees), reason_(reason), branches_(count) {
    outcome_.failures.resize(count);
    outcome_.order.reserve(count);
  }

  void start(const asio::any_io_executor& executor, std::vector<task<void>> tasks) {
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) {
      slot.assign([weak = this->weak_from_this()](asio::cancellation_type type) {
        if (const auto run = weak.lock()) run->cancel(run->addressees_, type);
      });
    }
    for (std::size_t place = 0; place < tasks.size(); ++place) {
      auto on_end = [self = this->shared_from_this(), place](std::exception_ptr failure) {
        self->ended(place, failure);
      };
      start_task(executor, std::move(tasks[place]), std::move(on_end),
                 branches_[place].cancel.slot());
    }
  }

 private:
  struct branch {
    asio::cancellation_signal cancel;
    bool has_ended = false;
  };

  void cancel(std::size_t count, asio::cancellation_type type) {
    for (std::size_t place = 0; place < count; ++place) {
      if (!branches_[place].has_ended) branches_[place].cancel.emit(type);
    }
  }

  void ended(std::size_t place, const std::exception_ptr& failure) {
    branches_[place].has_ended = true;
    outcome_.failures[place] = failure;
    outcome_.order.push_back(place);
    if (!is_cancelled_ && (failure || reason_ == cancelled_by::first_end)) {
      is_cancelled_ = true;
      cancel(branches_.size(), asio::cancellation_type::all);
    }
    if (outcome_.order.size() < branches_.size()) return;
    std::move(handler_)(std::move(outcome_));
  }

  Handler handler_;
  std::size_t addressees_;
  cancelled_by reason_;
  std::vector<branch> branches_;
  bool is_cancelled_ = false;
  concurrent_outcome outcome_;
};

/// `tasks` must not be empty.
ELASTIC_DECL task<concurrent_outcome> run_concurrently(asio::any_io_executor executor,
                                                       std::size_t addressees, cancelled_by reason,
                                                       std::vector<task<void>> tasks);

/// What `race` does, of at least one task.
ELASTIC_DECL task<std::size_t> run_race(std::vector<task<void>> tasks);

template <class... Tasks>
std::vector<task<void>> task_list(Tasks... tasks) {
  std::vector<task<void>> list;
  list.reserve(sizeof...(Tasks));
  (list.push_back(std::move(tasks)), ...);
  return list;
}

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/concurrent_run.ipp>
#endif
