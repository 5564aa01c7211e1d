// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/worker/worker_channel.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/contract/detail/roles_document.hpp>
#include <elastic/control/detail/control_message.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <variant>

#include <fmt/format.h>

namespace elastic {

template <class Message>
void worker_channel::say(const Message& message, bool loses) {
  if (!is_open_) return;
  const std::string line = detail::to_line(worker_messages::worker_message(message));
  const std::lock_guard lock(sending_);
  std::string_view rest = line;
  while (is_open_ && !rest.empty()) {
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (loses && rest.size() == line.size()) return;
      constexpr int longest_ms = 5000;
      pollfd room{socket_, POLLOUT, 0};
      if (::poll(&room, 1, longest_ms) == 0) is_open_ = false;
    } else if (errno != EINTR) {
      is_open_ = false;
    }
  }
}

ELASTIC_DECL worker_channel::worker_channel() : worker_channel(options()) {}

ELASTIC_DECL worker_channel::worker_channel(options settings)
    : worker_channel(environment_from(environ), settings) {}

ELASTIC_DECL worker_channel::worker_channel(const environment_map& variables)
    : worker_channel(variables, options()) {}

ELASTIC_DECL worker_channel::worker_channel(const environment_map& variables, options settings) {
  roles_file_ = find_variable(variables, "ELASTIC_ROLES").value_or("");
  const std::string address = find_variable(variables, "ELASTIC_CONTROL").value_or("");
  if (address.empty()) return;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.size() < 2 || address.size() > sizeof name.sun_path) {
    throw error(errc::invalid_argument,
                fmt::format("ELASTIC_CONTROL is '{}': @name is allowed, of at most {} characters",
                            address, sizeof name.sun_path));
  }
  std::memcpy(name.sun_path, address.data(), address.size());
  if (name.sun_path[0] == '@') name.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return;
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&name), size) != 0) {
    ::close(std::exchange(socket_, -1));
    return;
  }
  is_open_ = true;
  worker_messages::hello me;
  me.local_rank = rank_from(variables);
  me.checkpoints = settings.checkpoints;
  say(me);
}

ELASTIC_DECL worker_channel::~worker_channel() {
  if (socket_ < 0) return;
  // A process forked from the worker must not speak for it.
  if (::getpid() == owner_) say(worker_messages::bye());
  ::close(socket_);
}

ELASTIC_DECL void worker_channel::heartbeat(std::optional<duration> timeout) {
  worker_messages::heartbeat beat;
  beat.timeout = timeout;
  say(beat, can_be_lost);
}

ELASTIC_DECL void worker_channel::progress(std::int64_t step, std::int64_t total, std::string text,
                                           std::map<std::string, double> metrics) {
  worker_messages::progress made;
  made.step = std::max<std::int64_t>(step, 0);
  made.total = std::max<std::int64_t>(total, 0);
  made.text = std::move(text);
  made.metrics = std::move(metrics);
  say(made, can_be_lost);
}

ELASTIC_DECL worker_channel::section::section(worker_channel& channel, std::string name)
    : channel_(&channel), name_(std::move(name)) {}

ELASTIC_DECL worker_channel::section::section(section&& other) noexcept
    : channel_(std::exchange(other.channel_, nullptr)), name_(std::move(other.name_)) {}

ELASTIC_DECL worker_channel::section::~section() {
  if (channel_ == nullptr) return;
  worker_messages::leave end;
  end.section = name_;
  channel_->say(end);
}

ELASTIC_DECL auto worker_channel::enter(std::string name, std::optional<duration> timeout)
    -> section {
  worker_messages::enter begin;
  begin.section = name;
  begin.timeout = timeout;
  say(begin);
  return section(*this, std::move(name));
}

ELASTIC_DECL worker_channel::timer::timer(timer&& other) noexcept
    : channel_(std::exchange(other.channel_, nullptr)), name_(std::move(other.name_)) {}

ELASTIC_DECL worker_channel::timer::~timer() {
  if (channel_ == nullptr) return;
  worker_messages::release end;
  end.timer = name_;
  channel_->say(end);
}

ELASTIC_DECL auto worker_channel::expires(duration after, std::string_view name) -> timer {
  worker_messages::expires begin;
  // The number makes the name unique: scopes nest, and several threads may use the same name.
  begin.timer = fmt::format("{} #{}", name.substr(0, limits::control_name_bytes / 2), ++timers_);
  begin.after = after;
  say(begin);
  return timer(*this, begin.timer);
}

ELASTIC_DECL void worker_channel::do_not_restart(std::string reason) {
  worker_messages::no_restart message;
  message.reason = std::move(reason);
  say(message);
}

ELASTIC_DECL void worker_channel::node_is_bad(std::string reason) {
  worker_messages::bad_node message;
  message.reason = std::move(reason);
  say(message);
}

ELASTIC_DECL void worker_channel::saved(const control_messages::checkpoint& checkpoint) {
  worker_messages::saved message;
  message.id = checkpoint.id;
  say(message);
}

ELASTIC_DECL void worker_channel::not_saved(const control_messages::checkpoint& checkpoint,
                                            std::string reason) {
  worker_messages::not_saved message;
  message.id = checkpoint.id;
  message.reason = std::move(reason);
  say(message);
}

ELASTIC_DECL void worker_channel::survive() { say(worker_messages::survive()); }

ELASTIC_DECL bool worker_channel::is_change(std::int64_t epoch, std::string reason) {
  worker_messages::ask question;
  question.epoch = epoch;
  question.reason = std::move(reason);
  say(question);
  while (auto message = await_message()) {
    const auto* change = std::get_if<control_messages::change>(&*message);
    if (change != nullptr && change->epoch == epoch) return true;
    const auto* no_change = std::get_if<control_messages::no_change>(&*message);
    if (no_change != nullptr && no_change->epoch == epoch) return false;
    kept_.push_back(std::move(*message));
  }
  return false;
}

ELASTIC_DECL worker_channel::new_epoch worker_channel::rejoin(std::int64_t epoch) {
  say(worker_messages::ready{epoch});
  while (auto message = await_message()) {
    if (auto* next = std::get_if<control_messages::rejoin>(&*message)) {
      worker_channel::new_epoch begun;
      begun.number = next->epoch;
      begun.variables = environment_from(environ);
      for (auto& [name, value] : next->environment) begun.variables[name] = std::move(value);
      return begun;
    }
    // A `change` that arrives now concerns the epoch that was left, so it is dropped.
    if (!std::holds_alternative<control_messages::change>(*message)) {
      kept_.push_back(std::move(*message));
    }
  }
  throw error(errc::connection_failed,
              fmt::format("epoch {} has no successor: there is no agent", epoch));
}

ELASTIC_DECL void worker_channel::finished(std::int64_t epoch) {
  say(worker_messages::finished{epoch});
}

namespace detail {

/// Reads the roles' file, which is only ever replaced as a whole.
inline std::string roles_file_text(const std::string& path) {
  const auto refuse = [&](int number) {
    throw error(errc::file_access, fmt::format("the file of ELASTIC_ROLES {} cannot be read: {}",
                                               in_quotes(path), errno_text(number)));
  };
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) refuse(errno);
  std::string text;
  std::array<char, 16 * 1024> piece;
  for (;;) {
    const ssize_t size = ::read(file.get(), piece.data(), piece.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) refuse(errno);
    if (size == 0 || text.size() > limits::roles_file_bytes) return text;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
}

}  // namespace detail

ELASTIC_DECL std::optional<job_roles> worker_channel::roles() const {
  if (roles_file_.empty()) return std::nullopt;
  return detail::parse_roles(detail::roles_file_text(roles_file_));
}

ELASTIC_DECL void worker_channel::await_roles(std::int64_t revision) {
  say(worker_messages::await_roles{std::max<std::int64_t>(revision, 0)});
}

ELASTIC_DECL std::optional<job_roles> worker_channel::next_roles(
    std::int64_t revision, std::chrono::milliseconds longest) {
  if (roles_file_.empty()) return std::nullopt;
  const time_point deadline = system_time().now() + longest;
  await_roles(revision);
  while (auto message = arrival_until(deadline)) {
    const auto* const news = std::get_if<control_messages::roles>(&*message);
    if (news == nullptr) {
      kept_.push_back(std::move(*message));
    } else if (news->revision > revision) {
      return roles();
    }
  }
  return std::nullopt;
}

ELASTIC_DECL std::optional<control_messages::agent_message> worker_channel::await_message() {
  for (;;) {
    if (auto message = next_message()) return message;
    if (!is_open_) return std::nullopt;
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, -1) > 0) receive();
  }
}

ELASTIC_DECL std::optional<control_messages::agent_message> worker_channel::wait(
    std::chrono::milliseconds longest) {
  if (!kept_.empty()) {
    control_messages::agent_message message = std::move(kept_.front());
    kept_.pop_front();
    return message;
  }
  return arrival_until(system_time().now() + longest);
}

ELASTIC_DECL task<std::optional<control_messages::agent_message>> worker_channel::next() & {
  std::optional<control_messages::agent_message> message = poll();
  if (message || !is_open_) co_return message;
  // A separate descriptor, because the other calls wait without Asio.
  detail::unique_fd readable(::fcntl(socket_, F_DUPFD_CLOEXEC, 0));
  if (!readable) {
    throw error(errc::connection_failed,
                fmt::format("cannot wait for the agent: {}", errno_text(errno)));
  }
  asio::posix::stream_descriptor arrival(co_await asio::this_coro::executor, readable.release());
  while (!message && is_open_) {
    co_await arrival.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    message = poll();
  }
  co_return message;
}

ELASTIC_DECL std::optional<control_messages::agent_message> worker_channel::arrival_until(
    time_point deadline) {
  const system_time clock;
  while (is_open_) {
    if (auto message = next_message()) return message;
    if (!is_open_) break;
    const auto remaining = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now());
    constexpr long long most_ms = 1'000'000'000;
    pollfd ready{socket_, POLLIN, 0};
    const int count =
        ::poll(&ready, 1, static_cast<int>(std::clamp<long long>(remaining.count(), 0, most_ms)));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    receive();
  }
  return next_message();
}

ELASTIC_DECL int worker_channel::rank_from(const environment_map& variables) {
  const std::string text = find_variable(variables, "LOCAL_RANK").value_or("");
  const bool is_number =
      !text.empty() && text.size() < 6 && text.find_first_not_of("0123456789") == std::string::npos;
  if (is_number) return std::stoi(text);
  throw error(errc::invalid_argument,
              fmt::format("LOCAL_RANK is '{}': with ELASTIC_CONTROL it is a number", text));
}

ELASTIC_DECL void worker_channel::receive() {
  std::array<char, limits::control_line_bytes> piece;
  const ssize_t size = ::recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
  if (size > 0) {
    lines_.append(std::string_view(piece.data(), static_cast<std::size_t>(size)));
  } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
    is_open_ = false;
  }
}

ELASTIC_DECL std::optional<control_messages::agent_message> worker_channel::next_message() {
  for (auto next = lines_.next(); next; next = lines_.next()) {
    if (next->too_long) continue;
    try {
      if (auto message = detail::parse_agent_message(next->line)) return message;
    } catch (const error&) {
      // A line that this version does not understand is skipped.
    }
  }
  return std::nullopt;
}

}  // namespace elastic
