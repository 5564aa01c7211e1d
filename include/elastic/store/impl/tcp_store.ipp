// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/tcp_store.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/net/detail/secure_session.hpp>
#include <elastic/store/detail/store_keys.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline constexpr std::uint32_t largest_nonce = 0xFFFFFFFF;
inline constexpr char byte_of_largest_nonce = '\xFF';

/// The first byte of the server's reply to a request; empty if it closes the connection or stays
/// silent.
inline task<std::optional<char>> first_reply(task<void> sending, task<char> reading,
                                             time_source& time, duration silence) {
  try {
    co_await std::move(sending);
    co_return co_await with_deadline(time, time.now() + silence, std::move(reading));
  } catch (const asio_system_error& failure) {
    const bool hung_up = failure.code() == asio::error::eof ||
                         failure.code() == asio::error::connection_reset ||
                         failure.code() == asio::error::broken_pipe;
    if (!hung_up) throw;
  }
  co_return std::nullopt;
}

}  // namespace detail

ELASTIC_DECL tcp_store::tcp_store(asio::any_io_executor executor, options settings)
    : executor_(std::move(executor)),
      options_(std::move(settings)),
      generation_(options_.generation) {
  if (!options_.time) options_.time = detail::new_shared<system_time>();
}

ELASTIC_DECL tcp_store::lease::lease(tcp_store& owner, std::unique_ptr<link> held)
    : of_(&owner), held_(std::move(held)) {
  of_->in_use_.push_back(held_.get());
}

ELASTIC_DECL tcp_store::lease::lease(lease&& other) noexcept
    : of_(other.of_), held_(std::move(other.held_)), keep_(other.keep_) {}

ELASTIC_DECL tcp_store::lease::~lease() {
  if (!held_) return;
  std::erase(of_->in_use_, held_.get());
  if (!keep_ || of_->is_closed_) return;
  held_->used_at = of_->options_.time->now();
  of_->idle_.push_back(std::move(held_));
}

ELASTIC_DECL std::string tcp_store::where() const {
  return to_text(elastic::endpoint{options_.host, options_.port});
}

ELASTIC_DECL void tcp_store::close() {
  is_closed_ = true;
  idle_.clear();
  for (link* each : in_use_) each->close();
}

ELASTIC_DECL task<void> tcp_store::connect() {
  constexpr std::chrono::milliseconds first_pause{20};
  constexpr std::chrono::milliseconds longest_pause{500};
  for (auto pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    bool is_connected = false;
    try {
      lease connection = co_await guarded(any_link(), "connecting");
      connection.keep();
      is_connected = true;
    } catch (const error& failure) {
      if (failure.code() != errc::connection_failed) throw;
      if (last_problem_ != failure.what()) {
        options_.log.debug("{}; trying again", failure.what());
      }
      last_problem_ = failure.what();
    }
    if (is_connected) break;
    co_await options_.time->sleep_until(options_.time->now() + pause);
  }
  last_problem_.clear();
}

ELASTIC_DECL task<tcp_store::lease> tcp_store::any_link() {
  if (is_closed_) throw error(errc::stopped, "the store was closed");
  std::unique_ptr<link> idle = take_idle_link();
  if (idle) co_return lease(*this, std::move(idle));
  co_return co_await new_link();
}

ELASTIC_DECL std::unique_ptr<tcp_store::link> tcp_store::take_idle_link() {
  const time_point oldest = options_.time->now() - limits::store_idle_connection;
  while (!idle_.empty()) {
    std::unique_ptr<link> last = std::move(idle_.back());
    idle_.pop_back();
    if (last->used_at >= oldest && last->is_open()) return last;
  }
  return nullptr;
}

ELASTIC_DECL task<tcp_store::lease> tcp_store::new_link() {
  if (generation_ == tcp_store_generation::probe) co_await probe();
  lease connection = co_await dial();
  write().greeting(connection->out());
  // One round trip shows that the server is a store of that generation.
  last_problem_ = fmt::format(
      "{} does not answer; is it a store, and one of the PyTorch generation that was configured?",
      where());
  co_await confirm(connection);
  last_problem_.clear();
  if (options_.announce_worker && !is_announced_) co_await announce(connection);
  co_return connection;
}

ELASTIC_DECL task<tcp_store::lease> tcp_store::dial() {
  lease on(*this, std::make_unique<link>(executor_));
  co_await on->connect(co_await addresses());
  if (options_.secret) {
    std::string problem;
    try {
      co_await on->secure(*options_.secret);
    } catch (const error& refused) {
      if (refused.code() != errc::invalid_argument) throw;
      problem = refused.what();
    }
    if (!problem.empty()) {
      throw error(errc::invalid_argument, fmt::format("{}: {}", where(), problem));
    }
  }
  if (is_closed_) throw error(errc::stopped, "the store was closed");
  co_return on;
}

ELASTIC_DECL task<std::vector<asio::ip::tcp::endpoint>> tcp_store::addresses() {
  std::vector<asio::ip::tcp::endpoint> list;
  detail::asio_error_code failure;
  const auto literal = asio::ip::make_address(options_.host, failure);
  if (!failure) {
    list.emplace_back(literal, options_.port);
  } else if (options_.host == "localhost") {
    list.emplace_back(asio::ip::address_v4::loopback(), options_.port);
    list.emplace_back(asio::ip::address_v6::loopback(), options_.port);
  } else {
    const auto resolved = co_await detail::resolve_addresses(options_.host);
    for (const auto& address : resolved) list.emplace_back(address, options_.port);
  }
  co_return list;
}

// This library's server answers a ping, as PyTorch's do since 2.4. A server before 2.2 takes it for
// a text that is longer than possible, and closes the connection; but it answers a check of no
// keys. A server of 2.2 or 2.3 closes the connection on that, or stays silent if it uses libuv.
ELASTIC_DECL task<void> tcp_store::probe() {
  const detail::request_writer as_2_2(tcp_store_generation::torch_2_2);
  lease modern = co_await dial();
  as_2_2.greeting(modern->out());
  as_2_2.ping(modern->out(), detail::largest_nonce);
  const std::optional<char> echo =
      co_await detail::first_reply(modern->flush(), modern->read_byte(), *options_.time,
                                   options_.probe_silence);
  if (echo && *echo != detail::byte_of_largest_nonce) throw_no_store(*echo);
  if (echo) {
    generation_ = tcp_store_generation::torch_2_2;
    co_return;
  }
  const detail::request_writer as_1_13(tcp_store_generation::torch_1_13);
  const std::vector<std::string> no_keys;
  lease legacy = co_await dial();
  as_1_13.with_keys(legacy->out(), op::check, no_keys);
  const std::optional<char> answer =
      co_await detail::first_reply(legacy->flush(), legacy->read_byte(), *options_.time,
                                   options_.probe_silence);
  if (answer && *answer != detail::reply_ready) throw_no_store(*answer);
  generation_ = answer ? tcp_store_generation::torch_1_13 : tcp_store_generation::torch_2_2;
}

// When this returns, the server has executed everything sent before on this connection.
ELASTIC_DECL task<void> tcp_store::confirm(lease& connection) {
  const std::vector<std::string> no_keys;
  write().with_keys(connection->out(), op::check, no_keys);
  co_await connection->flush();
  const char reply = co_await connection->read_byte();
  if (reply != detail::reply_ready) throw_no_store(reply);
}

ELASTIC_DECL void tcp_store::throw_no_store(char reply) const {
  // The first byte of the alert with which a server with a secret rejects others.
  if (reply == detail::secret_needed_alert().front()) {
    throw error(errc::invalid_argument,
                fmt::format("{}: {}", where(), detail::own_secret_is_missing));
  }
  throw error(errc::protocol_violation, fmt::format("{} is not a TCPStore", where()));
}

ELASTIC_DECL task<void> tcp_store::announce(lease& connection) {
  write().with_number(connection->out(), op::add, detail::workers_key, 1);
  co_await connection->flush();
  co_await connection->read_number();
  is_announced_ = true;
}

ELASTIC_DECL task<void> tcp_store::wait_for_workers(std::int64_t world_size) {
  // The client has to poll: no operation waits for a number.
  constexpr std::chrono::milliseconds pause{10};
  for (;;) {
    task<lease> connecting = any_link();
    lease connection = co_await guarded(std::move(connecting), "waiting for the workers");
    write().with_number(connection->out(), op::add, detail::workers_key, 0);
    task<void> sending = connection->flush();
    co_await guarded(std::move(sending), "waiting for the workers");
    task<std::int64_t> reading = connection->read_number();
    const std::int64_t count = co_await guarded(std::move(reading), "waiting for the workers");
    connection.keep();
    if (count >= world_size) co_return;
    co_await options_.time->sleep_until(options_.time->now() + pause);
  }
}

ELASTIC_DECL void tcp_store::throw_translated(const detail::asio_system_error& failure,
                                              const char* operation) {
  if (is_closed_) throw error(errc::stopped, "the store was closed");
  if (failure.code() == asio::error::operation_aborted) throw failure;
  // The cause has most likely broken the idle connections, too.
  idle_.clear();
  throw error(errc::connection_failed,
              fmt::format("the store at {} cannot be reached or hung up ({}: {})", where(),
                          operation, failure.code().message()));
}

// The protocol can refuse an addition only by closing the connection. Finds out whether that is the
// reason.
ELASTIC_DECL task<void> tcp_store::explain_refused_add(std::string key) {
  const bool exists = co_await do_check(std::vector<std::string>(1, key));
  if (!exists) co_return;
  const std::string value = co_await do_get(key);
  if (detail::leading_number(value)) co_return;
  throw error(errc::store_value, fmt::format("the value of '{}' is not a number", key));
}

ELASTIC_DECL task<void> tcp_store::set(std::string key, std::string value) {
  return guarded(do_set(std::move(key), std::move(value)), "set");
}

ELASTIC_DECL task<std::string> tcp_store::get(std::string key) {
  return guarded(do_get(std::move(key)), "get");
}

ELASTIC_DECL task<std::int64_t> tcp_store::add(std::string key, std::int64_t delta) {
  return guarded(do_add(std::move(key), delta), "add");
}

ELASTIC_DECL task<std::string> tcp_store::compare_set(std::string key, std::string expected,
                                                      std::string desired) {
  return guarded(do_compare_set(std::move(key), std::move(expected), std::move(desired)),
                 "compare_set");
}

ELASTIC_DECL task<void> tcp_store::wait(key_list keys) {
  return guarded(do_wait(std::move(keys)), "wait");
}

ELASTIC_DECL task<bool> tcp_store::check(key_list keys) {
  return guarded(do_check(std::move(keys)), "check");
}

ELASTIC_DECL task<bool> tcp_store::erase(std::string key) {
  return guarded(do_erase(std::move(key)), "erase");
}

ELASTIC_DECL task<std::int64_t> tcp_store::num_keys() { return guarded(do_num_keys(), "num_keys"); }

ELASTIC_DECL task<std::vector<std::string>> tcp_store::list_keys() {
  return guarded(do_list_keys(), "list_keys");
}

ELASTIC_DECL task<void> tcp_store::append(std::string key, std::string value) {
  return guarded(do_append(std::move(key), std::move(value)), "append");
}

ELASTIC_DECL task<std::vector<std::string>> tcp_store::multi_get(key_list keys) {
  return guarded(do_multi_get(std::move(keys)), "multi_get");
}

ELASTIC_DECL task<void> tcp_store::multi_set(key_value_list pairs) {
  return guarded(do_multi_set(std::move(pairs)), "multi_set");
}

// SET has no reply. The request after it has one, so that a later operation on another connection
// finds the value, and a broken connection is noticed.
ELASTIC_DECL task<void> tcp_store::do_set(std::string key, std::string value) {
  const std::string wire = detail::store_wire_key(key);
  detail::check_store_value(value);
  lease connection = co_await any_link();
  write().with_value(connection->out(), op::set, wire, value);
  co_await confirm(connection);
  connection.keep();
}

ELASTIC_DECL task<std::string> tcp_store::do_get(std::string key) {
  const std::vector<std::string> wire(1, detail::store_wire_key(key));
  lease connection = co_await any_link();
  co_await wait_on(connection, wire);
  write().with_key(connection->out(), op::get, wire.front());
  co_await connection->flush();
  std::string value = co_await connection->read_text(options_.value_bytes);
  connection.keep();
  co_return value;
}

ELASTIC_DECL task<std::int64_t> tcp_store::do_add(std::string key, std::int64_t delta) {
  const std::string wire = detail::store_wire_key(key);
  lease connection = co_await any_link();
  write().with_number(connection->out(), op::add, wire, delta);
  std::optional<detail::asio_system_error> hung_up;
  std::int64_t sum = 0;
  try {
    co_await connection->flush();
    sum = co_await connection->read_number();
    connection.keep();
  } catch (const detail::asio_system_error& failure) {
    const bool may_be_refused =
        failure.code() == asio::error::eof || failure.code() == asio::error::connection_reset;
    if (!may_be_refused) throw;
    hung_up.emplace(failure);
  }
  if (hung_up) {
    co_await explain_refused_add(std::move(key));
    throw *hung_up;
  }
  co_return sum;
}

ELASTIC_DECL task<std::string> tcp_store::do_compare_set(std::string key, std::string expected,
                                                         std::string desired) {
  const std::string wire = detail::store_wire_key(key);
  detail::check_store_value(expected);
  detail::check_store_value(desired);
  lease connection = co_await any_link();
  write().compare_set(connection->out(), wire, expected, desired);
  co_await connection->flush();
  std::string stored = co_await connection->read_text(options_.value_bytes);
  connection.keep();
  co_return stored;
}

ELASTIC_DECL task<void> tcp_store::do_wait(key_list keys) {
  const std::vector<std::string> wire = detail::store_wire_keys(keys);
  lease connection = co_await any_link();
  co_await wait_on(connection, wire);
  connection.keep();
}

ELASTIC_DECL task<void> tcp_store::wait_on(lease& connection,
                                           const std::vector<std::string>& keys) {
  write().with_keys(connection->out(), op::wait, keys);
  co_await connection->flush();
  char reply = 0;
  try {
    reply = co_await connection->read_byte();
  } catch (const detail::asio_system_error& failure) {
    if (failure.code() == asio::error::operation_aborted && connection->cancel_wait(write()))
      connection.keep();
    throw;
  }
  if (reply != detail::reply_stop_waiting) {
    throw error(errc::protocol_violation, "the store did not answer WAIT");
  }
}

ELASTIC_DECL task<bool> tcp_store::do_check(key_list keys) {
  const std::vector<std::string> wire = detail::store_wire_keys(keys);
  lease connection = co_await any_link();
  write().with_keys(connection->out(), op::check, wire);
  co_await connection->flush();
  const char reply = co_await connection->read_byte();
  if (reply != detail::reply_ready && reply != detail::reply_not_ready) {
    throw error(errc::protocol_violation, "the store did not answer CHECK");
  }
  connection.keep();
  co_return reply == detail::reply_ready;
}

ELASTIC_DECL task<bool> tcp_store::do_erase(std::string key) {
  const std::string wire = detail::store_wire_key(key);
  lease connection = co_await any_link();
  write().with_key(connection->out(), op::erase, wire);
  co_await connection->flush();
  const std::int64_t erased = co_await connection->read_number();
  connection.keep();
  co_return erased != 0;
}

ELASTIC_DECL task<std::int64_t> tcp_store::do_num_keys() {
  lease connection = co_await any_link();
  write().operation(connection->out(), op::num_keys);
  co_await connection->flush();
  const std::int64_t count = co_await connection->read_number();
  connection.keep();
  co_return count;
}

ELASTIC_DECL task<std::vector<std::string>> tcp_store::do_list_keys() {
  lease connection = co_await any_link();
  if (!write().knows(op::list_keys)) {
    connection.keep();
    throw error(errc::not_supported,
                fmt::format("the store at {} is of before PyTorch 2.2 and lists no keys", where()));
  }
  write().operation(connection->out(), op::list_keys);
  co_await connection->flush();
  const std::int64_t count = co_await connection->read_number();
  if (count < 0 || count > static_cast<std::int64_t>(limits::store_keys_per_request)) {
    throw error(errc::protocol_violation,
                fmt::format("the store at {} reports {} keys", where(), count));
  }
  std::vector<std::string> keys;
  for (std::int64_t index = 0; index < count; ++index) {
    const std::string wire = co_await connection->read_text(limits::store_key_bytes + 1);
    if (!wire.empty() && wire.front() == '/') keys.push_back(wire.substr(1));
  }
  connection.keep();
  co_return keys;
}

ELASTIC_DECL task<void> tcp_store::do_append(std::string key, std::string value) {
  const std::string wire = detail::store_wire_key(key);
  detail::check_store_value(value);
  lease connection = co_await any_link();
  if (!write().knows(op::append)) {
    connection.keep();
    throw error(errc::not_supported,
                fmt::format("the store at {} is of before PyTorch 2.1 and cannot append", where()));
  }
  write().with_value(connection->out(), op::append, wire, value);
  co_await confirm(connection);
  connection.keep();
}

ELASTIC_DECL task<std::vector<std::string>> tcp_store::do_multi_get(key_list keys) {
  const std::vector<std::string> wire = detail::store_wire_keys(keys);
  lease connection = co_await any_link();
  co_await wait_on(connection, wire);
  if (write().knows(op::multi_get)) {
    write().with_keys(connection->out(), op::multi_get, wire);
  } else {
    for (const std::string& key : wire) write().with_key(connection->out(), op::get, key);
  }
  co_await connection->flush();
  std::vector<std::string> values;
  values.reserve(wire.size());
  while (values.size() < wire.size()) {
    values.push_back(co_await connection->read_text(options_.value_bytes));
  }
  connection.keep();
  co_return values;
}

ELASTIC_DECL task<void> tcp_store::do_multi_set(key_value_list pairs) {
  std::vector<std::string> wire;
  for (const auto& [key, value] : pairs) {
    detail::check_store_value(value);
    wire.push_back(detail::store_wire_key(key));
  }
  detail::check_store_key_count(wire.size());
  lease connection = co_await any_link();
  const bool at_once = write().knows(op::multi_set);
  if (at_once) {
    write().operation(connection->out(), op::multi_set);
    detail::append_integer<std::uint64_t>(connection->out(), wire.size());
  }
  for (std::size_t i = 0; i < wire.size(); ++i) {
    if (!at_once) write().operation(connection->out(), op::set);
    detail::append_text(connection->out(), wire[i]);
    detail::append_text(connection->out(), pairs[i].second);
  }
  detail::check_store_request(connection->out().size());
  co_await confirm(connection);
  connection.keep();
}

}  // namespace elastic
