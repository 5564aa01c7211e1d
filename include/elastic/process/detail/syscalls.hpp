// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The only seam between this module and the kernel: a table of functions, passed as a parameter.
// Tests pass a table in which one function fails or is interrupted.

#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

// A function that runs between clone and exec does so in the parent's memory, on a separate stack.
// Sanitizer instrumentation in it would corrupt the bookkeeping of the parent's thread.
#if defined(__clang__)
#define ELASTIC_RUNS_IN_CHILD                                        \
  __attribute__((noinline, disable_sanitizer_instrumentation,        \
                 no_sanitize("thread", "address", "undefined")))
#else
#define ELASTIC_RUNS_IN_CHILD \
  __attribute__((noinline, no_sanitize("thread", "address", "undefined")))
#endif

namespace elastic::detail {

#if defined(__GLIBC__)
// `clone` under a name that sanitizers do not wrap: their wrapper takes locks that a child in
// shared memory would release a second time.
extern "C" int elastic_clone(int (*entry)(void*), void* stack, int flags, void* argument,
                             ...) noexcept __asm__("__clone");
#else
inline constexpr auto elastic_clone = ::clone;
#endif

// From Linux 6.9 on: the signal goes to the process group whose leader the pidfd is (or was).
inline constexpr unsigned pidfd_signal_process_group = 1U << 2;

/// All system calls of this module that concern processes. They return what the system calls
/// return: -1 and `errno` on failure.
struct syscalls {
  // Called in the parent.
  pid_t (*clone)(int (*entry)(void*), void* stack_top, int flags, void* argument, int* pidfd);
  int (*waitid)(idtype_t type, id_t id, siginfo_t* info, int options);
  int (*pidfd_open)(pid_t pid);
  int (*pidfd_send_signal)(int pidfd, int number, unsigned flags);
  int (*kill)(pid_t pid, int number);
  int (*set_owner)(int fd, int owner);
  int (*pipe)(int fds[2]);
  int (*open)(const char* path, int flags, int mode);
  // Called between clone and exec: these make only the system call itself.
  int (*set_session)();
  int (*die_with_parent)();
  int (*change_directory)(const char* path);
  int (*duplicate)(int source, int lowest);
  int (*duplicate_to)(int source, int target);
  int (*keep_at_exec)(int fd);
  int (*close_range)(unsigned first, unsigned last);
  int (*execute)(const char* path, char* const* arguments, char* const* environment);
  int (*execute_open)(int program, char* const* arguments, char* const* environment);
};

namespace real {

inline pid_t clone(int (*entry)(void*), void* stack_top, int flags, void* argument, int* pidfd) {
  return elastic_clone(entry, stack_top, flags, argument, pidfd, nullptr, nullptr);
}
inline int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  return ::waitid(type, id, info, options);
}
inline int pidfd_open(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)); }
inline int pidfd_send_signal(int pidfd, int number, unsigned flags) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, flags));
}
inline int kill(pid_t pid, int number) { return ::kill(pid, number); }
inline int set_owner(int fd, int owner) { return ::fcntl(fd, F_SETOWN, owner); }
inline int pipe(int fds[2]) { return ::pipe2(fds, O_CLOEXEC); }
inline int open(const char* path, int flags, int mode) { return ::open(path, flags, mode); }

ELASTIC_RUNS_IN_CHILD inline int set_session() {
  return static_cast<int>(::syscall(SYS_setsid));
}
ELASTIC_RUNS_IN_CHILD inline int die_with_parent() {
  return static_cast<int>(::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
}
ELASTIC_RUNS_IN_CHILD inline int change_directory(const char* path) {
  return static_cast<int>(::syscall(SYS_chdir, path));
}
ELASTIC_RUNS_IN_CHILD inline int duplicate(int source, int lowest) {
  return static_cast<int>(::syscall(SYS_fcntl, source, F_DUPFD_CLOEXEC, lowest));
}
ELASTIC_RUNS_IN_CHILD inline int duplicate_to(int source, int target) {
  return static_cast<int>(::syscall(SYS_dup3, source, target, 0));
}
ELASTIC_RUNS_IN_CHILD inline int keep_at_exec(int fd) {
  return static_cast<int>(::syscall(SYS_fcntl, fd, F_SETFD, 0));
}
ELASTIC_RUNS_IN_CHILD inline int execute_open(int program, char* const* arguments,
                                              char* const* environment) {
  return static_cast<int>(
      ::syscall(SYS_execveat, program, "", arguments, environment, AT_EMPTY_PATH));
}
ELASTIC_RUNS_IN_CHILD inline int close_range(unsigned first, unsigned last) {
#if defined(SYS_close_range)
  return static_cast<int>(::syscall(SYS_close_range, first, last, 0U));
#else
  (void)first, (void)last;
  errno = ENOSYS;
  return -1;
#endif
}
ELASTIC_RUNS_IN_CHILD inline int execute(const char* path, char* const* arguments,
                                         char* const* environment) {
  return static_cast<int>(::syscall(SYS_execve, path, arguments, environment));
}

}  // namespace real

/// The kernel itself.
inline constexpr syscalls real_syscalls{
    .clone = real::clone,
    .waitid = real::waitid,
    .pidfd_open = real::pidfd_open,
    .pidfd_send_signal = real::pidfd_send_signal,
    .kill = real::kill,
    .set_owner = real::set_owner,
    .pipe = real::pipe,
    .open = real::open,
    .set_session = real::set_session,
    .die_with_parent = real::die_with_parent,
    .change_directory = real::change_directory,
    .duplicate = real::duplicate,
    .duplicate_to = real::duplicate_to,
    .keep_at_exec = real::keep_at_exec,
    .close_range = real::close_range,
    .execute = real::execute,
    .execute_open = real::execute_open,
};

/// Repeats a call for as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace elastic::detail
