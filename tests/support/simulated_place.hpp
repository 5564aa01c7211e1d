// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/rendezvous/native/detail/rendezvous_message.hpp>
#include <elastic/store/detail/store_keys.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/store.hpp>
#include <elastic/torch/detail/rendezvous_backend.hpp>
#include <elastic/torch/detail/store_rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>
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

/// A place in which the nodes of a rendezvous keep their state, and a store beside it, for the
/// agents, as far from every node as a network makes it: what is asked takes time, gets stuck or is
/// refused, what was done may not be answered, and what is asked may be done when nobody waits for
/// it any more. Everything follows from the seed of `random`.
class simulated_place {
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
      : time_(time),
        random_(random),
        manner_(how),
        dialect_(dialect),
        on_change_(std::move(on_change)) {}

  // ---- faults ---------------------------------------------------------------------------------

  /// Nothing gets through between the node and the place, and nobody is told.
  void part(int node) { parted_.insert(node); }
  /// What waited gets through.
  void mend(int node) { parted_.erase(node); }
  /// The node's requests fail for a while, also those that are under way.
  void refuse(int node, duration span) { refused_until_[node] = time_.now() + span; }
  /// The place takes nothing for a while, and answers nothing.
  void stall(duration span) { stalled_until_ = time_.now() + span; }
  /// The way to the place takes so much longer, and the way back.
  void slow_down(duration each_way) { slowness_ = each_way; }
  /// One in so many changes of the state is made, and the answer lost; 0: none.
  void lose_one_in(std::uint64_t many) { losses_ = many; }
  /// The node is gone.
  void kill(int node) { dead_.insert(node); }
  /// Everything works from now on.
  void heal() {
    parted_.clear();
    refused_until_.clear();
    stalled_until_ = time_point::min();
    losses_ = 0;
  }
  /// Whatever is under way ends.
  void end() { is_over_ = true; }

  bool is_cut_off(int node) const {
    return parted_.count(node) + dead_.count(node) != 0 || time_.now() < stalled_until_;
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
  // ---- the way --------------------------------------------------------------------------------

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

  // One way between a node and the place.
  task<void> pass(int node) {
    constexpr std::chrono::milliseconds retransmission{50};
    co_await time_.sleep_until(time_.now() + delay());
    for (;;) {
      if (is_over_) fail("the place does not answer");
      const auto refused = refused_until_.find(node);
      const bool is_refused = refused != refused_until_.end() && time_.now() < refused->second;
      if (is_refused) fail("the place hangs up");
      if (!is_cut_off(node)) co_return;
      co_await time_.sleep_until(time_.now() + retransmission);
    }
  }

  duration delay() {
    const std::uint64_t longest = random_.below(20) == 0 ? 100'000 : 2'000;
    return slowness_ + std::chrono::microseconds(random_.below(longest));
  }

  [[noreturn]] static void fail(const char* why) { throw error(errc::connection_failed, why); }

  void lose_answer_at_times() {
    if (losses_ != 0 && random_.below(losses_) == 0) fail("the answer is lost");
  }

  // ---- what is kept ---------------------------------------------------------------------------

  void changed(int node, const detail::torch_state& after) {
    const detail::torch_state before = std::exchange(last_, after);
    on_change_(node, before, after);
    for (const auto& watch : watches_) watch->set();
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
      auto watch = std::make_shared<event_flag>(co_await asio::this_coro::executor);
      const struct scope {
        scope(simulated_place& place, std::shared_ptr<event_flag> flag)
            : at(place), watching(std::move(flag)) {
          at.watches_.push_back(watching);
        }
        ~scope() { std::erase(at.watches_, watching); }
        simulated_place& at;
        std::shared_ptr<event_flag> watching;
      } watched(at_, watch);
      const std::string now = at_.version_ == 0 ? "" : std::to_string(at_.version_);
      task<void> waiting = watch->wait();
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

  manual_time& time_;
  elastic::detail::random_source& random_;
  const manner manner_;
  const detail::torch_dialect dialect_;
  observer on_change_;
  std::shared_ptr<detail::key_value_engine> engine_ = std::make_shared<detail::key_value_engine>();
  detail::torch_state last_;
  std::string text_;
  std::uint64_t version_ = 0;
  std::vector<std::shared_ptr<event_flag>> watches_;
  std::set<int> parted_;
  std::set<int> dead_;
  std::map<int, time_point> refused_until_;
  time_point stalled_until_ = time_point::min();
  duration slowness_{};
  std::uint64_t losses_ = 0;
  bool is_over_ = false;
};

}  // namespace elastic::test
