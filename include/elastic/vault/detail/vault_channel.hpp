// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/vault/detail/vault_message.hpp>

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// The vault's end of the connections to this node's workers: a Unix socket that carries packets
/// and passes files. The kernel names the sender of each packet. So the vault does not mistake a
/// process that a worker has forked, and that shares its connection, for the worker.
///
/// Whatever a worker sends, it can neither block nor crash the agent: a connection that violates
/// the protocol, or does not read its answers, is closed.
/// Thread-safety: one strand at a time, the one it was given.
class vault_channel {
 public:
  struct options {
    /// Finds the local rank of a running worker by its pid.
    std::function<std::optional<int>(pid_t)> owner;
    /// Carries out a request. Result: the answer; an empty packet if the request has none.
    std::function<task<vault_answer>(int local_rank, vault_request)> carry_out;
    logger log;
    std::shared_ptr<time_source> time;
    /// The largest number of open connections.
    std::size_t most_connections = 1;
  };

  /// Opens the socket; connections wait until `serve` or `close_waiting` is called.
  /// Errors: `errc::start_failed`.
  ELASTIC_DECL vault_channel(asio::any_io_executor strand, options settings);
  vault_channel(const vault_channel&) = delete;
  vault_channel& operator=(const vault_channel&) = delete;

  /// "@elastic-vault-…".
  const std::string& address() const { return address_; }

  /// Serves the workers. When it ends, it closes their connections.
  /// Cancellation: all types; nothing else ends it.
  ELASTIC_DECL task<void> serve() &;

  /// Closes the waiting connections while no worker is served. Their requests belong to the epoch
  /// that has ended: a worker that survives may have sent them before it learned of the end.
  ELASTIC_DECL void close_waiting();

 private:
  struct packet {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    packet() = default;
    std::string text;
    pid_t sender = 0;
  };
  enum class reading { got, nothing, ended };

  ELASTIC_DECL int accept();
  ELASTIC_DECL task<void> accept_all(task_group& connections);
  ELASTIC_DECL task<void> attend(asio::posix::stream_descriptor peer);
  ELASTIC_DECL reading read(int peer, packet& next);
  ELASTIC_DECL task<bool> take(int peer, packet next);
  ELASTIC_DECL bool send(int peer, const vault_answer& answer);
  ELASTIC_DECL void complain(const std::string& problem);

  asio::any_io_executor strand_;
  options options_;
  std::string address_;
  asio::posix::stream_descriptor listener_;
  int complaints_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/detail/vault_channel.ipp>
#endif
