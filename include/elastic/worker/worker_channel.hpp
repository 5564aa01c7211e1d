// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/health/control_message.hpp>
#include <elastic/health/line_intake.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

struct worker_channel_options {
  /// Whether the agent is to ask this worker for checkpoints, such as before it stops the job on
  /// SIGTERM: it then waits for `saved`.
  bool checkpoints = false;
};

/// A worker's end of the control channel: tells the agent how it is, and hears what it is to do.
///
///     elastic::worker_channel agent;
///     for (int step = 0; step < steps; ++step) {
///       const auto limit = agent.expires(60s, "step");  // killed where the step takes longer
///       train(step);
///       agent.progress(step + 1, steps);
///     }
///
/// Where there is no channel (a program that was started by hand, or by torchrun), and from the
/// moment on at which the agent is gone, every call does nothing: a worker needs no second way.
///
/// Errors: none throws, but for a constructor that is given what is not an address.
/// Thread-safety: any thread may call any member at any time, but `poll` and `wait` one at a time.
class worker_channel {
 public:
  /// Connects to the channel that this process's environment names.
  explicit worker_channel(worker_channel_options options = {})
      : worker_channel(environment_from(environ), options) {}

  /// Connects to the channel that `variables` name: ELASTIC_CONTROL and LOCAL_RANK.
  /// Errors: `errc::invalid_argument` where these are set to what cannot be.
  explicit worker_channel(const environment_map& variables, worker_channel_options options = {}) {
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
    control_messages::hello me;
    me.local_rank = rank_from(variables);
    me.checkpoints = options.checkpoints;
    say(worker_message(me));
  }

  worker_channel(const worker_channel&) = delete;
  worker_channel& operator=(const worker_channel&) = delete;

  /// Says that this worker wants to be watched no longer: one that ends its channel is not hung.
  ~worker_channel() {
    if (socket_ < 0) return;
    // A process that was forked from the worker has nothing to say for it.
    if (::getpid() == owner_) say(worker_message(control_messages::bye()));
    ::close(socket_);
  }

  /// Whether there is an agent at the other end.
  bool connected() const { return is_open_; }

  /// This worker lives. From the first call on the agent waits for the next: for `timeout` where it
  /// is named, else for what it was told (--heartbeat-timeout) or has learned.
  void heartbeat(std::optional<duration> timeout = std::nullopt) {
    control_messages::heartbeat beat;
    beat.timeout = timeout;
    say(worker_message(beat), can_be_lost);
  }

  /// How far this worker is; counts as a heartbeat. `total` 0: not known.
  void progress(std::int64_t step, std::int64_t total = 0, std::string text = {},
                std::map<std::string, double> metrics = {}) {
    control_messages::progress made;
    made.step = std::max<std::int64_t>(step, 0);
    made.total = std::max<std::int64_t>(total, 0);
    made.text = std::move(text);
    made.metrics = std::move(metrics);
    say(worker_message(made), can_be_lost);
  }

  /// A part of the work, from its construction to its destruction.
  class [[nodiscard]] section {
   public:
    section(worker_channel& channel, std::string name)
        : channel_(&channel), name_(std::move(name)) {}
    section(section&& other) noexcept
        : channel_(std::exchange(other.channel_, nullptr)), name_(std::move(other.name_)) {}
    section& operator=(section&&) = delete;
    ~section() {
      if (channel_ == nullptr) return;
      control_messages::leave end;
      end.section = name_;
      channel_->say(worker_message(end));
    }

   private:
    worker_channel* channel_;
    std::string name_;
  };

  /// Begins a part of the work. With a `timeout`, or a learned one, it has to end by then, and no
  /// heartbeat is due meanwhile; without one a report of a hang names it.
  section enter(std::string name, std::optional<duration> timeout = std::nullopt) {
    control_messages::enter begin;
    begin.section = name;
    begin.timeout = timeout;
    say(worker_message(begin));
    return section(*this, std::move(name));
  }

  /// A timer, from its construction to its destruction.
  class [[nodiscard]] timer {
   public:
    timer(worker_channel& channel, std::string name) : channel_(&channel), name_(std::move(name)) {}
    timer(timer&& other) noexcept
        : channel_(std::exchange(other.channel_, nullptr)), name_(std::move(other.name_)) {}
    timer& operator=(timer&&) = delete;
    ~timer() {
      if (channel_ == nullptr) return;
      control_messages::release end;
      end.timer = name_;
      channel_->say(worker_message(end));
    }

   private:
    worker_channel* channel_;
    std::string name_;
  };

  /// The agent kills this worker, and reports it as hung, unless the result is destroyed before
  /// `after` is over.
  timer expires(duration after, std::string_view name = "scope") {
    control_messages::expires begin;
    // Scopes nest, and threads have the same ones.
    begin.timer = fmt::format("{} #{}", name.substr(0, limits::control_name_bytes / 2), ++timers_);
    begin.after = after;
    say(worker_message(begin));
    return timer(*this, begin.timer);
  }

  /// Where workers fail from now on, the job is not started again: doing it once more would be in
  /// vain.
  void do_not_restart(std::string reason) {
    control_messages::no_restart said;
    said.reason = std::move(reason);
    say(worker_message(said));
  }

  /// This node cannot do the work: it leaves the job, and the others go on.
  void node_is_bad(std::string reason) {
    control_messages::bad_node said;
    said.reason = std::move(reason);
    say(worker_message(said));
  }

  /// The checkpoint that was asked for is written, or is not and why.
  void saved(const control_messages::checkpoint& asked) {
    control_messages::saved said;
    said.id = asked.id;
    say(worker_message(said));
  }
  void not_saved(const control_messages::checkpoint& asked, std::string reason) {
    control_messages::not_saved said;
    said.id = asked.id;
    said.reason = std::move(reason);
    say(worker_message(said));
  }

  /// What the agent said, the oldest first; none where it said nothing new. Does not wait.
  std::optional<agent_message> poll() { return wait(std::chrono::milliseconds(0)); }

  /// The same, but waits for it so long; without an agent it returns at once.
  std::optional<agent_message> wait(std::chrono::milliseconds longest) {
    const system_time clock;
    const time_point deadline = clock.now() + longest;
    while (is_open_) {
      if (auto said = next_message()) return said;
      if (!is_open_) break;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now());
      constexpr long long most_ms = 1'000'000'000;
      pollfd ready{socket_, POLLIN, 0};
      const int count =
          ::poll(&ready, 1, static_cast<int>(std::clamp<long long>(left.count(), 0, most_ms)));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      receive();
    }
    return next_message();
  }

  /// Readable where `poll` may have something, for those who wait for several things; -1 where
  /// there is no channel.
  int descriptor() const { return socket_; }

 private:
  static constexpr bool can_be_lost = true;

  static int rank_from(const environment_map& variables) {
    const std::string text = find_variable(variables, "LOCAL_RANK").value_or("");
    const bool is_number = !text.empty() && text.size() < 6 &&
                           text.find_first_not_of("0123456789") == std::string::npos;
    if (is_number) return std::stoi(text);
    throw error(errc::invalid_argument,
                fmt::format("LOCAL_RANK is '{}': with ELASTIC_CONTROL it is a number", text));
  }

  // Heartbeats are dropped where the agent does not read; the rest is waited for a while.
  void say(const worker_message& said, bool loses = false) {
    if (!is_open_) return;
    const std::string line = to_line(said);
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

  void receive() {
    std::array<char, limits::control_line_bytes> piece;
    const ssize_t size = ::recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (size > 0) {
      lines_.append(std::string_view(piece.data(), static_cast<std::size_t>(size)));
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      is_open_ = false;
    }
  }

  std::optional<agent_message> next_message() {
    for (auto next = lines_.next(); next; next = lines_.next()) {
      if (next->too_long) continue;
      try {
        if (auto said = parse_agent_message(next->line)) return said;
      } catch (const error&) {
        // Of an agent that speaks otherwise; what is understood still counts.
      }
    }
    return std::nullopt;
  }

  int socket_ = -1;
  pid_t owner_ = ::getpid();
  std::atomic<bool> is_open_ = false;
  std::atomic<std::uint64_t> timers_ = 0;
  std::mutex sending_;
  line_intake lines_;
};

}  // namespace elastic
