// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/native/detail/rendezvous_message.hpp>
#include <elastic/store/detail/store_keys.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/store.hpp>
#include <elastic/torch/detail/rendezvous_backend.hpp>
#include <elastic/torch/detail/store_rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>
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
#include <vector>

namespace elastic::test {

/// A place, far from every node, in which the nodes of a rendezvous keep their state, and a store
/// beside it, for the agents.
class simulated_place final : public far_place {
 public:
  enum class manner {
    /// A store like one that torchrun serves: the real backend, which looks every second.
    store,
    /// A place that tells of changes: late at times, and at times of none.
    watched,
  };

  /// Told of every state that takes the place of another, and by which node.
  using observer = std::function<void(int node, const detail::torch_state& before,
                                      const detail::torch_state& after)>;

  simulated_place(manual_time& time, elastic::detail::random_source& random, manner how,
                  detail::torch_dialect dialect, observer on_change)
      : far_place(time, random, duration::max()),
        manner_(how),
        dialect_(dialect),
        on_change_(std::move(on_change)) {}

  // ---- faults ---------------------------------------------------------------------------------

  /// The node's requests fail for a while, also those that are under way.
  void refuse(int node, duration span) { refused_until_[node] = time_.now() + span; }
  /// Everything works from now on.
  void heal() {
    refused_until_.clear();
    far_place::heal();
  }

  /// What is kept now.
  const detail::torch_state& state() const { return last_; }

  // ---- for the nodes --------------------------------------------------------------------------

  std::shared_ptr<store> store_of(int node) { return std::make_shared<far_store>(*this, node); }

  std::shared_ptr<detail::rendezvous_backend> backend_of(int node,
                                                         std::shared_ptr<time_source> clock) {
    if (manner_ != manner::store) return std::make_shared<far_backend>(*this, node);
    auto where = std::make_shared<far_store>(*this, node);
    return std::make_shared<detail::store_rendezvous_backend>(std::move(where), "job", dialect_,
                                                              std::move(clock));
  }

 private:
  bool hangs_up_on(int node) const override {
    const auto refused = refused_until_.find(node);
    return refused != refused_until_.end() && time_.now() < refused->second;
  }

  // ---- what is kept ---------------------------------------------------------------------------

  void changed(int node, const detail::torch_state& after) {
    const detail::torch_state before = std::exchange(last_, after);
    on_change_(node, before, after);
    tell_watches();
  }

  std::optional<detail::stored_state> kept() const {
    if (version_ == 0) return std::nullopt;
    return detail::stored_state{last_, std::to_string(version_)};
  }

  class far_backend final : public detail::rendezvous_backend {
   public:
    far_backend(simulated_place& at, int node) : at_(at), node_(node) {}

    task<std::optional<detail::stored_state>> get() override {
      return at_.ask<std::optional<detail::stored_state>>(node_,
                                                          [at = &at_] { return at->kept(); });
    }

    task<detail::set_outcome> set(detail::torch_state state, std::string token) override {
      return at_.ask<detail::set_outcome>(
          node_, [at = &at_, node = node_, state = std::move(state), token = std::move(token)] {
            detail::set_outcome outcome;
            const std::string now = at->version_ == 0 ? "" : std::to_string(at->version_);
            outcome.was_set = token == now;
            if (outcome.was_set) {
              ++at->version_;
              at->changed(node, state);
              at->lose_answer_at_times();
            }
            outcome.stored = at->kept();
            return outcome;
          });
    }

    task<void> wait_for_change(std::string token) override {
      constexpr std::chrono::seconds late{3};
      co_await at_.pass(node_);
      const time_point spurious =
          at_.random_.below(5) == 0
              ? at_.time_.now() + std::chrono::milliseconds(at_.random_.below(3000))
              : time_point::max();
      watch watching(at_, co_await asio::this_coro::executor);
      const std::string now = at_.version_ == 0 ? "" : std::to_string(at_.version_);
      task<void> waiting = watching.flag().wait();
      if (now == token) co_await with_deadline(at_.time_, spurious, std::move(waiting));
      if (at_.random_.below(10) == 0) co_await at_.time_.sleep_until(at_.time_.now() + late);
      co_await at_.pass(node_);
    }

   private:
    simulated_place& at_;
    int node_;
  };

  class far_store final : public store {
   public:
    far_store(simulated_place& at, int node) : at_(at), node_(node), inner_(at.engine_) {}

    task<void> set(std::string key, std::string value) override {
      std::function<bool()> act = [engine = at_.engine_, key = detail::store_wire_key(key),
                                   value = std::move(value)] {
        engine->set(key, value);
        return true;
      };
      co_await at_.ask<bool>(node_, std::move(act));
    }
    task<std::string> get(std::string key) override {
      co_await at_.pass(node_);
      std::string value = co_await inner_.get(std::move(key));
      co_await at_.pass(node_);
      co_return value;
    }
    task<std::int64_t> add(std::string key, std::int64_t delta) override {
      return at_.ask<std::int64_t>(node_, [engine = at_.engine_, key = detail::store_wire_key(key),
                                           delta] { return engine->add(key, delta); });
    }
    task<std::string> compare_set(std::string key, std::string expected,
                                  std::string desired) override {
      return at_.ask<std::string>(node_, [at = &at_, node = node_, key = std::move(key),
                                          expected = std::move(expected),
                                          desired = std::move(desired)] {
        std::string text = at->engine_->compare_set(detail::store_wire_key(key), expected, desired);
        if (key == detail::torch_state_key("job")) at->note_text(node, text);
        return text;
      });
    }
    task<void> wait(key_list keys) override {
      co_await at_.pass(node_);
      co_await inner_.wait(std::move(keys));
      co_await at_.pass(node_);
    }
    task<bool> check(key_list keys) override {
      return at_.ask<bool>(node_, [engine = at_.engine_, wire = detail::store_wire_keys(keys)] {
        return engine->check(std::vector<std::string_view>(wire.begin(), wire.end()));
      });
    }
    task<bool> erase(std::string key) override {
      return at_.ask<bool>(node_, [engine = at_.engine_, key = detail::store_wire_key(key)] {
        return engine->erase(key);
      });
    }
    task<std::int64_t> num_keys() override {
      return at_.ask<std::int64_t>(node_, [engine = at_.engine_] { return engine->num_keys(); });
    }
    task<void> append(std::string key, std::string value) override {
      co_await at_.pass(node_);
      co_await inner_.append(std::move(key), std::move(value));
      co_await at_.pass(node_);
    }
    task<std::vector<std::string>> multi_get(key_list keys) override {
      co_await at_.pass(node_);
      std::vector<std::string> values = co_await inner_.multi_get(std::move(keys));
      co_await at_.pass(node_);
      co_return values;
    }
    task<void> multi_set(key_value_list pairs) override {
      co_await at_.pass(node_);
      co_await inner_.multi_set(std::move(pairs));
      co_await at_.pass(node_);
    }

   private:
    simulated_place& at_;
    int node_;
    memory_store inner_;
  };

  // What the store holds as state; whoever sees another one first has put it there.
  void note_text(int node, const std::string& text) {
    if (text == text_) return;
    text_ = text;
    const std::optional<detail::torch_state> state = elastic::detail::parse_stored_text(text);
    if (!state) return;
    changed(node, *state);
    lose_answer_at_times();
  }

  const manner manner_;
  const detail::torch_dialect dialect_;
  observer on_change_;
  std::shared_ptr<detail::key_value_engine> engine_ = std::make_shared<detail::key_value_engine>();
  detail::torch_state last_;
  std::string text_;
  std::uint64_t version_ = 0;
  std::map<int, time_point> refused_until_;
};

}  // namespace elastic::test
