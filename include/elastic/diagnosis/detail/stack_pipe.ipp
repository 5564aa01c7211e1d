// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/stack_pipe.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/diagnosis/detail/process_facts.hpp>
#include <elastic/python/detail/hook_archive.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>

namespace elastic::detail {

inline constexpr std::chrono::milliseconds stack_pause{2};

ELASTIC_DECL stack_pipe::stack_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  ours_ = unique_fd(ends[0]);
  theirs_ = unique_fd(ends[1]);
  // Asks for a large pipe, since the stacks of many threads are long. The kernel may refuse.
  ::fcntl(ours_.get(), F_SETPIPE_SZ, static_cast<int>(limits::stack_text_bytes));
}

ELASTIC_DECL std::string stack_pipe::path() const {
  return theirs_ ? path_of_own(theirs_.get()) : std::string();
}

/// Result: whether anything was read.
ELASTIC_DECL bool stack_pipe::read_all(std::string& text) const {
  std::array<char, 16384> piece;
  bool has_read = false;
  for (ssize_t size; (size = ::read(ours_.get(), piece.data(), piece.size())) > 0;) {
    has_read = true;
    const std::size_t room = limits::stack_text_bytes - text.size();
    text.append(piece.data(), std::min(static_cast<std::size_t>(size), room));
    if (text.size() == limits::stack_text_bytes) break;
  }
  return has_read;
}

ELASTIC_DECL task<std::string> stack_pipe::ask(std::shared_ptr<process_handle> process,
                                               std::shared_ptr<time_source> time) const {
  struct stat status{};
  std::string text;
  if (!ours_ || ::fstat(ours_.get(), &status) != 0) co_return text;
  if (!process->is_running() || !has_pipe(process->pid(), status.st_ino)) co_return text;
  // Discards what remains of an earlier answer that came too late.
  while (read_all(text)) text.clear();
  // A sleeping thread may wake up meanwhile, and a running one may fall asleep.
  for (int attempt = 0; attempt < 3 && text.empty() && process->is_running(); ++attempt) {
    const process_state state = main_thread_state(process->pid());
    bool is_native = state == process_state::sleeping;
    if (state == process_state::running) {
      task<std::optional<std::string>> asking = ask_python(process, time);
      const std::optional<std::string> answer = co_await std::move(asking);
      is_native = !answer;
      text = answer.value_or("");
    }
    if (is_native) {
      task<std::string> asking = ask_native(process, time);
      co_return co_await std::move(asking);
    }
  }
  co_return text;
}

/// Asks a running thread. Result: no value if the thread runs code that is not Python; an empty
/// text if it has fallen asleep or ended.
ELASTIC_DECL task<std::optional<std::string>> stack_pipe::ask_python(
    std::shared_ptr<process_handle> process, std::shared_ptr<time_source> time) const {
  // Measured in processor time: on a busy machine the thread may not run at all for a while.
  constexpr duration longest_call = std::chrono::milliseconds(50);
  std::string text;
  const duration before = main_thread_time(process->pid());
  if (!process->signal_main_thread(SIGWINCH)) co_return text;
  for (;;) {
    co_await time->sleep_until(time->now() + stack_pause);
    // The hook writes the whole stack in one write.
    if (read_all(text) || !process->is_running()) co_return text;
    if (main_thread_state(process->pid()) != process_state::running) co_return text;
    if (main_thread_time(process->pid()) - before >= longest_call) co_return std::nullopt;
  }
}

/// Asks a thread that sleeps or runs code that is not Python.
ELASTIC_DECL task<std::string> stack_pipe::ask_native(std::shared_ptr<process_handle> process,
                                                      std::shared_ptr<time_source> time) const {
  constexpr std::uint64_t mask = std::uint64_t(1) << (SIGURG - 1);
  std::string text;
  if (!process->signal_main_thread(SIGURG)) co_return text;
  for (;;) {
    co_await time->sleep_until(time->now() + stack_pause);
    // The order matters: once the signal has been handled, nothing more is written.
    const auto unsettled = unsettled_signals(process->pid());
    read_all(text);
    const bool is_over = !unsettled || (*unsettled & mask) == 0;
    if (is_over || text.size() == limits::stack_text_bytes) co_return text;
  }
}

}  // namespace elastic::detail
