// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/store/versioned_keys.hpp>
#include <support/manual_time.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {

/// A place of keys that is as far from every node as a network makes it: what is asked takes time,
/// fails or gets stuck, a change may be made although its answer is lost, a watch skips changes,
/// and what somebody else has written may be seen late. Everything follows from the seed of
/// `random`.
class simulated_keys {
 public:
  simulated_keys(manual_time& time, elastic::detail::random_source& random)
      : time_(time), random_(random) {}

  // ---- faults ---------------------------------------------------------------------------------

  /// Nothing gets through between the node and the place, and nobody is told.
  void part(int node) { parted_.insert(node); }
  void mend(int node) { parted_.erase(node); }
  /// The place takes nothing for a while, and answers nothing.
  void stall(duration span) { stalled_until_ = std::max(stalled_until_, time_.now() + span); }
  /// One in so many changes is made, and its answer lost; 0: none.
  void lose_one_in(std::uint64_t many) { losses_ = many; }
  /// One in so many watches reports nothing; 0: none.
  void skip_one_in(std::uint64_t many) { skips_ = many; }
  /// Keys that are new appear to readers so much later at most: the entries of a directory.
  void delay_entries(duration most) { lateness_ = most; }
  void kill(int node) { dead_.insert(node); }
  void heal() {
    parted_.clear();
    stalled_until_ = time_point::min();
    losses_ = 0;
  }
  void end() { is_over_ = true; }

  std::shared_ptr<versioned_keys> keys_of(int node) {
    return std::make_shared<far_keys>(*this, node);
  }

  /// How many requests there were.
  std::uint64_t requests() const { return requests_; }

 private:
  struct entry {
    std::string value;
    std::uint64_t version = 0;
    time_point appears_at;
  };

  template <class T>
  struct request {
    explicit request(asio::any_io_executor executor) : ended(std::move(executor)) {}
    event_flag ended;
    std::optional<T> answer;
    std::exception_ptr failure;
  };

  // A request and its answer. It is on its way by itself: who gives up waiting does not stop it.
  template <class T>
  task<T> ask(int node, std::function<T()> act) {
    ++requests_;
    auto made = std::make_shared<request<T>>(time_.context().get_executor());
    asio::co_spawn(time_.context(), carry(made, node, std::move(act)), [](std::exception_ptr) {});
    co_await made->ended.wait();
    if (made->failure) std::rethrow_exception(made->failure);
    co_return std::move(*made->answer);
  }

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

  // One way between a node and the place, whose client is patient for a while.
  task<void> pass(int node) {
    constexpr std::chrono::milliseconds retransmission{50};
    constexpr std::chrono::seconds patience{5};
    const time_point limit = time_.now() + patience;
    const std::uint64_t longest = random_.below(20) == 0 ? 100'000 : 2'000;
    co_await time_.sleep_until(time_.now() + std::chrono::microseconds(random_.below(longest)));
    for (;;) {
      if (is_over_ || time_.now() > limit) fail("the place does not answer");
      const bool is_stuck = parted_.count(node) + dead_.count(node) != 0;
      if (!is_stuck && time_.now() >= stalled_until_) co_return;
      co_await time_.sleep_until(time_.now() + retransmission);
    }
  }

  [[noreturn]] static void fail(const char* why) { throw error(errc::connection_failed, why); }

  versioned_value found(const std::string& key) const {
    versioned_value seen;
    seen.version = "-";
    const auto position = entries_.find(key);
    if (position == entries_.end() || time_.now() < position->second.appears_at) return seen;
    seen.value = position->second.value;
    seen.version = std::to_string(position->second.version);
    return seen;
  }

  bool store(const std::string& key, const std::string& value,
             const std::optional<std::string>& version) {
    const auto position = entries_.find(key);
    // Who writes sees what there is.
    const std::string now =
        position == entries_.end() ? "-" : std::to_string(position->second.version);
    if (version && *version != now) return false;
    entry made{value, ++last_version_, time_.now()};
    const bool is_late = position == entries_.end() && lateness_ > duration::zero();
    if (is_late) {
      const auto most = std::chrono::duration_cast<std::chrono::microseconds>(lateness_).count();
      made.appears_at += std::chrono::microseconds(random_.below(static_cast<std::uint64_t>(most)));
    }
    entries_[key] = made;
    for (const auto& watch : watches_) watch->set();
    if (losses_ != 0 && random_.below(losses_) == 0) fail("the answer is lost");
    return true;
  }

  class far_keys final : public versioned_keys {
   public:
    far_keys(simulated_keys& at, int node) : at_(at), node_(node) {}

    std::string place_of(const std::string& key) const override { return "the key '" + key + "'"; }
    task<versioned_value> get(std::string key) override {
      std::function<versioned_value()> act = [at = &at_, key] { return at->found(key); };
      return at_.ask<versioned_value>(node_, std::move(act));
    }
    task<bool> put(std::string key, std::string value, std::string version) override {
      std::function<bool()> act = [at = &at_, key, value, version] {
        return at->store(key, value, version);
      };
      return at_.ask<bool>(node_, std::move(act));
    }
    task<void> put(std::string key, std::string value) override {
      std::function<bool()> act = [at = &at_, key, value] {
        return at->store(key, value, std::nullopt);
      };
      co_await at_.ask<bool>(node_, std::move(act));
    }
    task<bool> erase(std::string key) override {
      std::function<bool()> act = [at = &at_, key] { return at->entries_.erase(key) != 0; };
      return at_.ask<bool>(node_, std::move(act));
    }
    task<std::int64_t> count() override {
      std::function<std::int64_t()> act = [at = &at_] {
        return static_cast<std::int64_t>(at->entries_.size());
      };
      return at_.ask<std::int64_t>(node_, std::move(act));
    }
    task<void> wait_for_change(std::string key, std::string version) override {
      constexpr std::chrono::seconds longest{30};
      ++at_.requests_;
      const time_point limit = at_.time_.now() + longest;
      co_await at_.pass(node_);
      const bool skips = at_.skips_ != 0 && at_.random_.below(at_.skips_) == 0;
      auto watch = std::make_shared<event_flag>(co_await asio::this_coro::executor);
      const struct scope {
        scope(simulated_keys& place, std::shared_ptr<event_flag> flag)
            : at(place), watching(std::move(flag)) {
          at.watches_.push_back(watching);
        }
        ~scope() { std::erase(at.watches_, watching); }
        simulated_keys& at;
        std::shared_ptr<event_flag> watching;
      } watched(at_, watch);
      while (at_.time_.now() < limit && (skips || at_.found(key).version == version)) {
        watch->reset();
        co_await with_deadline(at_.time_, limit, watch->wait());
      }
      co_await at_.pass(node_);
    }

   private:
    simulated_keys& at_;
    int node_;
  };

  manual_time& time_;
  elastic::detail::random_source& random_;
  std::map<std::string, entry> entries_;
  std::uint64_t last_version_ = 0;
  std::vector<std::shared_ptr<event_flag>> watches_;
  std::set<int> parted_;
  std::set<int> dead_;
  time_point stalled_until_ = time_point::min();
  std::uint64_t losses_ = 0;
  std::uint64_t skips_ = 0;
  duration lateness_{};
  std::uint64_t requests_ = 0;
  bool is_over_ = false;
};

}  // namespace elastic::test
