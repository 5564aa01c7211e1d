// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/store/store.hpp>
#include <elastic/testing/simulated_network.hpp>
#include <elastic/torch/detail/rendezvous_backend.hpp>
#include <elastic/torch/detail/store_rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>
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

/// A backend behind a simulated network, in which the nodes of a rendezvous keep their state, and a
/// store for the agents.
class simulated_place final : public testing::simulated_network {
 public:
  enum class manner {
    /// A store like torchrun's, with the real backend, which polls every second.
    store,
    /// A backend that reports changes, sometimes late and sometimes not at all.
    watched,
  };

  /// Called for every state that replaces another, with the node that wrote it.
  using observer = std::function<void(int node, const detail::torch_state& before,
                                      const detail::torch_state& after)>;

  simulated_place(manual_time& time, elastic::detail::random_source& random, manner how,
                  detail::torch_dialect dialect, observer on_change)
      : testing::simulated_network(time, random, duration::max()),
        manner_(how),
        dialect_(dialect),
        on_change_(std::move(on_change)) {}

  // ---- faults ---------------------------------------------------------------------------------

  /// The node's requests fail for a while, including pending ones.
  void refuse(int node, duration span) { refused_until_[node] = clock_.now() + span; }
  /// Everything works from now on.
  void heal() {
    refused_until_.clear();
    testing::simulated_network::heal();
  }

  /// The current state.
  const detail::torch_state& state() const { return last_; }

  // ---- for nodes ------------------------------------------------------------------------------

  std::shared_ptr<detail::rendezvous_backend> backend_of(int node,
                                                         std::shared_ptr<time_source> clock) {
    if (manner_ != manner::store) return std::make_shared<far_backend>(*this, node);
    return std::make_shared<detail::store_rendezvous_backend>(store_of(node), "job", dialect_,
                                                              std::move(clock));
  }

 private:
  bool hangs_up_on(int node) const override {
    const auto refused = refused_until_.find(node);
    return refused != refused_until_.end() && clock_.now() < refused->second;
  }
  void compared(int node, const std::string& key, const std::string& value) override {
    if (key == detail::torch_state_key("job")) note_text(node, value);
  }

  // ---- stored state ---------------------------------------------------------------------------

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
              ? at_.clock_.now() + std::chrono::milliseconds(at_.random_.below(3000))
              : time_point::max();
      watch watching(at_, co_await asio::this_coro::executor);
      const std::string now = at_.version_ == 0 ? "" : std::to_string(at_.version_);
      task<void> waiting = watching.flag().wait();
      if (now == token) co_await with_deadline(at_.clock_, spurious, std::move(waiting));
      if (at_.random_.below(10) == 0) co_await at_.clock_.sleep_until(at_.clock_.now() + late);
      co_await at_.pass(node_);
    }

   private:
    simulated_place& at_;
    int node_;
  };

  // Notes the state's text in the store. The first node that sees a new text has written it.
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
  detail::torch_state last_;
  std::string text_;
  std::uint64_t version_ = 0;
  std::map<int, time_point> refused_until_;
};

}  // namespace elastic::test
