// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/detail/key_value_engine.hpp>

#include <memory>
#include <string>

namespace elastic::detail {

/// Reports changes of one key of a table in this process, such as that of a server:
///
///     key_watch watch(executor, server.engine(), "key");
///     while (watch.value() == known) co_await watch.changed();
///
/// Thread-safety: one strand at a time; any thread may change the key.
class key_watch {
 public:
  /// @param key  as users of a store name it
  ELASTIC_DECL key_watch(asio::any_io_executor executor, std::shared_ptr<key_value_engine> engine,
                         const std::string& key);
  ELASTIC_DECL ~key_watch();
  key_watch(const key_watch&) = delete;
  key_watch& operator=(const key_watch&) = delete;

  /// The current value; empty if there is none.
  ELASTIC_DECL std::string value() const;

  /// Waits for a change since the last call returned.
  /// Cancellation: all types, no effect.
  ELASTIC_DECL task<void> changed();

 private:
  // The flag belongs to the watch. A notice that is still under way when the watch is destroyed
  // must not touch it.
  class listener final : public key_value_engine::listener,
                         public std::enable_shared_from_this<listener> {
   public:
    ELASTIC_DECL listener(asio::any_io_executor executor, event_flag& flag);

    void on_ready(key_value_engine::wait_id) noexcept override {}
    ELASTIC_DECL void on_change(const key_value_engine::change_pointer&) noexcept override;

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

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/key_watch.ipp>
#endif
