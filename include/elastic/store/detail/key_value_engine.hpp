// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace elastic::detail {

class store_meter;

/// The table behind a store, with the operations of PyTorch's TCPStore: values, queues, and the
/// listeners that wait for keys or watch them. Does no I/O. `memory_store` and `tcp_store_server`
/// give access to it, and may share one.
///
/// Keys are those on the wire: a client of PyTorch puts "/" before its user's key.
///
/// Errors of every operation that stores something: `errc::invalid_argument` if the table would
/// exceed its bound, or a value would exceed `limits::store_value_bytes`.
/// Thread-safety: every member may be called from any thread. Listeners are called by the thread
/// that made the change, after it is done and in the order of the changes.
class key_value_engine {
 public:
  /// Identifies one wait or watch; 0: none.
  using wait_id = std::uint64_t;

  enum class change_kind : std::uint8_t { updated = 0, created = 1, removed = 2 };

  /// A change of a watched key; all watchers get the same object.
  struct change {
    change_kind kind = change_kind::updated;
    std::string key;
    std::string old_value;
    std::string new_value;
  };

  using change_pointer = std::shared_ptr<const change>;

  /// Waits for keys or watches them. Called once for each wait that was not cancelled; a call may
  /// still arrive during the cancellation.
  class listener {
   public:
    virtual ~listener() = default;
    virtual void on_ready(wait_id wait) noexcept = 0;
    virtual void on_change(const change_pointer&) noexcept {}
  };

  /// @param max_bytes  the limit for all keys and values together
  ELASTIC_DECL explicit key_value_engine(std::size_t max_bytes = limits::store_total_bytes);

  /// Sets the meter of the servers of this table. Call it before any server uses the table.
  void count_by(std::shared_ptr<store_meter> meter) { meter_ = std::move(meter); }
  /// Null: nothing is counted.
  store_meter* meter() const { return meter_.get(); }

  key_value_engine(const key_value_engine&) = delete;
  key_value_engine& operator=(const key_value_engine&) = delete;
  ELASTIC_DECL void set(std::string_view key, std::string_view value);

  /// Stores every value under its key, in this order. If it throws, the earlier pairs are stored.
  ELASTIC_DECL void set_all(std::span<const std::pair<std::string_view, std::string_view>> pairs);

  /// Appends to the value, which is created if it is missing.
  ELASTIC_DECL void append(std::string_view key, std::string_view value);

  /// The value, empty if there is none.
  ELASTIC_DECL std::optional<std::string> find(std::string_view key) const;

  /// Passes the value to `use(std::string_view)`. Result: whether there is one. `use` runs under
  /// the lock of this table and must not call into it.
  template <class Use>
  bool read(std::string_view key, Use use) const {
    const std::lock_guard lock(mutex_);
    const auto entry = values_.find(key);
    if (entry == values_.end()) return false;
    use(std::string_view(entry->second));
    return true;
  }

  /// Adds to the decimal number under `key` (missing: 0). It is parsed as by `strtoll`: leading
  /// whitespace and trailing text are ignored, and lost. The sum wraps around.
  /// Errors: `errc::store_value` if the value does not begin with a 64-bit number.
  ELASTIC_DECL std::int64_t add(std::string_view key, std::int64_t delta);

  /// Stores `desired` if the value equals `expected`; a missing key equals the empty text.
  /// Result: what is stored afterwards, `expected` if nothing is.
  ELASTIC_DECL std::string compare_set(std::string_view key, std::string_view expected,
                                       std::string_view desired);

  /// Whether every key has a value or a queue that is not empty.
  ELASTIC_DECL bool check(std::span<const std::string_view> keys) const;

  /// Waits for every key to have a value, or an item in its queue. A key that is removed again
  /// meanwhile counts as seen.
  /// Result: 0 if all have one already; then `who` is not notified.
  ELASTIC_DECL wait_id wait(std::span<const std::string_view> keys, std::weak_ptr<listener> who);

  /// Adds 1 to the number under `key`, and waits until `world` callers have done so.
  /// Result: 0 if they have; then all waiting listeners are notified.
  /// Errors: `errc::store_value`.
  ELASTIC_DECL wait_id barrier(std::string_view key, std::int64_t world,
                               std::weak_ptr<listener> who);

  /// Ends a wait. Result: whether it was still pending.
  ELASTIC_DECL bool cancel(wait_id wait);

  /// Notifies `who` of every change of the key's value until `unwatch`.
  ELASTIC_DECL wait_id watch(std::string_view key, std::weak_ptr<listener> who);
  ELASTIC_DECL void unwatch(wait_id watch);

  /// Result: whether there was a value.
  ELASTIC_DECL bool erase(std::string_view key);

  /// The number of values; queues do not count.
  ELASTIC_DECL std::int64_t num_keys() const;

  /// Passes every key that has a value to `use(std::string_view)`, in no particular order, under
  /// the lock.
  template <class Use>
  void for_each_key(Use use) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, value] : values_) use(std::string_view(key));
  }

  /// Appends an item to the queue and notifies at most one listener that waits for the key.
  ELASTIC_DECL void queue_push(std::string_view key, std::string_view item);

  /// The oldest item; empty if there is none. `length` receives the length before the removal.
  ELASTIC_DECL std::optional<std::string> queue_pop(std::string_view key, std::int64_t& length);
  ELASTIC_DECL std::int64_t queue_length(std::string_view key) const;

  /// The number of pending waits, of watches, and of bytes held.
  ELASTIC_DECL std::size_t waiters() const;
  ELASTIC_DECL std::size_t watchers() const;
  ELASTIC_DECL std::size_t bytes() const;

 private:
  struct text_hash {
    using is_transparent = void;
    ELASTIC_DECL std::size_t operator()(std::string_view text) const;
  };
  template <class T>
  using table = std::unordered_map<std::string, T, text_hash, std::equal_to<>>;

  // A wait is registered once for every key that it still misses. Each registration knows its index
  // in the wait, so that either side can drop the other in constant time.
  struct pending_wait;
  struct registration {
    pending_wait* wait = nullptr;
    std::size_t index = 0;
  };
  using registrations = std::list<registration>;
  using waiting_key = table<registrations>::value_type;
  struct place {
    waiting_key* key = nullptr;
    registrations::iterator position;
  };
  struct pending_wait {
    wait_id id = 0;
    std::size_t missing = 0;
    std::vector<place> places;
    std::weak_ptr<listener> who;
  };
  struct watch_entry {
    wait_id id = 0;
    std::weak_ptr<listener> who;
  };
  struct notice {
    std::weak_ptr<listener> who;
    wait_id wait = 0;
    change_pointer news;
  };

  ELASTIC_DECL bool exists(std::string_view key) const;
  ELASTIC_DECL void grow(std::size_t added, std::size_t removed);
  ELASTIC_DECL void refuse_if_full() const;
  ELASTIC_DECL void store(std::string_view key, std::string_view value);
  ELASTIC_DECL void store_number(std::string_view key, std::int64_t number);
  ELASTIC_DECL std::int64_t number_of(std::string_view key) const;
  ELASTIC_DECL void announce_change(change_kind kind, std::string_view key,
                                    std::string_view old_value, std::string_view new_value);
  ELASTIC_DECL pending_wait& new_wait(std::weak_ptr<listener> who);
  ELASTIC_DECL void register_for(pending_wait& wait, std::string_view key);
  ELASTIC_DECL void count_down(registration entry);
  ELASTIC_DECL void wake_all(std::string_view key);
  ELASTIC_DECL void wake_one(std::string_view key);
  ELASTIC_DECL void deliver(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  table<std::string> values_;
  table<std::deque<std::string>> queues_;
  table<registrations> waiting_;
  table<std::vector<watch_entry>> watching_;
  std::unordered_map<wait_id, pending_wait> waits_;
  std::unordered_map<wait_id, std::string> watches_;
  std::deque<notice> notices_;
  bool delivering_ = false;
  wait_id last_id_ = 0;
  std::size_t bytes_ = 0;
  std::size_t queued_items_ = 0;
  const std::size_t max_bytes_;
  std::shared_ptr<store_meter> meter_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/key_value_engine.ipp>
#endif
