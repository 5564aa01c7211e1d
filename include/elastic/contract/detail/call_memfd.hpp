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

/// What a worker's function has left behind.
struct call_answer {
  enum class content : std::uint64_t {
    /// Nothing: it did not end, or by `exit`.
    nothing = 0,
    /// JSON: what it returned.
    value = 1,
    /// JSON in the form of an error file: what it threw.
    failure = 2,
    /// Something that no worker of this library leaves; `text` says why.
    garbage = 3,
  };
  content kind = content::nothing;
  std::string text;
};

/// How an agent and the function that a worker runs talk: a file without a name, in memory, which
/// the worker gets as its standard input. The agent writes the arguments before it starts the
/// worker; the worker writes what came of it; the agent reads that when the worker has ended.
///
/// Nobody waits for anybody, no file is left, and the worker can put neither more into it than the
/// agent has made room for (the kernel refuses to let it grow) nor anything that the agent would
/// take for more. Memory is taken for what is written alone.
///
/// Thread-safety: one thread at a time.
class call_memfd {
 public:
  /// None.
  call_memfd() = default;
  call_memfd(call_memfd&& other) noexcept { swap(other); }
  ELASTIC_DECL call_memfd& operator=(call_memfd&& other) noexcept;
  ELASTIC_DECL ~call_memfd();

  /// The agent's side: a sheet with the arguments, and room for an answer of so many bytes.
  /// Errors: `errc::start_failed`.
  ELASTIC_DECL static call_memfd make(std::string_view arguments, std::size_t answer_bytes);

  /// The worker's side: takes the sheet that is its standard input, and leaves /dev/null there.
  /// Errors: `errc::protocol_violation` if standard input is no such sheet.
  ELASTIC_DECL static call_memfd take();

  /// What becomes the worker's standard input; borrowed.
  int descriptor() const { return file_; }

  /// How many bytes an answer may have.
  std::size_t room() const { return room_; }

  /// The arguments, as `make` wrote them, or another process that had the file meanwhile.
  /// Errors: `errc::file_access`.
  ELASTIC_DECL std::string arguments() const;

  /// Leaves an answer, in the place of an earlier one: whole, or not at all.
  /// Errors: `errc::file_access`; the text must fit.
  ELASTIC_DECL void leave(call_answer::content kind, std::string_view text);

  /// What the worker has left. Never fails: what makes no sense is `garbage`.
  ELASTIC_DECL call_answer answer() const;

 private:
  // In this machine's byte order: the file does not leave it.
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

  ELASTIC_DECL bool read(std::size_t at, void* into, std::size_t size) const;
  ELASTIC_DECL bool write(std::size_t at, const void* from, std::size_t size) const;
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
#include <elastic/contract/detail/impl/call_memfd.ipp>
#endif
