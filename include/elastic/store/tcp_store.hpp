// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/store/detail/tcp_store_link.hpp>
#include <elastic/store/detail/tcp_store_protocol.hpp>
#include <elastic/store/key_list.hpp>
#include <elastic/store/key_value_list.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/tcp_store_generation.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/// A client of a TCPStore server, this library's or PyTorch's.
///
/// Concurrent operations use separate connections, so that one that waits does not block others.
/// Connections are reused, unless they were idle for longer than `limits::store_idle_connection` or
/// the server has closed them. A change has reached the server when its operation returns. If a
/// connection breaks, the operation that uses it fails; the next operation reconnects.
///
/// A cancelled wait is withdrawn at the server; with a server before 2.1, which does not support
/// that, the connection is closed instead.
///
/// `probe` sends a request of PyTorch 2.4, and then one of 1.13. If neither is answered, the server
/// is assumed to be 2.2 or 2.3. It cannot distinguish 1.13 from 2.1, and then uses only requests
/// that both know.
///
/// Thread-safety: one strand at a time.
class ELASTIC_EXPORT tcp_store final : public store {
 public:
  /// How a tcp_store reaches its server.
  struct options {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    options() = default;

    /// A name or an address.
    std::string host = "127.0.0.1";
    std::uint16_t port = 29500;
    /// The server's protocol: `torch_2_2` for this library's server and current releases of
    /// PyTorch.
    tcp_store_generation generation = tcp_store_generation::torch_2_2;
    /// Whether the first connection registers this process, so that a PyTorch server counts it in
    /// `wait_for_workers`.
    bool announce_worker = false;
    /// The largest value that is accepted from the server.
    std::size_t value_bytes = limits::store_value_bytes;
    /// With `generation = probe`: how long the server may take for each answer.
    std::chrono::milliseconds probe_silence{500};
    /// The job's secret: only a server that has the same one is used; empty: only a server without
    /// a secret.
    std::optional<job_secret> secret;
    logger log;
    /// Null: the system clock.
    std::shared_ptr<time_source> time;
  };

  /// Does not connect; `connect` or the first operation does.
  ELASTIC_DECL tcp_store(asio::any_io_executor executor, options settings);

  ~tcp_store() override { close(); }

  tcp_store(const tcp_store&) = delete;
  tcp_store& operator=(const tcp_store&) = delete;

  /// Connects, and retries as long as the server cannot be reached. Limit it with `with_deadline`,
  /// and report `last_problem()` after the deadline.
  ///
  /// Errors: `errc::protocol_violation` if the server speaks another protocol, `errc::stopped`,
  /// `errc::invalid_argument` if only one side has a secret, or the secrets differ.
  /// Cancellation: all types.
  ELASTIC_DECL task<void> connect();

  /// Why the last attempt to connect failed or what it waits for; empty before the first.
  const std::string& last_problem() const { return last_problem_; }

  /// The protocol in use; `probe` until it is known.
  tcp_store_generation generation() const { return generation_; }

  /// Waits until this many processes have registered, like PyTorch's `wait_for_workers` in the
  /// process that hosts the store.
  /// Cancellation: all types, no effect.
  ELASTIC_DECL task<void> wait_for_workers(std::int64_t world_size);

  /// The existing keys, in no particular order; only keys of PyTorch's clients are included.
  /// Errors: `errc::not_supported` if the server is older than 2.2 (one older than 2.13 may
  /// disconnect instead, `errc::connection_failed`), `errc::protocol_violation` if there are more
  /// than `limits::store_keys_per_request`.
  /// Cancellation: all types, no effect.
  ELASTIC_DECL task<std::vector<std::string>> list_keys();

  /// Closes every connection; running and later operations end with `errc::stopped`.
  ELASTIC_DECL void close();
  ELASTIC_DECL task<void> set(std::string key, std::string value) override;
  ELASTIC_DECL task<std::string> get(std::string key) override;
  ELASTIC_DECL task<std::int64_t> add(std::string key, std::int64_t delta) override;
  ELASTIC_DECL task<std::string> compare_set(std::string key, std::string expected,
                                             std::string desired) override;
  ELASTIC_DECL task<void> wait(key_list keys) override;
  ELASTIC_DECL task<bool> check(key_list keys) override;
  ELASTIC_DECL task<bool> erase(std::string key) override;
  ELASTIC_DECL task<std::int64_t> num_keys() override;
  ELASTIC_DECL task<void> append(std::string key, std::string value) override;
  ELASTIC_DECL task<std::vector<std::string>> multi_get(key_list keys) override;
  ELASTIC_DECL task<void> multi_set(key_value_list pairs) override;

 private:
  using link = detail::tcp_store_link;
  using op = detail::store_op;

  // One connection while one operation uses it. It becomes available to others only if `keep` was
  // called: otherwise a reply may still be due on it.
  class lease {
   public:
    ELASTIC_DECL lease(tcp_store& owner, std::unique_ptr<link> held);
    ELASTIC_DECL lease(lease&& other) noexcept;
    lease& operator=(lease&&) = delete;
    ELASTIC_DECL ~lease();
    link* operator->() const { return held_.get(); }
    void keep() { keep_ = true; }

   private:
    tcp_store* of_;
    std::unique_ptr<link> held_;
    bool keep_ = false;
  };

  detail::request_writer write() const { return detail::request_writer(generation_); }
  ELASTIC_DECL std::string where() const;
  ELASTIC_DECL task<lease> any_link();

  // A recently used link that the server has not closed; null if there is none.
  ELASTIC_DECL std::unique_ptr<link> take_idle_link();
  ELASTIC_DECL task<lease> new_link();
  ELASTIC_DECL task<lease> dial();
  ELASTIC_DECL task<std::vector<asio::ip::tcp::endpoint>> addresses();
  ELASTIC_DECL task<void> probe();
  ELASTIC_DECL task<void> confirm(lease& connection);
  [[noreturn]] ELASTIC_DECL void throw_no_store(char reply) const;
  ELASTIC_DECL task<void> announce(lease& connection);

  template <class T>
  task<T> guarded(task<T> work, const char* operation);
  [[noreturn]] ELASTIC_DECL void throw_translated(const detail::asio_system_error& failure,
                                                  const char* operation);
  ELASTIC_DECL task<void> explain_refused_add(std::string key);
  ELASTIC_DECL task<void> do_set(std::string key, std::string value);
  ELASTIC_DECL task<std::string> do_get(std::string key);
  ELASTIC_DECL task<std::int64_t> do_add(std::string key, std::int64_t delta);
  ELASTIC_DECL task<std::string> do_compare_set(std::string key, std::string expected,
                                                std::string desired);
  ELASTIC_DECL task<void> do_wait(key_list keys);
  ELASTIC_DECL task<bool> do_check(key_list keys);
  ELASTIC_DECL task<bool> do_erase(std::string key);
  ELASTIC_DECL task<std::int64_t> do_num_keys();
  ELASTIC_DECL task<std::vector<std::string>> do_list_keys();
  ELASTIC_DECL task<void> do_append(std::string key, std::string value);
  ELASTIC_DECL task<std::vector<std::string>> do_multi_get(key_list keys);
  ELASTIC_DECL task<void> do_multi_set(key_value_list pairs);
  ELASTIC_DECL task<void> wait_on(lease& connection, const std::vector<std::string>& keys);

  asio::any_io_executor executor_;
  options options_;
  tcp_store_generation generation_;
  std::vector<std::unique_ptr<link>> idle_;
  std::vector<link*> in_use_;
  std::string last_problem_;
  bool is_announced_ = false;
  bool is_closed_ = false;
};

// ---- errors ---------------------------------------------------------------------------------

template <class T>
task<T> tcp_store::guarded(task<T> work, const char* operation) {
  try {
    co_return co_await std::move(work);
  } catch (const error&) {
    throw;
  } catch (const detail::asio_system_error& failure) {
    throw_translated(failure, operation);
  }
}

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/impl/tcp_store.ipp>
#endif
