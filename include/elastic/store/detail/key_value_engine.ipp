// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/key_value_engine.hpp>

#include <elastic/base/assert.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/store/detail/store_keys.hpp>

#include <iterator>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL key_value_engine::key_value_engine(std::size_t max_bytes) : max_bytes_(max_bytes) {}

ELASTIC_DECL std::size_t key_value_engine::text_hash::operator()(std::string_view text) const {
  return std::hash<std::string_view>{}(text);
}

ELASTIC_DECL bool key_value_engine::exists(std::string_view key) const {
  return values_.find(key) != values_.end() || queues_.find(key) != queues_.end();
}

ELASTIC_DECL void key_value_engine::set(std::string_view key, std::string_view value) {
  std::unique_lock lock(mutex_);
  store(key, value);
  wake_all(key);
  deliver(lock);
}

ELASTIC_DECL void key_value_engine::set_all(
    std::span<const std::pair<std::string_view, std::string_view>> pairs) {
  std::unique_lock lock(mutex_);
  try {
    for (const auto& [key, value] : pairs) {
      store(key, value);
      wake_all(key);
    }
  } catch (const error&) {
    deliver(lock);
    throw;
  }
  deliver(lock);
}

ELASTIC_DECL void key_value_engine::append(std::string_view key, std::string_view value) {
  std::unique_lock lock(mutex_);
  const auto entry = values_.find(key);
  if (entry == values_.end()) {
    store(key, value);
  } else {
    if (entry->second.size() + value.size() > limits::store_value_bytes) {
      throw error(errc::invalid_argument,
                  fmt::format("appending would make a value of more than {} bytes",
                              limits::store_value_bytes));
    }
    grow(value.size(), 0);
    const std::string old_value = watching_.empty() ? std::string() : entry->second;
    entry->second.append(value);
    announce_change(change_kind::updated, key, old_value, entry->second);
  }
  wake_all(key);
  deliver(lock);
}

ELASTIC_DECL std::optional<std::string> key_value_engine::find(std::string_view key) const {
  std::optional<std::string> result;
  read(key, [&](std::string_view value) { result.emplace(value); });
  return result;
}

ELASTIC_DECL std::int64_t key_value_engine::add(std::string_view key, std::int64_t delta) {
  std::unique_lock lock(mutex_);
  const auto sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(number_of(key)) +
                                             static_cast<std::uint64_t>(delta));
  store_number(key, sum);
  wake_all(key);
  deliver(lock);
  return sum;
}

ELASTIC_DECL std::string key_value_engine::compare_set(std::string_view key,
                                                       std::string_view expected,
                                                       std::string_view desired) {
  std::unique_lock lock(mutex_);
  const auto entry = values_.find(key);
  const bool is_missing = entry == values_.end();
  if (is_missing && !expected.empty()) return std::string(expected);
  if (!is_missing && entry->second != expected) {
    std::string unchanged = entry->second;
    wake_all(key);
    deliver(lock);
    return unchanged;
  }
  store(key, desired);
  wake_all(key);
  deliver(lock);
  return std::string(desired);
}

ELASTIC_DECL bool key_value_engine::check(std::span<const std::string_view> keys) const {
  const std::lock_guard lock(mutex_);
  for (const std::string_view key : keys) {
    if (!exists(key)) return false;
  }
  return true;
}

ELASTIC_DECL bool key_value_engine::erase(std::string_view key) {
  std::unique_lock lock(mutex_);
  const auto entry = values_.find(key);
  if (entry == values_.end()) return false;
  grow(0, entry->first.size() + entry->second.size());
  announce_change(change_kind::removed, key, entry->second, {});
  values_.erase(entry);
  deliver(lock);
  return true;
}

ELASTIC_DECL std::int64_t key_value_engine::num_keys() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(values_.size());
}

ELASTIC_DECL void key_value_engine::grow(std::size_t added, std::size_t removed) {
  ELASTIC_ASSERT(bytes_ >= removed);
  const std::size_t after = bytes_ - removed + added;
  if (after > max_bytes_ && after > bytes_) {
    throw error(errc::invalid_argument,
                fmt::format("the store is full: it may hold {} bytes", max_bytes_));
  }
  bytes_ = after;
}

ELASTIC_DECL void key_value_engine::refuse_if_full() const {
  if (values_.size() + queued_items_ < limits::store_entries) return;
  throw error(
      errc::invalid_argument,
      fmt::format("the store is full: it may hold {} keys and items", limits::store_entries));
}

ELASTIC_DECL void key_value_engine::store(std::string_view key, std::string_view value) {
  const auto entry = values_.find(key);
  if (entry == values_.end()) {
    refuse_if_full();
    grow(key.size() + value.size(), 0);
    values_.emplace(key, value);
    announce_change(change_kind::created, key, {}, value);
    return;
  }
  grow(value.size(), entry->second.size());
  announce_change(change_kind::updated, key, entry->second, value);
  entry->second.assign(value);
}

ELASTIC_DECL void key_value_engine::store_number(std::string_view key, std::int64_t number) {
  const fmt::format_int text(number);
  store(key, std::string_view(text.data(), text.size()));
}

ELASTIC_DECL std::int64_t key_value_engine::number_of(std::string_view key) const {
  const auto entry = values_.find(key);
  if (entry == values_.end()) return 0;
  const auto number = leading_number(entry->second);
  if (!number) {
    throw error(errc::store_value, fmt::format("the value of '{}' is not a number", key));
  }
  return *number;
}

ELASTIC_DECL key_value_engine::wait_id key_value_engine::wait(
    std::span<const std::string_view> keys, std::weak_ptr<listener> who) {
  const std::lock_guard lock(mutex_);
  pending_wait* wait = nullptr;
  for (const std::string_view key : keys) {
    if (exists(key)) continue;
    if (wait == nullptr) wait = &new_wait(std::move(who));
    register_for(*wait, key);
  }
  return wait != nullptr ? wait->id : 0;
}

ELASTIC_DECL key_value_engine::wait_id key_value_engine::barrier(std::string_view key,
                                                                 std::int64_t world,
                                                                 std::weak_ptr<listener> who) {
  std::unique_lock lock(mutex_);
  const auto arrived = static_cast<std::int64_t>(static_cast<std::uint64_t>(number_of(key)) + 1);
  store_number(key, arrived);
  wait_id id = 0;
  if (arrived < world) {
    pending_wait& wait = new_wait(std::move(who));
    register_for(wait, key);
    id = wait.id;
  } else {
    wake_all(key);
  }
  deliver(lock);
  return id;
}

ELASTIC_DECL bool key_value_engine::cancel(wait_id wait) {
  const std::lock_guard lock(mutex_);
  const auto entry = waits_.find(wait);
  if (entry == waits_.end()) return false;
  for (const place& each : entry->second.places) {
    if (each.key == nullptr) continue;
    each.key->second.erase(each.position);
    if (each.key->second.empty()) waiting_.erase(waiting_.find(each.key->first));
  }
  waits_.erase(entry);
  return true;
}

ELASTIC_DECL key_value_engine::pending_wait& key_value_engine::new_wait(
    std::weak_ptr<listener> who) {
  pending_wait& wait = waits_[++last_id_];
  wait.id = last_id_;
  wait.who = std::move(who);
  return wait;
}

ELASTIC_DECL void key_value_engine::register_for(pending_wait& wait, std::string_view key) {
  auto entry = waiting_.find(key);
  if (entry == waiting_.end()) entry = waiting_.emplace(key, registrations()).first;
  entry->second.push_back(registration{&wait, wait.places.size()});
  wait.places.push_back(place{&*entry, std::prev(entry->second.end())});
  ++wait.missing;
}

// The caller removes the registration itself from its list.
ELASTIC_DECL void key_value_engine::count_down(registration entry) {
  pending_wait& wait = *entry.wait;
  wait.places[entry.index].key = nullptr;
  ELASTIC_ASSERT(wait.missing > 0);
  if (--wait.missing > 0) return;
  notices_.push_back(notice{std::move(wait.who), wait.id, nullptr});
  waits_.erase(wait.id);
}

ELASTIC_DECL void key_value_engine::wake_all(std::string_view key) {
  if (waiting_.empty()) return;
  const auto entry = waiting_.find(key);
  if (entry == waiting_.end()) return;
  for (const registration& each : entry->second) count_down(each);
  waiting_.erase(entry);
}

ELASTIC_DECL void key_value_engine::wake_one(std::string_view key) {
  const auto entry = waiting_.find(key);
  if (entry == waiting_.end()) return;
  registrations& queue = entry->second;
  bool woke_one = false;
  while (!queue.empty() && !woke_one) {
    const registration first = queue.front();
    queue.pop_front();
    woke_one = first.wait->missing == 1;
    count_down(first);
  }
  if (queue.empty()) waiting_.erase(entry);
}

ELASTIC_DECL key_value_engine::wait_id key_value_engine::watch(std::string_view key,
                                                               std::weak_ptr<listener> who) {
  const std::lock_guard lock(mutex_);
  watch_entry added{++last_id_, std::move(who)};
  watching_[std::string(key)].push_back(std::move(added));
  watches_.emplace(last_id_, key);
  return last_id_;
}

ELASTIC_DECL void key_value_engine::unwatch(wait_id watch) {
  const std::lock_guard lock(mutex_);
  const auto key = watches_.find(watch);
  if (key == watches_.end()) return;
  const auto watched = watching_.find(key->second);
  ELASTIC_ASSERT(watched != watching_.end());
  std::erase_if(watched->second, [&](const watch_entry& entry) { return entry.id == watch; });
  if (watched->second.empty()) watching_.erase(watched);
  watches_.erase(key);
}

ELASTIC_DECL void key_value_engine::announce_change(change_kind kind, std::string_view key,
                                                    std::string_view old_value,
                                                    std::string_view new_value) {
  if (watching_.empty()) return;
  const auto watched = watching_.find(key);
  if (watched == watching_.end()) return;
  change made{kind, std::string(key), std::string(old_value), std::string(new_value)};
  const auto news = new_shared<const change>(std::move(made));
  for (const watch_entry& entry : watched->second) {
    notices_.push_back(notice{entry.who, entry.id, news});
  }
}

ELASTIC_DECL void key_value_engine::queue_push(std::string_view key, std::string_view item) {
  std::unique_lock lock(mutex_);
  refuse_if_full();
  grow(key.size() + item.size(), 0);
  ++queued_items_;
  queues_[std::string(key)].emplace_back(item);
  wake_one(key);
  deliver(lock);
}

ELASTIC_DECL std::optional<std::string> key_value_engine::queue_pop(std::string_view key,
                                                                    std::int64_t& length) {
  const std::lock_guard lock(mutex_);
  length = 0;
  const auto entry = queues_.find(key);
  if (entry == queues_.end()) return std::nullopt;
  length = static_cast<std::int64_t>(entry->second.size());
  std::string item = std::move(entry->second.front());
  entry->second.pop_front();
  --queued_items_;
  grow(0, entry->first.size() + item.size());
  if (entry->second.empty()) queues_.erase(entry);
  return item;
}

ELASTIC_DECL std::int64_t key_value_engine::queue_length(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto entry = queues_.find(key);
  return entry == queues_.end() ? 0 : static_cast<std::int64_t>(entry->second.size());
}

// Delivers outside of the lock, because a listener may call back. A call that finds a delivery in
// progress leaves its notices to it, which keeps their order.
ELASTIC_DECL void key_value_engine::deliver(std::unique_lock<std::mutex>& lock) {
  if (notices_.empty() || delivering_) return;
  delivering_ = true;
  while (!notices_.empty()) {
    const notice next = std::move(notices_.front());
    notices_.pop_front();
    lock.unlock();
    if (const auto who = next.who.lock()) {
      if (next.news) {
        who->on_change(next.news);
      } else {
        who->on_ready(next.wait);
      }
    }
    lock.lock();
  }
  delivering_ = false;
}

ELASTIC_DECL std::size_t key_value_engine::waiters() const {
  const std::lock_guard lock(mutex_);
  return waits_.size();
}

ELASTIC_DECL std::size_t key_value_engine::watchers() const {
  const std::lock_guard lock(mutex_);
  return watches_.size();
}

ELASTIC_DECL std::size_t key_value_engine::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace elastic::detail
