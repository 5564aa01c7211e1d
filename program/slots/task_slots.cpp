// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/slots/task_slots.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/version.hpp>
#include <elastic/process/console_output.hpp>
#include <program/limits.hpp>
#include <program/slots/slot_order.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elasticrun {

using elastic::errc;
using elastic::error;
using elastic::detail::unique_fd;

namespace {

/// The process that listens at an address; empty if none does.
std::optional<slot_peer> holder_of(const slot_address& place) {
  const unique_fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* const address = reinterpret_cast<const sockaddr*>(&place.address);
  if (!socket || ::connect(socket.get(), address, place.size) != 0) return std::nullopt;
  return peer_of(socket.get());
}

/// The next message of a socket that does not block.
elastic::task<slot_message> await_slot_message(elastic::asio::posix::stream_descriptor& socket,
                                               bool& has_ended) {
  for (;;) {
    auto message = receive_slot_message(socket.native_handle(), MSG_DONTWAIT, has_ended);
    if (has_ended) co_return slot_message();
    if (message) co_return std::move(*message);
    co_await socket.async_wait(elastic::asio::posix::stream_descriptor::wait_read,
                               elastic::asio::use_awaitable);
  }
}

elastic::task<void> await_readable(elastic::asio::posix::stream_descriptor& descriptor) {
  co_await descriptor.async_wait(elastic::asio::posix::stream_descriptor::wait_read,
                                 elastic::asio::use_awaitable);
}

std::optional<elastic::detail::spawn_result> spawn_result_from(slot_message& reply) {
  const bool is_whole = reply.kind() == "spawned" && reply.fields.size() == 3;
  if (!is_whole) return std::nullopt;
  const auto failure = slot_number(reply.fields[1], std::numeric_limits<int>::max());
  const auto stage =
      slot_number(reply.fields[2], static_cast<int>(elastic::detail::spawn_stage::execute));
  if (!failure || !stage || (*failure == 0) != (reply.descriptors.size() == 1)) {
    return std::nullopt;
  }
  elastic::detail::spawn_result result;
  result.failure = *failure;
  result.stage = static_cast<elastic::detail::spawn_stage>(*stage);
  if (*failure == 0) result.pidfd = reply.descriptors.front().release();
  return result;
}

}  // namespace

task_slots::task_slots(elastic::asio::any_io_executor executor, slot_plan plan, elastic::logger log)
    : executor_(std::move(executor)),
      plan_(std::move(plan)),
      log_(std::move(log)),
      own_(elastic::environment_from(environ)),
      room_(executor_),
      slots_(static_cast<std::size_t>(std::max(plan_.count, 1))) {}

task_slots::~task_slots() {
  const std::vector<std::string> end = {"end", std::to_string(code_)};
  for (slot& each : slots_) {
    if (!each.socket) continue;
    send_slot_message(each.socket.get(), end);
    // The socket closes with this process, and not before: some schedulers end all tasks when one
    // has failed.
    each.socket.release();
  }
}

elastic::task<void> task_slots::meet(std::shared_ptr<elastic::time_source> time) {
  const elastic::time_point patience_ends =
      elastic::deadline_after(time->now(), limits::slot_meeting);
  co_await listen(*time, patience_ends);
  elastic::task<void> coming = await_slots(*time);
  if (!co_await elastic::with_deadline(*time, patience_ends, std::move(coming))) {
    throw error(errc::timed_out,
                fmt::format("of the {} tasks of this node, {} did not come within {} s: each must "
                            "run elasticrun, with the same options",
                            plan_.count, missing(), limits::slot_meeting.count()));
  }
  room_.close();
  newcomers_.clear();
  listener_.reset();
}

/// Tries again if the name is taken: a step that has just ended may still hold it.
elastic::task<void> task_slots::listen(elastic::time_source& time,
                                       elastic::time_point patience_ends) {
  const slot_address place = slot_address_of(plan_);
  constexpr int kind = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
  listener_ = unique_fd(::socket(AF_UNIX, kind, 0));
  const auto* const address = reinterpret_cast<const sockaddr*>(&place.address);
  std::optional<slot_peer> holder;
  while (!listener_ || ::bind(listener_.get(), address, place.size) != 0) {
    const int number = errno;
    if (number != EADDRINUSE) {
      throw error(errc::start_failed, fmt::format("the socket {} for the tasks of this node "
                                                  "cannot be created: {}",
                                                  place.text, elastic::errno_text(number)));
    }
    if (!holder) holder = holder_of(place);
    const bool is_strange = holder && !holder->is_own_user();
    if (is_strange || time.now() >= patience_ends) {
      throw error(
          errc::address_in_use,
          fmt::format("the tasks of this node cannot meet: {} holds the socket {}",
                      holder ? holder->text() : "a process that does not listen", place.text));
    }
    co_await time.sleep_until(elastic::deadline_after(time.now(), limits::slot_retry));
  }
  const int room = ::epoll_create1(EPOLL_CLOEXEC);
  if (room < 0 || ::listen(listener_.get(), SOMAXCONN) != 0) {
    throw error(errc::start_failed,
                fmt::format("the tasks of this node cannot meet: {}", elastic::errno_text(errno)));
  }
  room_.assign(room);
  watch(listener_.get());
}

elastic::task<void> task_slots::await_slots(elastic::time_source& time) {
  while (!missing().empty()) {
    co_await await_readable(room_);
    if (look()) continue;
    // A task that cannot be accepted, such as for want of descriptors, keeps the room readable.
    co_await time.sleep_until(elastic::deadline_after(time.now(), limits::slot_retry));
  }
}

void task_slots::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(room_.native_handle(), EPOLL_CTL_ADD, fd, &event);
}

bool task_slots::look() {
  bool is_done = true;
  epoll_event events[16];
  const int count = ::epoll_wait(room_.native_handle(), events, 16, 0);
  for (int index = 0; index < count; ++index) {
    const int fd = events[index].data.fd;
    if (fd == listener_.get()) {
      is_done = take_newcomer();
      continue;
    }
    const auto position = std::find_if(newcomers_.begin(), newcomers_.end(),
                                       [fd](const auto& each) { return each.get() == fd; });
    if (position == newcomers_.end()) continue;
    unique_fd socket = std::move(*position);
    newcomers_.erase(position);
    ::epoll_ctl(room_.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
    greet(std::move(socket));
  }
  return is_done;
}

bool task_slots::take_newcomer() {
  unique_fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return false;
  const slot_peer peer = peer_of(socket.get());
  if (!peer.is_own_user()) {
    if (!strangers_.insert(peer.uid).second) return true;
    log_.warning("{} is refused at the socket {}: it is for tasks of user {}", peer.text(),
                 slot_address_of(plan_).text, ::geteuid());
    return true;
  }
  // A slot sends its hello at once, so the connection that has waited longest is not a slot.
  if (newcomers_.size() >= 2 * static_cast<std::size_t>(plan_.count)) {
    newcomers_.erase(newcomers_.begin());
  }
  watch(socket.get());
  newcomers_.push_back(std::move(socket));
  return true;
}

void task_slots::greet(unique_fd socket) {
  bool has_ended = false;
  auto hello = receive_slot_message(socket.get(), MSG_DONTWAIT, has_ended);
  if (!hello) return;
  const slot_peer peer = peer_of(socket.get());
  const std::vector<std::string>& fields = hello->fields;
  const bool is_hello = hello->kind() == "hello" && fields.size() == 4;
  const auto place = slot_number(is_hello ? fields[2] : "", plan_.count - 1);
  std::string reason;
  if (!is_hello || hello->descriptors.size() != 2) {
    reason = "it does not speak as a slot does";
  } else if (fields[1] != elastic::version_text) {
    reason = fmt::format("the agent has version {}", elastic::version_text);
  } else if (fields[3] != std::to_string(plan_.count) || !place || *place == 0) {
    reason = fmt::format("the agent expects tasks 1 to {}", plan_.count - 1);
  } else if (const slot& taken = slot_at(*place); taken.socket) {
    reason = fmt::format("process {} has that place already", taken.peer.pid);
  }
  if (!reason.empty()) {
    const std::vector<std::string> answer = {"refuse", reason};
    send_slot_message(socket.get(), answer);
    log_.warning("{} is refused as a slot: {}", peer.text(), reason);
    return;
  }
  slot& entry = slots_[static_cast<std::size_t>(*place)];
  entry.peer = peer;
  for (std::size_t index = 0; index < 2; ++index) {
    entry.streams[index] = std::move(hello->descriptors[index]);
  }
  entry.socket = std::move(socket);
}

/// "task 2", "tasks 2 and 3"; empty: all are here.
std::string task_slots::missing() const {
  std::vector<int> places;
  for (int place = 1; place < plan_.count; ++place) {
    if (!slot_at(place).socket) places.push_back(place);
  }
  if (places.empty()) return {};
  return fmt::format("task{} {}", places.size() == 1 ? "" : "s", fmt::join(places, ", "));
}

auto task_slots::slot_at(int place) const -> const slot& {
  return slots_.at(static_cast<std::size_t>(place));
}

std::shared_ptr<elastic::output_sink> task_slots::console(int place, int number) const {
  return elastic::make_console_writer(executor_, stream(place, number), log_);
}

elastic::task<std::optional<elastic::detail::spawn_result>> task_slots::spawn(
    elastic::detail::spawn_request request) {
  const int place = request.spec.slot;
  if (place == 0) co_return std::nullopt;
  const slot& target = slot_at(place);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw error(errc::start_failed, fmt::format("a socket to task {} cannot be created: {}", place,
                                                elastic::errno_text(errno)));
  }
  elastic::asio::posix::stream_descriptor ours(executor_, ends[0]);
  unique_fd theirs(ends[1]);
  std::vector<int> descriptors = {theirs.get()};
  const slot_order order = slot_order_of(request, own_, descriptors);
  const std::vector<std::string> fields = fields_of(order);
  const int number = send_slot_message(target.socket.get(), fields, descriptors);
  theirs.reset();
  if (number == EMSGSIZE) {
    throw error(errc::invalid_argument,
                fmt::format("the arguments and variables of a worker take more than the {} bytes "
                            "that a slot accepts",
                            limits::slot_message_bytes));
  }
  bool has_ended = number != 0;
  slot_message reply;
  if (!has_ended) {
    elastic::task<slot_message> replying = await_slot_message(ours, has_ended);
    reply = co_await std::move(replying);
  }
  const auto result = spawn_result_from(reply);
  if (has_ended || !result) {
    throw error(errc::start_failed,
                fmt::format("task {} of this node cannot start its worker: its slot, process {}, "
                            "has ended or does not answer",
                            place, target.peer.pid));
  }
  co_return result;
}

}  // namespace elasticrun
