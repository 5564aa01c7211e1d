// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/memory_store.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/store/detail/engine_waker.hpp>
#include <elastic/store/detail/store_keys.hpp>

#include <cstddef>

namespace elastic {

namespace detail {

/// Ends a wait when the scope ends.
class engine_wait_scope {
 public:
  engine_wait_scope(key_value_engine& engine, const std::vector<std::string_view>& keys,
                    std::shared_ptr<engine_waker> waiting)
      : engine_(engine), waiting_(std::move(waiting)), id_(engine.wait(keys, waiting_)) {}
  ~engine_wait_scope() {
    engine_.cancel(id_);
    waiting_->forget();
  }
  engine_wait_scope(const engine_wait_scope&) = delete;
  engine_wait_scope& operator=(const engine_wait_scope&) = delete;

  bool is_waiting() const { return id_ != 0; }

 private:
  key_value_engine& engine_;
  std::shared_ptr<engine_waker> waiting_;
  key_value_engine::wait_id id_;
};

}  // namespace detail

ELASTIC_DECL task<void> memory_store::set(std::string key, std::string value) {
  detail::check_store_value(value);
  engine_->set(detail::store_wire_key(key), value);
  co_return;
}

ELASTIC_DECL task<std::string> memory_store::get(std::string key) {
  const std::string wire = detail::store_wire_key(key);
  const std::vector<std::string_view> keys(1, wire);
  for (;;) {
    auto value = engine_->find(wire);
    if (value) co_return std::move(*value);
    co_await wait_for(keys);
  }
}

ELASTIC_DECL task<std::int64_t> memory_store::add(std::string key, std::int64_t delta) {
  co_return engine_->add(detail::store_wire_key(key), delta);
}

ELASTIC_DECL task<std::string> memory_store::compare_set(std::string key, std::string expected,
                                                         std::string desired) {
  detail::check_store_value(expected);
  detail::check_store_value(desired);
  co_return engine_->compare_set(detail::store_wire_key(key), expected, desired);
}

ELASTIC_DECL task<void> memory_store::wait(key_list keys) {
  const std::vector<std::string> wire = detail::store_wire_keys(keys);
  co_await wait_for(views_of(wire));
}

ELASTIC_DECL task<bool> memory_store::check(key_list keys) {
  const std::vector<std::string> wire = detail::store_wire_keys(keys);
  co_return engine_->check(views_of(wire));
}

ELASTIC_DECL task<bool> memory_store::erase(std::string key) {
  co_return engine_->erase(detail::store_wire_key(key));
}

ELASTIC_DECL task<std::int64_t> memory_store::num_keys() { co_return engine_->num_keys(); }

ELASTIC_DECL task<void> memory_store::append(std::string key, std::string value) {
  detail::check_store_value(value);
  engine_->append(detail::store_wire_key(key), value);
  co_return;
}

ELASTIC_DECL task<std::vector<std::string>> memory_store::multi_get(key_list keys) {
  co_await wait(keys);
  std::vector<std::string> values;
  values.reserve(keys.size());
  for (const std::string& key : keys) values.push_back(co_await get(key));
  co_return values;
}

ELASTIC_DECL task<void> memory_store::multi_set(key_value_list pairs) {
  for (const auto& [key, value] : pairs) detail::check_store_value(value);
  const std::vector<std::string> wire = wire_keys_of(pairs);
  for (std::size_t i = 0; i < pairs.size(); ++i) engine_->set(wire[i], pairs[i].second);
  co_return;
}

ELASTIC_DECL std::vector<std::string> memory_store::wire_keys_of(
    const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<std::string> wire;
  wire.reserve(pairs.size());
  for (const auto& pair : pairs) wire.push_back(detail::store_wire_key(pair.first));
  return wire;
}

ELASTIC_DECL std::vector<std::string_view> memory_store::views_of(
    const std::vector<std::string>& texts) {
  return std::vector<std::string_view>(texts.begin(), texts.end());
}

ELASTIC_DECL task<void> memory_store::wait_for(std::vector<std::string_view> keys) {
  auto executor = co_await asio::this_coro::executor;
  event_flag is_ready(executor);
  auto waiting = detail::new_shared<detail::engine_waker>(executor, is_ready);
  const detail::engine_wait_scope scope(*engine_, keys, std::move(waiting));
  if (scope.is_waiting()) co_await is_ready.wait();
}

}  // namespace elastic
