// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/slots/run_slot.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/time.hpp>
#include <elastic/base/version.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/detail/guard_file.hpp>
#include <elastic/process/detail/spawn.hpp>
#include <elastic/process/processor_set.hpp>
#include <program/limits.hpp>
#include <program/slots/slot_order.hpp>
#include <program/slots/slot_socket.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elasticrun {

using elastic::errc;
using elastic::error;
using elastic::detail::unique_fd;

namespace {

/// Connects to the agent of this node, which may begin to listen later.
unique_fd reach_agent(const slot_plan& plan) {
  const slot_address place = slot_address_of(plan);
  elastic::system_time time;
  const elastic::time_point patience_ends =
      elastic::deadline_after(time.now(), limits::slot_meeting);
  for (;;) {
    unique_fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto* const address = reinterpret_cast<const sockaddr*>(&place.address);
    if (socket && ::connect(socket.get(), address, place.size) == 0) return socket;
    if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) {
      throw error(errc::start_failed, fmt::format("the socket {} cannot be reached: {}", place.text,
                                                  elastic::errno_text(errno)));
    }
    if (time.now() >= patience_ends) {
      throw error(errc::timed_out,
                  fmt::format("task {} of the {} on this node did not find its agent, which is "
                              "task 0, within {} s",
                              plan.place, plan.count, limits::slot_meeting.count()));
    }
    ::poll(nullptr, 0, static_cast<int>(limits::slot_retry.count()));
  }
}

unique_fd meet_agent(const slot_plan& plan) {
  unique_fd agent = reach_agent(plan);
  const slot_peer peer = peer_of(agent.get());
  if (!peer.is_own_user()) {
    throw error(errc::start_failed,
                fmt::format("{} holds the socket {} and is not this job's agent: this task runs "
                            "as user {}",
                            peer.text(), slot_address_of(plan).text, ::geteuid()));
  }
  const std::vector<std::string> hello = {"hello", elastic::version_text,
                                          std::to_string(plan.place), std::to_string(plan.count)};
  // A failure means that the agent has ended. The loop in `run` notices that.
  send_slot_message(agent.get(), hello, {STDOUT_FILENO, STDERR_FILENO});
  return agent;
}

/// Ignores the signals that a scheduler sends to all tasks at once, and lets the kernel reap
/// guards. Processes that this one starts have the default handling again.
void leave_signals_to_agent() {
  constexpr int kept[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGCONT, SIGTTIN, SIGTTOU, SIGSEGV,
                          SIGBUS,  SIGILL,  SIGFPE,  SIGABRT, SIGTRAP, SIGSYS};
  for (int number = 1; number <= SIGRTMAX; ++number) {
    const bool is_kept = std::find(std::begin(kept), std::end(kept), number) != std::end(kept);
    if (!is_kept) ::signal(number, SIG_IGN);
  }
}

/// The work of a slot that has met its agent.
class slot_worker {
 public:
  slot_worker(unique_fd agent, slot_plan plan)
      : agent_(std::move(agent)),
        plan_(std::move(plan)),
        own_(elastic::detail::open_own_pidfd(elastic::detail::real_syscalls)) {}

  int run() {
    bool has_ended = false;
    for (int code = -1;;) {
      const auto message = receive_slot_message(agent_.get(), 0, has_ended);
      if (has_ended && code < 0) report_loss();
      if (has_ended) return code < 0 ? 1 : code;
      if (!message) continue;
      if (message->kind() == "refuse" && message->fields.size() == 2) refuse(message->fields[1]);
      if (message->kind() == "end" && message->fields.size() == 2) {
        code = slot_number(message->fields[1], 255).value_or(1);
      } else {
        start(slot_order_from(message->fields), message->descriptors);
      }
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw error(errc::start_failed, fmt::format("the agent of this node refuses task {}: {}",
                                                plan_.place, elastic::printable_text(reason)));
  }

  /// Only slot 1 reports the loss, so that the message appears once.
  void report_loss() const {
    if (plan_.place != 1) return;
    throw error(errc::connection_failed,
                "the agent of this node, its task 0, has ended without a result: the other tasks "
                "end with it");
  }

  void start(const slot_order& order, const std::vector<unique_fd>& received) {
    if (received.size() != order.descriptors.size() + 1) refuse_slot_order();
    std::map<char, unique_fd> given;
    for (std::size_t index = 0; index < order.descriptors.size(); ++index) {
      // A guard inherits its descriptors under fixed low numbers, which must stay free.
      const int copy = ::fcntl(received[index + 1].get(), F_DUPFD_CLOEXEC, first_free);
      given[order.descriptors[index]] = unique_fd(copy);
    }
    const auto number = [&given](char what) {
      return given.contains(what) ? given[what].get() : -1;
    };
    elastic::process_spec spec;
    spec.environment = slot_environment(order, elastic::environment_from(environ));
    spec.directory = order.directory;
    if (!order.processors.empty())
      spec.processors = elastic::processor_set::parse(order.processors);
    spec.ignored_signals = order.ignored_signals;
    spec.stdin_fd = number('i');
    spec.stdout_fd = number('o');
    spec.stderr_fd = number('e');
    spec.passed_fd = number('p');
    const elastic::detail::spawn_request request{
        .spec = spec,
        .path = order.path,
        .arguments = elastic::detail::pointers_to(nullptr, order.arguments),
        .open_files = order.open_files,
        .program = number('g'),
        .passed = {number('s'), own_.get()}};
    const elastic::detail::spawn_result result =
        elastic::detail::spawn(request, stack_, elastic::detail::real_syscalls);
    const unique_fd pidfd(result.pidfd);
    const std::vector<std::string> reply = {"spawned", std::to_string(result.failure),
                                            std::to_string(static_cast<int>(result.stage))};
    std::vector<int> attached;
    if (pidfd) attached.push_back(pidfd.get());
    send_slot_message(received.front().get(), reply, attached);
  }

  // The first number above the descriptors that a guard inherits.
  static constexpr int first_free = elastic::detail::first_passed + elastic::detail::passed_places;

  unique_fd agent_;
  slot_plan plan_;
  unique_fd own_;
  elastic::detail::child_stack stack_;
};

}  // namespace

int run_slot(const slot_plan& plan) {
  unique_fd agent = meet_agent(plan);
  leave_signals_to_agent();
  return slot_worker(std::move(agent), plan).run();
}

}  // namespace elasticrun
