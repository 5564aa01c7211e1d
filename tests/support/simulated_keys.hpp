// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/versioned_keys.hpp>
#include <support/far_place.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic::test {

/// Keys at a place that is far from every node, where a watch may skip changes, and what somebody
/// else has written may be seen late.
class simulated_keys final : public far_place {
 public:
  simulated_keys(manual_time& time, elastic::detail::random_source& random)
      : far_place(time, random, std::chrono::seconds(5)) {}

  // ---- faults ---------------------------------------------------------------------------------

  /// One in so many watches reports nothing; 0: none.
  void skip_one_in(std::uint64_t many) { skips_ = many; }
  /// Keys that are new appear to readers so much later at most: the entries of a directory.
  void delay_entries(duration most) { lateness_ = most; }

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

  versioned_keys::entry found(const std::string& key) const {
    versioned_keys::entry seen;
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
    tell_watches();
    lose_answer_at_times();
    return true;
  }

  class far_keys final : public versioned_keys {
   public:
    far_keys(simulated_keys& at, int node) : at_(at), node_(node) {}

    std::string place_of(const std::string& key) const override { return "the key '" + key + "'"; }
    task<versioned_keys::entry> get(std::string key) override {
      std::function<versioned_keys::entry()> act = [at = &at_, key] { return at->found(key); };
      ++at_.requests_;
      return at_.ask<versioned_keys::entry>(node_, std::move(act));
    }
    task<bool> put(std::string key, std::string value, std::string version) override {
      std::function<bool()> act = [at = &at_, key, value, version] {
        return at->store(key, value, version);
      };
      ++at_.requests_;
      return at_.ask<bool>(node_, std::move(act));
    }
    task<void> put(std::string key, std::string value) override {
      std::function<bool()> act = [at = &at_, key, value] {
        return at->store(key, value, std::nullopt);
      };
      ++at_.requests_;
      co_await at_.ask<bool>(node_, std::move(act));
    }
    task<bool> erase(std::string key) override {
      std::function<bool()> act = [at = &at_, key] { return at->entries_.erase(key) != 0; };
      ++at_.requests_;
      return at_.ask<bool>(node_, std::move(act));
    }
    task<std::int64_t> count() override {
      std::function<std::int64_t()> act = [at = &at_] {
        return static_cast<std::int64_t>(at->entries_.size());
      };
      ++at_.requests_;
      return at_.ask<std::int64_t>(node_, std::move(act));
    }
    task<void> wait_for_change(std::string key, std::string version) override {
      constexpr std::chrono::seconds longest{30};
      ++at_.requests_;
      const time_point limit = at_.time_.now() + longest;
      co_await at_.pass(node_);
      const bool skips = at_.skips_ != 0 && at_.random_.below(at_.skips_) == 0;
      watch watching(at_, co_await asio::this_coro::executor);
      while (at_.time_.now() < limit && (skips || at_.found(key).version == version)) {
        watching.flag().reset();
        co_await with_deadline(at_.time_, limit, watching.flag().wait());
      }
      co_await at_.pass(node_);
    }

   private:
    simulated_keys& at_;
    int node_;
  };

  std::map<std::string, entry> entries_;
  std::uint64_t last_version_ = 0;
  std::uint64_t skips_ = 0;
  duration lateness_{};
  std::uint64_t requests_ = 0;
};

}  // namespace elastic::test
