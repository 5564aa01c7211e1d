// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <support/manual_time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace elastic::test {

/// A place that is as far from every node as a network makes it: what is asked takes time, fails or
/// gets stuck, what was done may not be answered, and what is asked may be done when nobody waits
/// for it any more. Everything follows from the seed of `random`.
class far_place {
 public:
  // ---- faults ---------------------------------------------------------------------------------

  /// Nothing gets through between the node and the place, and nobody is told.
  void part(int node) { parted_.insert(node); }
  /// What waited gets through.
  void mend(int node) { parted_.erase(node); }
  /// The place takes nothing for a while, and answers nothing.
  void stall(duration span) { stalled_until_ = std::max(stalled_until_, time_.now() + span); }
  /// One in so many changes is made, and its answer lost; 0: none.
  void lose_one_in(std::uint64_t many) { losses_ = many; }
  /// The node is gone.
  void kill(int node) { dead_.insert(node); }
  /// Everything works from now on.
  void heal() {
    parted_.clear();
    stalled_until_ = time_point::min();
    losses_ = 0;
  }
  /// Whatever is under way ends.
  void end() { is_over_ = true; }

  bool is_cut_off(int node) const {
    return parted_.count(node) + dead_.count(node) != 0 || time_.now() < stalled_until_;
  }

 protected:
  /// @param patience  how long a request waits for its way
  far_place(manual_time& time, elastic::detail::random_source& random, duration patience)
      : time_(time), random_(random), patience_(patience) {}
  virtual ~far_place() = default;

  /// Whether the node's requests fail now.
  virtual bool hangs_up_on(int /*node*/) const { return false; }

  /// A request and its answer. It is on its way by itself: who gives up waiting does not stop it.
  template <class T>
  task<T> ask(int node, std::function<T()> act) {
    auto made = std::make_shared<request<T>>(time_.context().get_executor());
    asio::co_spawn(time_.context(), carry(made, node, std::move(act)), [](std::exception_ptr) {});
    co_await made->ended.wait();
    if (made->failure) std::rethrow_exception(made->failure);
    co_return std::move(*made->answer);
  }

  /// One way between a node and the place.
  task<void> pass(int node) {
    constexpr std::chrono::milliseconds retransmission{50};
    const time_point limit =
        patience_ == duration::max() ? time_point::max() : time_.now() + patience_;
    const std::uint64_t longest = random_.below(20) == 0 ? 100'000 : 2'000;
    co_await time_.sleep_until(time_.now() + std::chrono::microseconds(random_.below(longest)));
    for (;;) {
      if (is_over_ || time_.now() > limit) fail("the place does not answer");
      if (hangs_up_on(node)) fail("the place hangs up");
      if (!is_cut_off(node)) co_return;
      co_await time_.sleep_until(time_.now() + retransmission);
    }
  }

  [[noreturn]] static void fail(const char* why) { throw error(errc::connection_failed, why); }

  void lose_answer_at_times() {
    if (losses_ != 0 && random_.below(losses_) == 0) fail("the answer is lost");
  }

  /// What was kept has changed.
  void tell_watches() {
    for (const auto& flag : watches_) flag->set();
  }

  /// While it lives, its flag is set by each change.
  class watch {
   public:
    watch(far_place& at, asio::any_io_executor executor)
        : at_(at), flag_(std::make_shared<event_flag>(std::move(executor))) {
      at_.watches_.push_back(flag_);
    }
    ~watch() { std::erase(at_.watches_, flag_); }
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    event_flag& flag() { return *flag_; }

   private:
    far_place& at_;
    std::shared_ptr<event_flag> flag_;
  };

  manual_time& time_;
  elastic::detail::random_source& random_;

 private:
  template <class T>
  struct request {
    explicit request(asio::any_io_executor executor) : ended(std::move(executor)) {}
    event_flag ended;
    std::optional<T> answer;
    std::exception_ptr failure;
  };

  template <class T>
  task<void> carry(std::shared_ptr<request<T>> made, int node, std::function<T()> act) {
    try {
      co_await pass(node);
      T answer = act();
      co_await pass(node);
      made->answer.emplace(std::move(answer));
    } catch (const error&) {
      made->failure = std::current_exception();
    }
    made->ended.set();
  }

  const duration patience_;
  std::vector<std::shared_ptr<event_flag>> watches_;
  std::set<int> parted_;
  std::set<int> dead_;
  time_point stalled_until_ = time_point::min();
  std::uint64_t losses_ = 0;
  bool is_over_ = false;
};

}  // namespace elastic::test
