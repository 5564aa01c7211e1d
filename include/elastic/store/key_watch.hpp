// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/store/detail/store_keys.hpp>
#include <elastic/store/key_value_engine.hpp>

#include <memory>
#include <string>
#include <utility>

namespace elastic {

/// Tells a coroutine when one key changes of a table in this process, such as that of a server:
///
///     key_watch watch(executor, server.engine(), "key");
///     while (watch.value() == known) co_await watch.changed();
///
/// Thread-safety: one strand at a time, whoever changes the key.
class key_watch {
 public:
  /// @param key  as users of a store name it
  key_watch(asio::any_io_executor executor, std::shared_ptr<key_value_engine> engine,
            const std::string& key)
      : engine_(std::move(engine)),
        key_(detail::store_wire_key(key)),
        changed_(executor),
        listening_(std::make_shared<listener>(executor, changed_)),
        id_(engine_->watch(key_, listening_)) {}
  ~key_watch() {
    engine_->unwatch(id_);
    listening_->forget();
  }
  key_watch(const key_watch&) = delete;
  key_watch& operator=(const key_watch&) = delete;

  /// The value at present; empty where there is none.
  std::string value() const { return engine_->find(key_).value_or(std::string()); }

  /// Waits for a change after the last that was waited for.
  /// Cancellation: all types, no effect.
  task<void> changed() {
    co_await changed_.wait();
    changed_.reset();
  }

 private:
  // The flag is the watch's own, and taken away with it: a notice may still be under way then.
  class listener final : public key_value_engine::listener,
                         public std::enable_shared_from_this<listener> {
   public:
    listener(asio::any_io_executor executor, event_flag& flag)
        : executor_(std::move(executor)), flag_(&flag) {}

    void on_ready(key_value_engine::wait_id) noexcept override {}
    void on_change(const key_value_engine::change&) noexcept override {
      asio::post(executor_, [self = shared_from_this()] {
        if (self->flag_ != nullptr) self->flag_->set();
      });
    }

    void forget() { flag_ = nullptr; }

   private:
    asio::any_io_executor executor_;
    event_flag* flag_;
  };

  std::shared_ptr<key_value_engine> engine_;
  std::string key_;
  event_flag changed_;
  std::shared_ptr<listener> listening_;
  key_value_engine::wait_id id_;
};

}  // namespace elastic
