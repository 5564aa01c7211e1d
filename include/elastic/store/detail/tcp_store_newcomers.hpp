// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace elastic::detail {

/// The clients of a server whose first message is incomplete, or a later one to the server's
/// extension that takes much memory. Anybody can connect and send half a message, so their number,
/// time and memory are limited. Above a limit, the oldest is
/// disconnected, or the largest if it uses more than `limits::store_newcomer_share`. If the oldest
/// is still within its head start, the client that wants more is disconnected instead: when many
/// agents connect at once, the first ones can then complete their handshakes.
///
/// Thread-safety: one strand at a time.
class tcp_store_newcomers {
 public:
  enum class problem { is_late, are_many, hold_much };

  /// Enough for a handshake.
  static constexpr std::chrono::seconds handshake_time{1};

  class client {
   public:
    /// Ends the connection. The client is no longer a newcomer.
    virtual void evict(problem why) = 0;

   protected:
    ~client() = default;
  };

  /// @param most        how many there may be
  /// @param begun       called for the first one
  /// @param head_start  how long no other client displaces one that uses little
  ELASTIC_DECL tcp_store_newcomers(std::shared_ptr<time_source> time, std::size_t most,
                                   std::function<void()> begun, duration head_start);

  /// Notes how much a client uses, and starts its time if it is new. Then disconnects clients until
  /// the limits are met, possibly this one.
  ELASTIC_DECL void set(client& holder, std::size_t bytes);

  /// The client has completed its first message, or is gone. Does nothing if it is unknown.
  ELASTIC_DECL void remove(client& holder);

  /// When the time of the next client ends; empty if there are no newcomers.
  ELASTIC_DECL std::optional<time_point> next_deadline() const;

  /// Disconnects the clients whose time is over.
  ELASTIC_DECL void end_late();

  std::size_t count() const { return entries_.size(); }
  std::size_t held() const { return held_; }

 private:
  struct entry {
    client* who;
    std::size_t bytes;
    time_point deadline;
  };
  using position = std::list<entry>::iterator;

  ELASTIC_DECL position oldest_or(position asking);
  ELASTIC_DECL position largest_or_oldest_or(position asking);
  ELASTIC_DECL void evict(position which, problem why);

  std::shared_ptr<time_source> time_;
  const std::size_t most_;
  std::function<void()> begun_;
  const duration head_start_;
  // The oldest first.
  std::list<entry> entries_;
  std::unordered_map<client*, position> positions_;
  std::size_t held_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/tcp_store_newcomers.ipp>
#endif
