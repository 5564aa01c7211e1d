// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_backend.hpp>
#include <elastic/rendezvous/torch_dialect.hpp>
#include <elastic/rendezvous/torch_state_codec.hpp>
#include <elastic/store/key_value_engine.hpp>
#include <elastic/store/key_watch.hpp>
#include <elastic/store/store.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// The key under which the agents of PyTorch keep the state of their rendezvous.
inline std::string torch_state_key(std::string_view run_id) {
  return fmt::format("torch.rendezvous.{}", run_id);
}

/// Keeps the state of a rendezvous in a store, where and as torchrun's `c10d` backend does.
///
/// Thread-safety: one strand at a time.
class store_rendezvous_backend final : public rendezvous_backend {
 public:
  /// How long it waits before a store is looked at again that cannot tell of a change.
  static constexpr std::chrono::seconds pause{1};

  /// @param dialect  what is written; a state of another dialect is refused
  /// @param engine   the table of `where`, if that is in this process: then a change is told at
  ///                 once
  store_rendezvous_backend(std::shared_ptr<store> where, std::string run_id, torch_dialect dialect,
                           std::shared_ptr<time_source> time,
                           std::shared_ptr<key_value_engine> engine = nullptr)
      : store_(std::move(where)),
        key_(torch_state_key(run_id)),
        dialect_(dialect),
        time_(std::move(time)),
        engine_(std::move(engine)) {}

  task<std::optional<stored_state>> get() override {
    std::string text = co_await exchange("", std::string(torch_no_state));
    co_return parse(std::move(text));
  }

  task<set_outcome> set(torch_state state, std::string token) override {
    const std::string wanted = stored_text(state, dialect_);
    if (token.empty()) token = torch_no_state;
    std::string text = co_await exchange(token, wanted);
    set_outcome outcome;
    outcome.was_set = text == wanted;
    // A key that is gone is answered by what was expected of it: it is made anew.
    const bool may_be_gone = !outcome.was_set && text == token;
    if (may_be_gone) text = co_await exchange("", std::string(torch_no_state));
    outcome.stored = parse(std::move(text));
    co_return outcome;
  }

  task<void> wait_for_change(std::string token) override {
    if (!engine_) {
      co_await time_->sleep_until(time_->now() + pause);
      co_return;
    }
    if (token.empty()) token = torch_no_state;
    key_watch watch(co_await asio::this_coro::executor, engine_, key_);
    while (watch.value() == token) co_await watch.changed();
  }

  /// Which dialect the state under a run id is written in; none where there is no state yet, or
  /// one that holds nothing that tells.
  /// Errors: those of the store; `errc::rendezvous_state`.
  static task<std::optional<torch_dialect>> seen_dialect(std::shared_ptr<store> where,
                                                         std::string run_id) {
    const std::string key = torch_state_key(run_id);
    const std::string nothing(torch_no_state);
    const std::string text = co_await where->compare_set(key, "", nothing);
    const std::optional<torch_state> state = read(text, key);
    if (!state) co_return std::nullopt;
    co_return state->seen_dialect;
  }

 private:
  // Asking for "the value, if it is X, to become Y" tells the value in one round trip and, unlike
  // a plain GET, never waits for the key to exist.
  task<std::string> exchange(std::string expected, std::string desired) {
    return store_->compare_set(key_, std::move(expected), std::move(desired));
  }

  static std::optional<torch_state> read(const std::string& text, const std::string& key) {
    try {
      return parse_stored_text(text);
    } catch (const error& failure) {
      throw error(errc::rendezvous_state,
                  fmt::format("{} (the store's key '{}')", failure.what(), key));
    }
  }

  std::optional<stored_state> parse(std::string text) const {
    std::optional<torch_state> state = read(text, key_);
    if (!state) return std::nullopt;
    const auto seen = state->seen_dialect;
    if (seen && *seen != dialect_) {
      throw error(errc::rendezvous_state,
                  fmt::format("the state under the store's key '{}' is in the dialect {} and this "
                              "node speaks {}: all nodes of a job need one dialect (--rdzv-conf "
                              "dialect={})",
                              key_, to_text(*seen), to_text(dialect_), to_text(*seen)));
    }
    return stored_state{std::move(*state), std::move(text)};
  }

  std::shared_ptr<store> store_;
  std::string key_;
  torch_dialect dialect_;
  std::shared_ptr<time_source> time_;
  std::shared_ptr<key_value_engine> engine_;
};

}  // namespace elastic
