// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace elastic::detail {

/// The answer that a worker's function has left.
struct call_answer {
  enum class content : std::uint64_t {
    /// No answer: the function did not end, or it called `exit`.
    nothing = 0,
    /// JSON: the return value.
    value = 1,
    /// JSON in the form of an error file: the exception.
    failure = 2,
    /// Data that no worker of this library writes; `text` says why.
    garbage = 3,
  };
  content kind = content::nothing;
  std::string text;
};

/// Carries a call between an agent and the function that a worker runs: an unnamed file in memory,
/// which the worker gets as its standard input. The agent writes the arguments before it starts the
/// worker, the worker writes its answer, and the agent reads the answer when the worker has ended.
///
/// Neither side waits for the other, and no file remains on disk. The worker cannot write more than
/// the agent has made room for (the kernel refuses to let the file grow), and the agent checks
/// everything that it reads. Only written parts use memory.
///
/// Thread-safety: one thread at a time.
class call_memfd {
 public:
  /// No file.
  call_memfd() = default;
  call_memfd(call_memfd&& other) noexcept { swap(other); }
  ELASTIC_DECL call_memfd& operator=(call_memfd&& other) noexcept;
  ELASTIC_DECL ~call_memfd();

  /// The agent's side: creates a file with the arguments and room for an answer of `answer_bytes`.
  /// Errors: `errc::start_failed`.
  ELASTIC_DECL static call_memfd make(std::string_view arguments, std::size_t answer_bytes);

  /// The worker's side: takes the file that is its standard input, and replaces standard input by
  /// /dev/null.
  /// Errors: `errc::protocol_violation` if standard input is not such a file.
  ELASTIC_DECL static call_memfd take();

  /// The descriptor that becomes the worker's standard input; borrowed.
  int descriptor() const { return file_; }

  /// The largest size of an answer, in bytes.
  std::size_t room() const { return room_; }

  /// The arguments that `make` wrote. They are untrusted if another process had the file meanwhile.
  /// Errors: `errc::file_access`.
  ELASTIC_DECL std::string arguments() const;

  /// Writes an answer, which replaces an earlier one: completely or not at all.
  /// Errors: `errc::file_access`; the text must fit.
  ELASTIC_DECL void leave(call_answer::content kind, std::string_view text);

  /// The worker's answer. Never fails: invalid data is `garbage`.
  ELASTIC_DECL call_answer answer() const;

 private:
  // In native byte order: the file does not leave this machine.
  struct header {
    char mark[8] = {'e', 'l', 'c', 'a', 'l', 'l', '1', '\n'};
    std::uint64_t arguments = 0;
    std::uint64_t kind = 0;
    std::uint64_t answer = 0;
  };

  ELASTIC_DECL static int open_memory();
  ELASTIC_DECL static call_answer garbage(std::string why);

  [[noreturn]] ELASTIC_DECL static void fail(const char* step);

  std::size_t answer_at() const { return sizeof(header) + arguments_; }

  ELASTIC_DECL bool read(std::size_t offset, void* target, std::size_t size) const;
  ELASTIC_DECL bool write(std::size_t offset, const void* source, std::size_t size) const;
  template <class Step>
  static bool moved(std::size_t size, Step step) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t count = step(done);
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) errno = ENODATA;
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }

  ELASTIC_DECL void swap(call_memfd& other) noexcept;

  int file_ = -1;
  std::size_t arguments_ = 0;
  std::size_t room_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/detail/call_memfd.ipp>
#endif
