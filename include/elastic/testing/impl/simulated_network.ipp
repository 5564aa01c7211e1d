// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/testing/simulated_network.hpp>

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/race.hpp>
#include <elastic/store/detail/store_keys.hpp>
#include <elastic/store/memory_store.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic::testing {

// ---- the store of a node ------------------------------------------------------------------------

class simulated_network::far_store final : public store {
 public:
  far_store(simulated_network& network, int node)
      : at_(network),
        node_(node),
        inner_(elastic::detail::internals::make<memory_store>(network.engine_)) {}

  task<void> set(std::string key, std::string value) override {
    std::function<bool()> act = [engine = at_.engine_, wire = elastic::detail::store_wire_key(key),
                                 value = std::move(value)] {
      engine->set(wire, value);
      return true;
    };
    task<bool> setting = at_.ask<bool>(node_, std::move(act));
    co_await std::move(setting);
  }
  task<std::string> get(std::string key) override {
    co_await at_.pass(node_);
    std::string value = co_await inner_->get(std::move(key));
    co_await at_.pass(node_);
    co_return value;
  }
  task<std::int64_t> add(std::string key, std::int64_t delta) override {
    return at_.ask<std::int64_t>(
        node_, [engine = at_.engine_, wire = elastic::detail::store_wire_key(key), delta] {
          return engine->add(wire, delta);
        });
  }
  task<std::string> compare_set(std::string key, std::string expected,
                                std::string desired) override {
    return at_.ask<std::string>(
        node_, [at = &at_, node = node_, key = std::move(key), expected = std::move(expected),
                desired = std::move(desired)] {
          std::string text =
              at->engine_->compare_set(elastic::detail::store_wire_key(key), expected, desired);
          at->compared(node, key, text);
          return text;
        });
  }
  task<void> wait(key_list keys) override {
    co_await at_.pass(node_);
    co_await inner_->wait(std::move(keys));
    co_await at_.pass(node_);
  }
  task<bool> check(key_list keys) override {
    return at_.ask<bool>(
        node_, [engine = at_.engine_, wire = elastic::detail::store_wire_keys(keys)] {
          return engine->check(std::vector<std::string_view>(wire.begin(), wire.end()));
        });
  }
  task<bool> erase(std::string key) override {
    return at_.ask<bool>(node_,
                         [engine = at_.engine_, wire = elastic::detail::store_wire_key(key)] {
                           return engine->erase(wire);
                         });
  }
  task<std::int64_t> num_keys() override {
    return at_.ask<std::int64_t>(node_, [engine = at_.engine_] { return engine->num_keys(); });
  }
  task<void> append(std::string key, std::string value) override {
    co_await at_.pass(node_);
    co_await inner_->append(std::move(key), std::move(value));
    co_await at_.pass(node_);
  }
  task<std::vector<std::string>> multi_get(key_list keys) override {
    co_await at_.pass(node_);
    std::vector<std::string> values = co_await inner_->multi_get(std::move(keys));
    co_await at_.pass(node_);
    co_return values;
  }
  task<void> multi_set(key_value_list pairs) override {
    co_await at_.pass(node_);
    co_await inner_->multi_set(std::move(pairs));
    co_await at_.pass(node_);
  }

 private:
  simulated_network& at_;
  int node_;
  std::shared_ptr<memory_store> inner_;
};

// ---- the keys of a node -------------------------------------------------------------------------

class simulated_network::far_keys final : public versioned_keys {
 public:
  far_keys(simulated_network& network, int node) : at_(network), node_(node) {}

  std::string place_of(const std::string& key) const override { return "the key '" + key + "'"; }
  task<versioned_keys::entry> get(std::string key) override {
    std::function<versioned_keys::entry()> act = [at = &at_, key] { return at->found(key); };
    ++at_.requests_;
    return at_.ask<versioned_keys::entry>(node_, std::move(act));
  }
  task<bool> put(std::string key, std::string value, std::string version) override {
    std::function<bool()> act = [at = &at_, key, value, version] {
      return at->put(key, value, version);
    };
    ++at_.requests_;
    return at_.ask<bool>(node_, std::move(act));
  }
  task<void> put(std::string key, std::string value) override {
    std::function<bool()> act = [at = &at_, key, value] {
      return at->put(key, value, std::nullopt);
    };
    ++at_.requests_;
    task<bool> putting = at_.ask<bool>(node_, std::move(act));
    co_await std::move(putting);
  }
  task<bool> erase(std::string key) override {
    std::function<bool()> act = [at = &at_, key] { return at->erase(key); };
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
    const time_point limit = at_.clock_.now() + longest;
    co_await at_.pass(node_);
    const bool skips = at_.skips_ != 0 && at_.random_.below(at_.skips_) == 0;
    watch watching(at_, co_await asio::this_coro::executor);
    while (at_.clock_.now() < limit && (skips || is_same_state(at_.found(key).version, version))) {
      watching.flag().reset();
      co_await with_deadline(at_.clock_, limit, watching.flag().wait());
    }
    co_await at_.pass(node_);
  }

 private:
  simulated_network& at_;
  int node_;
};

ELASTIC_DECL versioned_keys::entry simulated_network::found(const std::string& key) const {
  const auto position = entries_.find(key);
  const bool is_visible = position != entries_.end() && clock_.now() >= position->second.appears_at;
  versioned_keys::entry seen;
  if (is_visible) seen.value = position->second.value;
  seen.version = version_of(is_visible ? position->second.revision : 0);
  return seen;
}

ELASTIC_DECL bool simulated_network::is_same_state(std::string_view left, std::string_view right) {
  return left.substr(0, left.find(':')) == right.substr(0, right.find(':'));
}

ELASTIC_DECL bool simulated_network::put(const std::string& key, const std::string& value,
                                         const std::optional<std::string>& version) {
  const auto position = entries_.find(key);
  // A writer always sees the present state.
  const std::uint64_t now = position == entries_.end() ? 0 : position->second.revision;
  if (version && !is_same_state(*version, version_of(now))) return false;
  kept_entry made{value, ++last_revision_, clock_.now()};
  if (position == entries_.end() && lateness_ > duration::zero()) {
    const auto most = std::chrono::duration_cast<std::chrono::microseconds>(lateness_).count();
    made.appears_at += std::chrono::microseconds(random_.below(static_cast<std::uint64_t>(most)));
  }
  entries_[key] = made;
  tell_watches();
  lose_answer_at_times();
  return true;
}

ELASTIC_DECL bool simulated_network::erase(const std::string& key) {
  if (entries_.erase(key) == 0) return false;
  ++last_revision_;
  tell_watches();
  return true;
}

ELASTIC_DECL std::string simulated_network::version_of(std::uint64_t revision) const {
  if (!shares_revision_) return std::to_string(revision);
  return fmt::format("{}:{}", revision, last_revision_);
}

// ---- the network --------------------------------------------------------------------------------

ELASTIC_DECL simulated_network::simulated_network(manual_clock& clock, std::uint64_t seed,
                                                  duration patience)
    : clock_(clock),
      own_random_(std::make_unique<elastic::detail::random_source>(seed)),
      random_(*own_random_),
      patience_(patience),
      engine_(std::make_shared<elastic::detail::key_value_engine>()) {}

ELASTIC_DECL simulated_network::simulated_network(manual_clock& clock,
                                                  elastic::detail::random_source& random,
                                                  duration patience)
    : clock_(clock),
      random_(random),
      patience_(patience),
      engine_(std::make_shared<elastic::detail::key_value_engine>()) {}

ELASTIC_DECL simulated_network::~simulated_network() = default;

ELASTIC_DECL std::shared_ptr<store> simulated_network::store_of(int node) {
  return std::make_shared<far_store>(*this, node);
}

ELASTIC_DECL std::shared_ptr<versioned_keys> simulated_network::keys_of(int node) {
  return std::make_shared<far_keys>(*this, node);
}

ELASTIC_DECL void simulated_network::part(int node) { parted_.insert(node); }
ELASTIC_DECL void simulated_network::mend(int node) { parted_.erase(node); }
ELASTIC_DECL void simulated_network::stall(duration span) {
  stalled_until_ = std::max(stalled_until_, clock_.now() + span);
}
ELASTIC_DECL void simulated_network::kill(int node) { dead_.insert(node); }
ELASTIC_DECL void simulated_network::lose_one_in(std::uint64_t many) { losses_ = many; }
ELASTIC_DECL void simulated_network::skip_one_in(std::uint64_t many) { skips_ = many; }
ELASTIC_DECL void simulated_network::delay_entries(duration most) { lateness_ = most; }
ELASTIC_DECL void simulated_network::share_revision() { shares_revision_ = true; }

ELASTIC_DECL void simulated_network::heal() {
  parted_.clear();
  stalled_until_ = time_point::min();
  losses_ = 0;
}

ELASTIC_DECL void simulated_network::end() { is_over_ = true; }

ELASTIC_DECL bool simulated_network::is_cut_off(int node) const {
  return parted_.count(node) + dead_.count(node) != 0 || clock_.now() < stalled_until_;
}

ELASTIC_DECL task<void> simulated_network::pass(int node) {
  constexpr std::chrono::milliseconds retransmission{50};
  const auto fail = [](const char* why) { throw error(errc::connection_failed, why); };
  const time_point limit =
      patience_ == duration::max() ? time_point::max() : clock_.now() + patience_;
  const std::uint64_t longest = random_.below(20) == 0 ? 100'000 : 2'000;
  co_await clock_.sleep_until(clock_.now() + std::chrono::microseconds(random_.below(longest)));
  for (;;) {
    if (is_over_ || clock_.now() > limit) fail("the server does not answer");
    if (hangs_up_on(node)) fail("the server hangs up");
    if (!is_cut_off(node)) co_return;
    co_await clock_.sleep_until(clock_.now() + retransmission);
  }
}

ELASTIC_DECL void simulated_network::lose_answer_at_times() {
  if (losses_ == 0 || random_.below(losses_) != 0) return;
  throw error(errc::connection_failed, "the answer is lost");
}

ELASTIC_DECL void simulated_network::tell_watches() {
  for (const auto& flag : watches_) flag->set();
}

ELASTIC_DECL simulated_network::watch::watch(simulated_network& network,
                                             asio::any_io_executor executor)
    : at_(network), flag_(std::make_shared<event_flag>(std::move(executor))) {
  at_.watches_.push_back(flag_);
}

ELASTIC_DECL simulated_network::watch::~watch() { std::erase(at_.watches_, flag_); }

}  // namespace elastic::testing
