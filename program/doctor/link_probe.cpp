// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/doctor/link_probe.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/net/detail/local_interface.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/net/endpoint.hpp>
#include <program/limits.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elasticrun {

using elastic::errc;
using elastic::error;
using elastic::detail::byte_stream;

namespace {

// A connection begins with the token and one of two letters. After `echo`, the server answers each
// byte with its time of day; after `flow`, it answers each block with a byte.
constexpr char echo = 'e';
constexpr char flow = 'f';
constexpr int echoes = 16;
constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr int most_blocks = 64;
constexpr std::chrono::milliseconds flow_time{80};
constexpr std::size_t time_bytes = sizeof(std::int64_t);

/// Reads `count` bytes. Errors: `errc::protocol_violation` if the connection ends before.
elastic::task<std::string> read_exactly(byte_stream& stream, std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t have = 0; have < count;) {
    elastic::task<std::size_t> reading =
        stream.read_some(elastic::asio::buffer(bytes.data() + have, count - have));
    const std::size_t read = co_await std::move(reading);
    if (read == 0) throw error(errc::protocol_violation, "the connection was closed");
    have += read;
  }
  co_return bytes;
}

/// Reads and discards `count` bytes. Result: false if the connection ended before.
elastic::task<bool> skip_bytes(byte_stream& stream, std::size_t count) {
  std::vector<char> part(std::min<std::size_t>(count, 64 * 1024));
  while (count > 0) {
    elastic::task<std::size_t> reading =
        stream.read_some(elastic::asio::buffer(part.data(), std::min(count, part.size())));
    const std::size_t read = co_await std::move(reading);
    if (read == 0) co_return false;
    count -= read;
  }
  co_return true;
}

elastic::task<void> send(byte_stream& stream, std::string bytes) {
  elastic::task<void> writing = stream.write(std::move(bytes));
  co_await std::move(writing);
}

std::int64_t nanoseconds_of(elastic::wall_time time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Little-endian.
std::string bytes_of(std::int64_t number) {
  std::string bytes(time_bytes, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(static_cast<std::uint64_t>(number) & 0xFF);
    number >>= 8;
  }
  return bytes;
}

std::int64_t number_of(const std::string& bytes) {
  std::uint64_t number = 0;
  for (std::size_t index = bytes.size(); index-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[index]);
  }
  return static_cast<std::int64_t>(number);
}

std::string interface_of(const std::string& address) {
  for (const elastic::detail::local_interface& each : elastic::detail::local_interfaces()) {
    for (const auto& own : each.addresses) {
      if (own.to_string() == address) return each.name;
    }
  }
  return {};
}

/// A connection to the link_server of a node.
struct link_connection {
  link_connection() = default;
  std::unique_ptr<byte_stream> stream;
  /// The address of this side.
  std::string address;
};

elastic::task<link_connection> connect(elastic::endpoint server, std::string greeting) {
  auto connecting = elastic::detail::connect_tcp(std::move(server));
  auto socket = co_await std::move(connecting);
  link_connection link;
  elastic::detail::asio_error_code failure;
  const auto own = socket.local_endpoint(failure);
  if (!failure) link.address = own.address().to_string();
  link.stream = std::make_unique<elastic::detail::socket_stream>(std::move(socket));
  elastic::task<void> greeting_server = send(*link.stream, std::move(greeting));
  co_await std::move(greeting_server);
  co_return link;
}

/// Takes the fastest of several echoes, because it also gives the best estimate of the other clock.
elastic::task<void> measure_latency(byte_stream& stream, link_report& link,
                                    elastic::time_source& time) {
  std::optional<std::int64_t> shortest;
  for (int count = 0; count < echoes; ++count) {
    const elastic::time_point begin = time.now();
    const std::int64_t begin_of_day = nanoseconds_of(time.wall_now());
    elastic::task<void> asking = send(stream, ".");
    co_await std::move(asking);
    elastic::task<std::string> reading = read_exactly(stream, time_bytes);
    const std::string answer = co_await std::move(reading);
    const std::int64_t took =
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.now() - begin).count();
    if (shortest && took >= *shortest) continue;
    shortest = took;
    link.latency_ns = took;
    // A real number cannot overflow, whatever time the other node sends.
    const double ahead = static_cast<double>(number_of(answer)) -
                         static_cast<double>(begin_of_day) - static_cast<double>(took) / 2;
    link.clock_ahead_ms = static_cast<std::int64_t>(ahead / 1e6);
  }
}

elastic::task<void> measure_rate(byte_stream& stream, link_report& link,
                                 elastic::time_source& time) {
  const elastic::time_point begin = time.now();
  for (int count = 1; count <= most_blocks; ++count) {
    elastic::task<void> sending = send(stream, std::string(block_bytes, '.'));
    co_await std::move(sending);
    elastic::task<std::string> reading = read_exactly(stream, 1);
    co_await std::move(reading);
    const elastic::duration took = time.now() - begin;
    const double seconds = std::max(std::chrono::duration<double>(took).count(), 1e-9);
    link.bytes_per_second =
        static_cast<std::int64_t>(static_cast<double>(count) * block_bytes / seconds);
    if (took >= flow_time) co_return;
  }
}

/// Errors: `errc::connection_failed`, `errc::timed_out`.
elastic::task<link_connection> connect_soon(elastic::endpoint address, std::string greeting,
                                            elastic::time_source& time) {
  elastic::task<link_connection> connecting = connect(address, std::move(greeting));
  const elastic::time_point deadline = elastic::deadline_after(time.now(), limits::doctor_answer);
  auto limited = elastic::with_deadline(time, deadline, std::move(connecting));
  std::optional<link_connection> connected = co_await std::move(limited);
  if (connected) co_return *std::move(connected);
  throw error(errc::timed_out, fmt::format("{}: no answer within {} ms", to_text(address),
                                           limits::doctor_answer.count()));
}

/// Errors: those of `connect_soon`.
elastic::task<link_report> probe_address(elastic::endpoint server, std::string token,
                                         elastic::time_source& time) {
  link_report link;
  elastic::task<link_connection> connecting = connect_soon(server, token + echo, time);
  const link_connection connected = co_await std::move(connecting);
  link.interface = interface_of(connected.address);
  elastic::task<void> measuring = measure_latency(*connected.stream, link, time);
  const elastic::time_point deadline =
      elastic::deadline_after(time.now(), limits::doctor_connection);
  const bool is_answered =
      co_await elastic::with_deadline(time, deadline, std::move(measuring));
  if (!is_answered) {
    throw error(errc::timed_out, fmt::format("{}: connected, but no answer within {} s",
                                             to_text(server), limits::doctor_connection.count()));
  }
  link.address = server.host;
  co_return link;
}

/// Errors: those of `connect_soon`. If the time runs out, the rate until then counts.
elastic::task<void> probe_rate(elastic::endpoint address, std::string token, link_report& link,
                               elastic::time_source& time) {
  elastic::task<link_connection> connecting = connect_soon(std::move(address), token + flow, time);
  const link_connection connected = co_await std::move(connecting);
  elastic::task<void> measuring = measure_rate(*connected.stream, link, time);
  const elastic::time_point deadline =
      elastic::deadline_after(time.now(), limits::doctor_connection);
  co_await elastic::with_deadline(time, deadline, std::move(measuring));
}

}  // namespace

// ---- the server ---------------------------------------------------------------------------------

link_server::link_server(const elastic::asio::any_io_executor& executor,
                         const std::string& address, std::shared_ptr<elastic::time_source> time)
    : time_(std::move(time)),
      listener_(elastic::detail::stream_listener::at_address(executor,
                                                             elastic::endpoint(address, 0))),
      token_(elastic::detail::random_name(limits::doctor_token_bytes)) {}

elastic::task<void> link_server::run() {
  const elastic::asio::any_io_executor executor = co_await elastic::asio::this_coro::executor;
  elastic::task_group served(executor);
  const auto admit = [this, &served](elastic::detail::accepted_connection accepted) {
    // Connections beyond the limit are closed.
    if (served.size() >= limits::doctor_connections) return;
    served.spawn(serve(elastic::detail::socket_stream(std::move(accepted.socket))));
  };
  elastic::detail::accept_terms terms;
  terms.time = time_;
  elastic::task<void> accepting =
      elastic::detail::accept_all(listener_, std::move(terms), admit);
  elastic::task<void> ending = served.stop();
  co_await elastic::with_cleanup(std::move(accepting), std::move(ending));
}

elastic::task<void> link_server::serve(elastic::detail::socket_stream stream) {
  const elastic::time_point deadline =
      elastic::deadline_after(time_->now(), limits::doctor_connection);
  elastic::task<void> answering = answer(stream);
  try {
    co_await elastic::with_deadline(*time_, deadline, std::move(answering));
  } catch (const error&) {
    // The other side has disconnected, or is not a node of the job.
  }
}

elastic::task<void> link_server::answer(byte_stream& stream) {
  elastic::task<std::string> reading = read_exactly(stream, token_.size() + 1);
  const std::string greeting = co_await std::move(reading);
  if (!greeting.starts_with(token_)) co_return;
  const bool is_echo = greeting.back() == echo;
  const int most = is_echo ? echoes : most_blocks;
  for (int count = 0; count < most; ++count) {
    elastic::task<bool> skipping = skip_bytes(stream, is_echo ? 1 : block_bytes);
    if (!co_await std::move(skipping)) co_return;
    elastic::task<void> replying =
        send(stream, is_echo ? bytes_of(nanoseconds_of(time_->wall_now())) : std::string("."));
    co_await std::move(replying);
  }
}

// ---- a probe ------------------------------------------------------------------------------------

elastic::task<link_report> probe_link(node_report peer, int rank, bool measures_rate,
                                      std::shared_ptr<elastic::time_source> time) {
  link_report link;
  const elastic::endpoint to(peer.address, peer.port);
  try {
    elastic::task<link_report> probing = probe_address(to, peer.token, *time);
    link = co_await std::move(probing);
  } catch (const error& refusal) {
    link.failure = refusal.what();
  }
  link.peer = rank;
  if (link.address.empty() || !measures_rate) co_return link;
  try {
    elastic::task<void> probing = probe_rate(to, peer.token, link, *time);
    co_await std::move(probing);
  } catch (const error&) {
    // The rate stays unknown.
  }
  co_return link;
}

}  // namespace elasticrun
