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

/// The client of a TCPStore server, ours or PyTorch's.
///
/// Each operation that runs at the same time as another has a connection of its own, so that one
/// that waits holds up none; connections are kept and used again, unless they were idle for longer
/// than `limits::store_idle_connection` or the server has closed them. A change has reached the
/// server when its operation returns. A connection that breaks fails the operation that uses it;
/// the next operation connects again.
///
/// A wait that is cancelled is taken back at the server; if the server is of before 2.1, which
/// cannot, by closing the connection.
///
/// `probe` asks as PyTorch 2.4 does, then as 1.13 does, and takes silence or a hang-up at both for
/// a server of 2.2 or 2.3. It cannot tell 1.13 from 2.1 and uses the requests that both know.
///
/// Thread-safety: one strand at a time.
class tcp_store final : public store {
 public:
  /// How a tcp_store reaches its server.
  struct options {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    options() = default;

    /// A name or an address.
    std::string host = "127.0.0.1";
    std::uint16_t port = 29500;
    /// What the server understands: `torch_2_2` for our own and PyTorch's of today.
    tcp_store_generation generation = tcp_store_generation::torch_2_2;
    /// Whether the first connection counts this process among those that a PyTorch server waits for
    /// (its `wait_for_workers`).
    bool announce_worker = false;
    /// The largest value that is taken from the server.
    std::size_t value_bytes = limits::store_value_bytes;
    /// With `generation = probe`: how long the server may take for each answer.
    std::chrono::milliseconds probe_silence{500};
    /// Only a server that holds it is spoken with; none: one that has none.
    std::optional<job_secret> secret;
    logger log;
    /// Empty: the clocks of the machine.
    std::shared_ptr<time_source> time;
  };

  /// Does not connect: `connect` does, or the first operation.
  ELASTIC_DECL tcp_store(asio::any_io_executor executor, options settings);

  ~tcp_store() override { close(); }

  tcp_store(const tcp_store&) = delete;
  tcp_store& operator=(const tcp_store&) = delete;

  /// Connects, and tries again for as long as the server cannot be reached: bound it by
  /// `with_deadline`, and say `last_problem()` when that passes.
  ///
  /// Errors: `errc::protocol_violation` if something else answers, `errc::stopped`,
  /// `errc::invalid_argument` if only one of both sides has a secret, or each another one.
  /// Cancellation: all types.
  ELASTIC_DECL task<void> connect();

  /// Why the last attempt to connect failed or what it waits for; empty before one.
  const std::string& last_problem() const { return last_problem_; }

  /// What is spoken with the server; `probe` until it was found out.
  tcp_store_generation generation() const { return generation_; }

  /// Waits until so many processes have announced themselves, as PyTorch's `wait_for_workers` of
  /// the process that hosts the store.
  /// Cancellation: all types, no effect.
  ELASTIC_DECL task<void> wait_for_workers(std::int64_t world_size);

  /// The keys that are there, in no order: those of others than PyTorch's clients are left out.
  /// Errors: `errc::not_supported` if the server is of before 2.2 (one of before 2.13 may hang up
  /// instead, `errc::connection_failed`), `errc::protocol_violation` if they are more than
  /// `limits::store_keys_per_request`.
  /// Cancellation: all types, no effect.
  ELASTIC_DECL task<std::vector<std::string>> list_keys();

  /// Closes every connection; operations that run end with `errc::stopped`, as do later ones.
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

  // The use of one connection by one operation. It goes back to the others only when `keep` was
  // called: else a reply may be due on it.
  class lease {
   public:
    ELASTIC_DECL lease(tcp_store& of, std::unique_ptr<link> held);
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

  // One that was used lately and that the server has not closed; null if there is none.
  ELASTIC_DECL std::unique_ptr<link> take_idle_link();
  ELASTIC_DECL task<lease> new_link();
  ELASTIC_DECL task<lease> dial();
  ELASTIC_DECL task<std::vector<asio::ip::tcp::endpoint>> addresses();
  ELASTIC_DECL task<void> probe();
  ELASTIC_DECL task<void> confirm(lease& on);
  [[noreturn]] ELASTIC_DECL void throw_no_store(char reply) const;
  ELASTIC_DECL task<void> announce(lease& on);

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
  ELASTIC_DECL task<void> wait_on(lease& on, const std::vector<std::string>& keys);

  asio::any_io_executor executor_;
  options options_;
  tcp_store_generation generation_;
  std::vector<std::unique_ptr<link>> idle_;
  std::vector<link*> in_use_;
  std::string last_problem_;
  bool is_announced_ = false;
  bool is_closed_ = false;
};

// ---- connections ----------------------------------------------------------------------------

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

// ---- operations -----------------------------------------------------------------------------

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/impl/tcp_store.ipp>
#endif
