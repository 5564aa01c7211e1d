// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/store_rendezvous_backend.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/store/detail/engine_waker.hpp>
#include <elastic/store/detail/store_keys.hpp>
#include <elastic/torch/detail/keyed_rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Watches a key of a table, which any thread may change, until the end of its scope.
class engine_watch_scope {
 public:
  engine_watch_scope(key_value_engine& engine, const std::string& key,
                     std::shared_ptr<engine_waker> waking)
      : engine_(engine), waking_(std::move(waking)), id_(engine.watch(key, waking_)) {}
  ~engine_watch_scope() {
    engine_.unwatch(id_);
    waking_->forget();
  }
  engine_watch_scope(const engine_watch_scope&) = delete;
  engine_watch_scope& operator=(const engine_watch_scope&) = delete;

 private:
  key_value_engine& engine_;
  std::shared_ptr<engine_waker> waking_;
  key_value_engine::wait_id id_;
};

ELASTIC_DECL std::string torch_state_key(std::string_view run_id) {
  return fmt::format("torch.rendezvous.{}", run_id);
}

ELASTIC_DECL store_rendezvous_backend::store_rendezvous_backend(
    std::shared_ptr<store> agents, std::string run_id, torch_dialect dialect,
    std::shared_ptr<time_source> time, std::shared_ptr<key_value_engine> engine)
    : store_(required(std::move(agents), "store_rendezvous_backend: the store")),
      key_(torch_state_key(run_id)),
      dialect_(dialect),
      time_(required(std::move(time), "store_rendezvous_backend: the time source")),
      engine_(std::move(engine)) {}

ELASTIC_DECL task<std::optional<stored_state>> store_rendezvous_backend::get() {
  std::string text = co_await exchange("", std::string(torch_no_state));
  co_return parse(std::move(text));
}

ELASTIC_DECL task<set_outcome> store_rendezvous_backend::set(torch_state state, std::string token) {
  const std::string desired = stored_text(state, dialect_);
  if (token.empty()) token = torch_no_state;
  std::string text = co_await exchange(token, desired);
  set_outcome outcome;
  outcome.was_set = text == desired;
  // For a missing key, the store answers with the expected value: the key is created again.
  const bool may_be_gone = !outcome.was_set && text == token;
  if (may_be_gone) text = co_await exchange("", std::string(torch_no_state));
  outcome.stored = parse(std::move(text));
  co_return outcome;
}

ELASTIC_DECL task<void> store_rendezvous_backend::wait_for_change(std::string token) {
  if (!engine_) {
    co_await time_->sleep_until(time_->now() + pause);
    co_return;
  }
  if (token.empty()) token = torch_no_state;
  const std::string key = store_wire_key(key_);
  const auto executor = co_await asio::this_coro::executor;
  event_flag has_changed(executor);
  auto waking = new_shared<engine_waker>(executor, has_changed);
  const engine_watch_scope scope(*engine_, key, std::move(waking));
  while (engine_->find(key).value_or("") == token) {
    co_await has_changed.wait();
    has_changed.reset();
  }
}

ELASTIC_DECL task<std::optional<torch_dialect>> store_rendezvous_backend::seen_dialect(
    std::shared_ptr<store> agents, std::string run_id) {
  const std::string key = torch_state_key(run_id);
  const std::string nothing(torch_no_state);
  const std::string text = co_await agents->compare_set(key, "", nothing);
  co_return dialect_of(text, place_of(key));
}

ELASTIC_DECL task<std::string> store_rendezvous_backend::exchange(std::string expected,
                                                                  std::string desired) {
  return store_->compare_set(key_, std::move(expected), std::move(desired));
}

ELASTIC_DECL std::string store_rendezvous_backend::place_of(const std::string& key) {
  return fmt::format("the store's key '{}'", key);
}

ELASTIC_DECL std::optional<stored_state> store_rendezvous_backend::parse(std::string text) const {
  std::optional<torch_state> state = read_stored_text(text, dialect_, place_of(key_));
  if (!state) return std::nullopt;
  return stored_state{std::move(*state), std::move(text)};
}

}  // namespace elastic::detail
