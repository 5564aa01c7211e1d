// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/testing/scripted_launcher.hpp>

#include <elastic/base/detail/executor_work.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/child.hpp>

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace elastic::testing {

// ---- a process ----------------------------------------------------------------------------------

ELASTIC_DECL scripted_launcher::process::process(asio::any_io_executor executor,
                                                 std::size_t number, process_spec chosen,
                                                 std::shared_ptr<std::vector<std::string>> record)
    : spec(std::move(chosen)),
      index(number),
      pid(static_cast<pid_t>(1000 + number)),
      on_signal([](process& self, int received) { self.end(exit_status::signalled(received)); }),
      on_kill(on_signal),
      executor_(executor),
      ended_(std::move(executor)),
      notes_(std::move(record)) {}

ELASTIC_DECL void scripted_launcher::process::end(exit_status how) {
  if (!running()) return;
  status_ = how;
  notes_->push_back(fmt::format("end {}: {}", index, how.text()));
  ended_.set();
}

ELASTIC_DECL void scripted_launcher::process::exit(int code) { end(exit_status::exited(code)); }

ELASTIC_DECL std::string scripted_launcher::process::variable(std::string_view name) const {
  return find_variable(environment_from(spec.environment), name).value_or("<not set>");
}

ELASTIC_DECL int scripted_launcher::process::local_rank() const {
  return std::stoi(variable("LOCAL_RANK"));
}

ELASTIC_DECL scripted_launcher::process::reaction scripted_launcher::process::ignore(int ignored) {
  return [ignored](process& self, int number) {
    if (number != ignored) self.end(exit_status::signalled(number));
  };
}

ELASTIC_DECL scripted_launcher::process::reaction scripted_launcher::process::ignore_all() {
  return [](process&, int) {};
}

ELASTIC_DECL scripted_launcher::process::reaction scripted_launcher::process::exit_with(int code) {
  return [code](process& self, int) { self.exit(code); };
}

ELASTIC_DECL scripted_launcher::process::reaction scripted_launcher::process::exit_after(
    time_source& time, duration span) {
  return [&time, span](process& self, int) {
    elastic::detail::start_task(self.executor_, end_later(self.shared_from_this(), time, span),
                                [](std::exception_ptr) {});
  };
}

ELASTIC_DECL task<void> scripted_launcher::process::end_later(std::shared_ptr<process> self,
                                                              time_source& time, duration span) {
  co_await time.sleep_until(time.now() + span);
  self->exit(0);
}

ELASTIC_DECL task<void> scripted_launcher::process::end_tree_of(std::shared_ptr<process> self) {
  self->signal(SIGKILL);
  co_await self->wait();
  if (!self->tree_ended) self->notes_->push_back(fmt::format("gone {}", self->index));
  self->tree_ended = true;
}

ELASTIC_DECL void scripted_launcher::process::signal(int number) {
  if (!running()) return;
  if (number == SIGCONT) {
    continued = true;
    return;
  }
  signals.push_back(number);
  continued = false;
  (number == SIGKILL ? on_kill : on_signal)(*this, number);
}

ELASTIC_DECL task<exit_status> scripted_launcher::process::wait() {
  co_await ended_.wait();
  co_return *status_;
}

// ---- the launcher -------------------------------------------------------------------------------

/// The handle through which the launcher's user owns a process.
class scripted_launcher::held_process final : public child {
 public:
  explicit held_process(std::shared_ptr<process> held) : process_(std::move(held)) {}
  ~held_process() override { process_->signal(SIGKILL); }

  pid_t pid() const noexcept override { return process_->pid; }
  bool signal(int number) noexcept override {
    const bool runs = process_->running();
    process_->signal(number);
    return runs;
  }
  task<exit_status> wait() override { return process_->wait(); }
  task<void> end_tree() override { return process::end_tree_of(process_); }

 private:
  std::shared_ptr<process> process_;
};

ELASTIC_DECL scripted_launcher::scripted_launcher()
    : notes(std::make_shared<std::vector<std::string>>()) {}

ELASTIC_DECL void scripted_launcher::let_go() {
  if (held_) held_->set();
}

ELASTIC_DECL std::size_t scripted_launcher::running() const {
  return static_cast<std::size_t>(std::count_if(
      started.begin(), started.end(), [](const auto& each) { return each->running(); }));
}

ELASTIC_DECL bool scripted_launcher::all_gone() const {
  return std::all_of(started.begin(), started.end(), [](const auto& each) {
    return !each->running() && each->tree_ended;
  });
}

ELASTIC_DECL task<std::unique_ptr<child>> scripted_launcher::launch(process_spec spec) {
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
  auto made = std::make_shared<process>(executor, started.size(), std::move(spec), notes);
  if (on_start) on_start(*made);
  notes->push_back(fmt::format("start {}", made->index));
  started.push_back(made);
  co_return std::make_unique<held_process>(std::move(made));
}

}  // namespace elastic::testing
