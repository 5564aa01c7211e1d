// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/launcher.hpp>
#include <elastic/process/process_launcher.hpp>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::test {

/// What happened, in order, told by several fakes: "start 0", "end 0: SIGTERM", "gone 0".
using journal = std::vector<std::string>;

/// A process that is none: it lives until its test, or a signal, ends it.
class fake_process : public std::enable_shared_from_this<fake_process> {
 public:
  using reaction = std::function<void(fake_process&, int signal)>;

  fake_process(asio::any_io_executor executor, std::size_t number, process_spec chosen,
               std::shared_ptr<journal> notes)
      : spec(std::move(chosen)),
        index(number),
        pid(static_cast<pid_t>(1000 + number)),
        executor_(executor),
        ended_(std::move(executor)),
        notes_(std::move(notes)) {}

  const process_spec spec;
  /// How many were started before it.
  const std::size_t index;
  const pid_t pid;

  /// What it does on a signal that can be caught. Default: it dies of it.
  reaction on_signal = [](fake_process& self, int number) {
    self.end(exit_status::signalled(number));
  };
  /// What the kernel then does, for SIGKILL; replaced to be a process that cannot be killed.
  reaction on_kill = on_signal;

  /// Ends it; nothing where it has ended.
  void end(exit_status how) {
    if (!running()) return;
    status_ = how;
    notes_->push_back(fmt::format("end {}: {}", index, how.text()));
    ended_.set();
  }
  void exit(int code) { end(exit_status::exited(code)); }

  bool running() const { return !status_; }

  /// The signals that it was sent while it ran, but for SIGCONT.
  std::vector<int> signals;
  /// SIGCONT came after the last of them.
  bool continued = false;
  /// What is left of its tree was ended.
  bool tree_ended = false;

  std::string variable(std::string_view name) const {
    return find_variable(environment_from(spec.environment), name).value_or("<not set>");
  }
  int local_rank() const { return std::stoi(variable("LOCAL_RANK")); }

  /// Reactions.
  static reaction ignore(int ignored) {
    return [ignored](fake_process& self, int number) {
      if (number != ignored) self.end(exit_status::signalled(number));
    };
  }
  static reaction ignore_all() {
    return [](fake_process&, int) {};
  }
  static reaction exit_with(int code) {
    return [code](fake_process& self, int) { self.exit(code); };
  }
  /// Exits with 0, that much time after the first signal.
  static reaction exit_after(time_source& time, duration span) {
    return [&time, span](fake_process& self, int) {
      asio::co_spawn(self.executor_, end_later(self.shared_from_this(), time, span),
                     asio::detached);
    };
  }

 private:
  friend class fake_child;

  static task<void> end_later(std::shared_ptr<fake_process> self, time_source& time,
                              duration span) {
    co_await time.sleep_until(time.now() + span);
    self->exit(0);
  }

  void signal(int number) {
    if (!running()) return;
    if (number == SIGCONT) {
      continued = true;
      return;
    }
    signals.push_back(number);
    continued = false;
    (number == SIGKILL ? on_kill : on_signal)(*this, number);
  }

  task<exit_status> wait() {
    co_await ended_.wait();
    co_return *status_;
  }

  asio::any_io_executor executor_;
  event_flag ended_;
  std::optional<exit_status> status_;
  std::shared_ptr<journal> notes_;
};

/// The hold that its launcher's user has of a fake_process.
class fake_child final : public child {
 public:
  explicit fake_child(std::shared_ptr<fake_process> process) : process_(std::move(process)) {}
  ~fake_child() override { process_->signal(SIGKILL); }

  pid_t pid() const noexcept override { return process_->pid; }
  bool signal(int number) noexcept override {
    const bool runs = process_->running();
    process_->signal(number);
    return runs;
  }
  task<exit_status> wait() override { return process_->wait(); }
  task<void> end_tree() override { return end_tree_of(process_); }

 private:
  static task<void> end_tree_of(std::shared_ptr<fake_process> process) {
    process->signal(SIGKILL);
    co_await process->wait();
    if (!process->tree_ended) process->notes_->push_back(fmt::format("gone {}", process->index));
    process->tree_ended = true;
  }

  std::shared_ptr<fake_process> process_;
};

/// Starts processes that are puppets of the test: no process, no time and no chance in it.
///
///     auto launcher = std::make_shared<fake_launcher>();
///     launcher->on_start = [](fake_process& started) { started.on_signal = …; };
///     …
///     launcher->started.at(1)->end(exit_status::signalled(SIGSEGV));
///
/// One strand at a time, that on which it launches; also for the processes.
class fake_launcher final : public process_launcher {
 public:
  fake_launcher() : notes(std::make_shared<journal>()) {}

  /// Called for each before it counts as started: gives it its behaviour, or throws, which fails
  /// its start.
  std::function<void(fake_process&)> on_start;
  /// The start that is asked for as this one, counted from 0, waits until it is cancelled or
  /// `let_go` is called.
  std::optional<std::size_t> hold_at;

  /// Every process, in the order of the starts.
  std::vector<std::shared_ptr<fake_process>> started;
  std::shared_ptr<journal> notes;
  /// How many starts wait.
  int holding = 0;
  void let_go() { held_->set(); }

  std::size_t running() const {
    return static_cast<std::size_t>(std::count_if(
        started.begin(), started.end(), [](const auto& process) { return process->running(); }));
  }
  /// Whether every process has ended, and its tree with it.
  bool all_gone() const {
    return std::all_of(started.begin(), started.end(), [](const auto& process) {
      return !process->running() && process->tree_ended;
    });
  }

  task<std::unique_ptr<child>> launch(process_spec spec) override {
    auto executor = co_await asio::this_coro::executor;
    if (hold_at == asked_++) {
      const auto held = held_ = std::make_shared<event_flag>(executor);
      ++holding;
      const struct let_go {
        int& holding;
        ~let_go() { --holding; }
      } counted{holding};
      co_await held->wait();
    }
    auto process = std::make_shared<fake_process>(executor, started.size(), std::move(spec), notes);
    if (on_start) on_start(*process);
    notes->push_back(fmt::format("start {}", process->index));
    started.push_back(process);
    co_return std::make_unique<fake_child>(std::move(process));
  }

 private:
  std::size_t asked_ = 0;
  std::shared_ptr<event_flag> held_;
};

}  // namespace elastic::test
