// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/detail/limit_reached.hpp>
#include <elastic/process/detail/proc_file.hpp>
#include <elastic/process/detail/program_path.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/process_spec.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// The stack on which a child runs until its exec. Allocated once, above a guard page that stops
/// any overflow.
class child_stack {
 public:
  child_stack() = default;
  child_stack(const child_stack&) = delete;
  child_stack& operator=(const child_stack&) = delete;
  ~child_stack() {
    if (base_) ::munmap(base_, size);
  }

  /// Its upper end, since stacks grow downwards; null (and `errno`) if there is no memory.
  void* top() {
    if (!base_) {
      void* made = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
      if (made == MAP_FAILED) return nullptr;
      ::mprotect(made, guard, PROT_NONE);
      base_ = made;
    }
    return static_cast<char*>(base_) + size;
  }

 private:
  static constexpr std::size_t size = 128 * 1024;
  // The largest page size of Linux on the processors in use.
  static constexpr std::size_t guard = 64 * 1024;
  void* base_ = nullptr;
};

enum class spawn_stage {
  prepare,
  clone,
  session,
  parent_death,
  processors,
  directory,
  streams,
  execute
};

struct spawn_result {
  pid_t pid = -1;
  int pidfd = -1;
  /// The `errno`; 0 if the program runs. `stage` says which step failed.
  int failure = 0;
  spawn_stage stage = spawn_stage::prepare;
};

// What the child needs, prepared by the parent. The child writes `failure` and `stage`; both share
// the memory, and the parent is suspended until the child has executed or ended.
struct child_plan {
  const syscalls* calls;
  const char* path;
  char* const* arguments;
  char* const* environment;
  const char* directory;
  /// A bit for each processor; null: those of the parent.
  const unsigned long* processors;
  std::size_t processor_bytes;
  std::uint64_t ignored_signals;
  /// The soft and the hard limit, in the kernel's form; null: those of the parent.
  const std::uint64_t* open_files;
  int streams[3];
  /// The sources of descriptors 3 to 5; -1: none.
  int passed[3];
  int program;
  pid_t parent;
  bool die_with_parent;
  volatile int failure = 0;
  volatile spawn_stage stage = spawn_stage::session;
};

// The kernel's own form of `struct sigaction`, which begins with the handler; all zeros is SIG_DFL
// without flags. Larger than any of the forms in use.
struct signal_action {
  unsigned long words[8] = {};
};

// A bit for each of the kernel's signals.
inline std::uint64_t signal_bits(const std::vector<int>& numbers) {
  std::uint64_t bits = 0;
  for (const int number : numbers) {
    if (number >= 1 && number <= 64) bits |= std::uint64_t{1} << (number - 1);
  }
  return bits;
}

/// The size of the kernel's signal sets, in bytes.
inline constexpr std::size_t kernel_signal_bytes = 8;

[[noreturn]] ELASTIC_RUNS_IN_CHILD inline void leave_child() {
  for (;;) ::syscall(SYS_exit_group, 127);
}

// The parent's handlers must not run in the child, which shares its memory. Signals that the parent
// ignores (often SIGPIPE) must reach the program, except those that it is to ignore.
ELASTIC_RUNS_IN_CHILD inline void reset_signal_handling(const child_plan& plan) {
  static constexpr signal_action standard{};
  static constexpr signal_action ignore{{1}};
  for (int number = 1; number <= 64; ++number) {
    const bool is_ignored = (plan.ignored_signals >> (number - 1) & 1) != 0;
    ::syscall(SYS_rt_sigaction, number, is_ignored ? &ignore : &standard, nullptr,
              kernel_signal_bytes);
  }
}

ELASTIC_RUNS_IN_CHILD inline bool take_processors(const child_plan& plan) {
  return !plan.processors ||
         ::syscall(SYS_sched_setaffinity, 0, plan.processor_bytes, plan.processors) >= 0;
}

ELASTIC_RUNS_IN_CHILD inline bool arrange_streams(const child_plan& plan) {
  const syscalls& calls = *plan.calls;
  int from[3] = {plan.streams[0], plan.streams[1], plan.streams[2]};
  // First moves away each source that a later stream still needs (if stdout and stderr are swapped,
  // for example).
  for (int target = 0; target < 3; ++target) {
    if (from[target] < 0 || from[target] > 2 || from[target] == target) continue;
    from[target] = calls.duplicate(from[target], 3);
    if (from[target] < 0) return false;
  }
  for (int target = 0; target < 3; ++target) {
    if (from[target] < 0 || from[target] == target) {
      // A stream that the parent itself has closed stays closed.
      if (calls.keep_at_exec(target) < 0 && errno != EBADF) return false;
    } else if (calls.duplicate_to(from[target], target) < 0) {
      return false;
    }
  }
  return true;
}

inline constexpr int first_passed = 3;
inline constexpr int passed_places = 3;

// One more than the highest descriptor that stays.
ELASTIC_RUNS_IN_CHILD inline int end_of_kept(const child_plan& plan) {
  int end = first_passed;
  for (int place = 0; place < passed_places; ++place) {
    if (plan.passed[place] >= 0) end = first_passed + place + 1;
  }
  return end;
}

// Descriptors 3 to 5, after the streams, for which the sources may have had these numbers. The
// last is a caller's, and may have any number itself.
ELASTIC_RUNS_IN_CHILD inline bool pass_descriptors(const child_plan& plan) {
  const syscalls& calls = *plan.calls;
  int from[passed_places] = {plan.passed[0], plan.passed[1], plan.passed[2]};
  int& last = from[passed_places - 1];
  constexpr int first_free = first_passed + passed_places;
  if (last >= 0 && last < first_free) last = calls.duplicate(last, first_free);
  if (plan.passed[passed_places - 1] >= 0 && last < 0) return false;
  for (int place = 0; place < passed_places; ++place) {
    if (from[place] < 0) continue;
    if (calls.duplicate_to(from[place], first_passed + place) < 0) return false;
  }
  return true;
}

// For kernels before 5.9 and for filters that reject close_range: closes the descriptors that /proc
// lists or, without /proc, every number.
ELASTIC_RUNS_IN_CHILD inline void close_one_by_one(int first, int kept) {
  struct entry_head {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short size;
    unsigned char type;
  };
  constexpr std::size_t name_offset = 19;
  const long folder =
      ::syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (folder < 0) {
    for (int fd = first; fd < 65'536; ++fd) {
      if (fd != kept) ::syscall(SYS_close, fd);
    }
    return;
  }
  alignas(entry_head) char entries[2048];
  for (bool closed_some = true; closed_some;) {
    closed_some = false;
    ::syscall(SYS_lseek, folder, 0, SEEK_SET);
    for (;;) {
      const long size = ::syscall(SYS_getdents64, folder, entries, sizeof entries);
      if (size <= 0) break;
      for (long offset = 0; offset < size;) {
        const auto* head = reinterpret_cast<const entry_head*>(entries + offset);
        long fd = 0;
        for (const char* digit = entries + offset + name_offset; *digit >= '0' && *digit <= '9';
             ++digit) {
          fd = fd * 10 + (*digit - '0');
        }
        if (fd >= first && fd != folder && fd != kept) {
          ::syscall(SYS_close, fd);
          closed_some = true;
        }
        offset += head->size;
      }
    }
  }
  ::syscall(SYS_close, folder);
}

// Closes all but the streams, the passed descriptors and, until it is executed, the program.
ELASTIC_RUNS_IN_CHILD inline void close_others(const child_plan& plan) {
  const auto first = static_cast<unsigned>(end_of_kept(plan));
  for (int fd = first_passed; fd < static_cast<int>(first); ++fd) {
    if (plan.passed[fd - first_passed] < 0 && fd != plan.program) ::syscall(SYS_close, fd);
  }
  const auto program = static_cast<unsigned>(plan.program);
  const syscalls& calls = *plan.calls;
  int failed = 0;
  if (plan.program < 0) {
    failed = calls.close_range(first, ~0U);
  } else {
    failed = first < program ? calls.close_range(first, program - 1) : 0;
    if (failed == 0) failed = calls.close_range(program + 1, ~0U);
  }
  if (failed < 0) close_one_by_one(static_cast<int>(first), plan.program);
}

// Every step up to exec; returns the one that failed, with its error in `errno`.
ELASTIC_RUNS_IN_CHILD inline spawn_stage become_program(const child_plan& plan) {
  const syscalls& calls = *plan.calls;
  reset_signal_handling(plan);
  if (calls.set_session() < 0) return spawn_stage::session;
  if (plan.die_with_parent) {
    if (calls.die_with_parent() < 0) return spawn_stage::parent_death;
    // The parent may have died before the kernel knew that this child should die with it.
    if (::syscall(SYS_getppid) != plan.parent) leave_child();
  }
  if (!take_processors(plan)) return spawn_stage::processors;
  if (plan.directory && calls.change_directory(plan.directory) < 0) return spawn_stage::directory;
  if (!arrange_streams(plan)) return spawn_stage::streams;
  if (!pass_descriptors(plan)) return spawn_stage::streams;
  close_others(plan);
  // The limit was raised before, so lowering it cannot fail.
  if (plan.open_files) ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, plan.open_files, nullptr);
  static constexpr unsigned long no_signals[kernel_signal_bytes / sizeof(unsigned long)] = {};
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, no_signals, nullptr, kernel_signal_bytes);
  if (plan.program >= 0) {
    calls.execute_open(plan.program, plan.arguments, plan.environment);
  } else {
    calls.execute(plan.path, plan.arguments, plan.environment);
  }
  return spawn_stage::execute;
}

ELASTIC_RUNS_IN_CHILD inline int child_entry(void* argument) {
  auto& plan = *static_cast<child_plan*>(argument);
  const spawn_stage failed = become_program(plan);
  plan.stage = failed;
  plan.failure = errno;
  leave_child();
}

// The strings as `execve` takes them: pointers, terminated by a null pointer.
inline std::vector<char*> pointers_to(const std::string* first,
                                      const std::vector<std::string>& rest) {
  std::vector<char*> pointers;
  pointers.reserve(rest.size() + 2);
  if (first) pointers.push_back(const_cast<char*>(first->c_str()));
  for (const std::string& text : rest) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// The time for which processes left behind may linger, within its bounds.
inline std::chrono::milliseconds linger_of(const process_spec& spec) {
  const duration bounded = std::clamp<duration>(spec.linger, duration::zero(), limits::linger);
  return std::chrono::ceil<std::chrono::milliseconds>(bounded);
}

/// Whether a standard stream was closed when this process began and its number now belongs to a
/// private descriptor of this process.
inline bool is_private(int fd) {
  const int flags = ::fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) != 0;
}

/// The request to start the program of a process_spec, or another program (a guard) on its behalf.
struct spawn_request {
  /// Its environment, directory and streams.
  const process_spec& spec;
  /// The path of the program; executed if `program` is not set.
  const std::string& path;
  /// The arguments, beginning with the program's name.
  std::vector<char*> arguments;
  bool die_with_parent = false;
  /// Its soft limit of open files; empty: that of this process.
  std::optional<std::uint64_t> open_files = {};
  /// An open file to be executed; -1: none. It and the passed descriptors have numbers above 5.
  int program = -1;
  /// The sources of descriptors 3 and 4, in addition to that of the spec; -1: none.
  int passed[2] = {-1, -1};
};

/// Starts a program and returns once it has been executed, or reports what failed and leaves no
/// process behind.
///
/// The child shares the parent's memory until then (no page table is copied), and the calling
/// thread is suspended. All signals are blocked meanwhile, so that no handler runs in the child.
inline spawn_result spawn(const spawn_request& request, child_stack& stack, const syscalls& calls) {
  const process_spec& spec = request.spec;
  spawn_result result;
  void* const stack_top = stack.top();
  if (!stack_top) {
    result.failure = errno;
    return result;
  }
  const std::vector<char*> environment = pointers_to(nullptr, spec.environment);
  const std::vector<unsigned long> processors = spec.processors.mask();
  rlimit own_files{};
  ::getrlimit(RLIMIT_NOFILE, &own_files);
  const std::uint64_t hard_limit = own_files.rlim_max;
  const std::uint64_t open_files[] = {std::min(request.open_files.value_or(0), hard_limit),
                                      hard_limit};
  child_plan plan{.calls = &calls,
                  .path = request.path.c_str(),
                  .arguments = request.arguments.data(),
                  .environment = environment.data(),
                  .directory = spec.directory.empty() ? nullptr : spec.directory.c_str(),
                  .processors = processors.empty() ? nullptr : processors.data(),
                  .processor_bytes = processors.size() * sizeof(unsigned long),
                  .ignored_signals = signal_bits(spec.ignored_signals),
                  .open_files = request.open_files ? open_files : nullptr,
                  .streams = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd},
                  .passed = {request.passed[0], request.passed[1], spec.passed_fd},
                  .program = request.program,
                  .parent = ::getpid(),
                  .die_with_parent = request.die_with_parent};

  unique_fd nowhere;
  for (int target = 0; target < 3; ++target) {
    if (plan.streams[target] >= 0 || !is_private(target)) continue;
    if (!nowhere) nowhere = unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    plan.streams[target] = nowhere.get();
  }

  // Uses the system call: the library function omits the two signals that it reserves for threads.
  constexpr std::size_t words = kernel_signal_bytes / sizeof(unsigned long);
  std::array<unsigned long, words> every_signal;
  std::array<unsigned long, words> before{};
  every_signal.fill(~0UL);
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, every_signal.data(), before.data(),
            kernel_signal_bytes);
  result.pid = calls.clone(child_entry, stack_top, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
                           &plan, &result.pidfd);
  const int clone_error = errno;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, before.data(), nullptr, kernel_signal_bytes);

  if (result.pid < 0) {
    result.failure = clone_error;
    result.stage = spawn_stage::clone;
    return result;
  }
  if (plan.failure == 0) return result;
  // The child is past its last step, so this does not block. ECHILD: the host has reaped it
  // already.
  siginfo_t ignored{};
  uninterrupted([&] {
    return calls.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(result.pidfd), &ignored,
                        WEXITED);
  });
  ::close(result.pidfd);
  result.pid = result.pidfd = -1;
  result.failure = plan.failure;
  result.stage = plan.stage;
  return result;
}

/// The interpreter after "#!" in the first line of a script, up to the next blank; empty if there
/// is none.
inline std::string interpreter_of(const std::string& path) {
  constexpr std::size_t most = 256;
  const std::string line = read_proc_file(path, most);
  if (!line.starts_with("#!")) return {};
  const std::size_t first = line.find_first_not_of(" \t", 2);
  if (first == line.npos) return {};
  return line.substr(first, line.find_first_of(" \t\r\n", first) - first);
}

[[noreturn]] inline void throw_execute_error(const process_spec& spec, const std::string& path,
                                             int number) {
  const std::string seen = seen_from(spec.directory, path);
  struct stat status{};
  const bool exists = ::stat(seen.c_str(), &status) == 0;
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
      if (!exists) {
        throw error(errc::program_not_found,
                    fmt::format("program '{}' cannot be executed: {}", path, errno_text(number)));
      }
      if (const std::string interpreter = interpreter_of(seen); !interpreter.empty()) {
        throw error(errc::program_not_executable,
                    fmt::format("program '{}' cannot be executed: its interpreter '{}' was not "
                                "found",
                                path, interpreter));
      }
      throw error(errc::program_not_executable,
                  fmt::format("program '{}' cannot be executed: the loader that it names was not "
                              "found",
                              path));
    case ENOEXEC:
      throw error(errc::program_not_executable,
                  fmt::format("program '{}' cannot be executed: it is neither a program of this "
                              "machine nor a script that names its interpreter in a first line "
                              "that begins with '#!'",
                              path));
    case EACCES:
    case EPERM:
    case ELOOP:
    case ETXTBSY:
    case EISDIR:
    case EINVAL:
    case ELIBBAD:
      throw error(
          errc::program_not_executable,
          fmt::format("program '{}' cannot be executed: {}", path,
                      exists && S_ISDIR(status.st_mode) ? errno_text(EISDIR) : errno_text(number)));
    default:
      throw error(errc::start_failed,
                  fmt::format("program '{}' cannot be started: {}", path, errno_text(number)));
  }
}

/// Throws the reason of a failed start; the message names the file.
[[noreturn]] inline void throw_start_error(const process_spec& spec, const std::string& path,
                                           const spawn_result& failed) {
  const auto start_failed = [&](const char* step) {
    return error(errc::start_failed,
                 fmt::format("program '{}' cannot be started: {} ({}){}", path,
                             errno_text(failed.failure), step, limit_reached(failed.failure)));
  };
  switch (failed.stage) {
    case spawn_stage::execute: throw_execute_error(spec, path, failed.failure);
    case spawn_stage::directory:
      throw error(errc::file_access,
                  fmt::format("working directory '{}' of program '{}' cannot be entered: {}",
                              spec.directory, path, errno_text(failed.failure)));
    case spawn_stage::prepare: throw start_failed("no memory for its start");
    case spawn_stage::clone: throw start_failed("a new process");
    case spawn_stage::session: throw start_failed("its session");
    case spawn_stage::parent_death: throw start_failed("its tie to this process");
    case spawn_stage::processors:
      throw error(errc::start_failed,
                  fmt::format("program '{}' cannot be started on the processors {}: {}", path,
                              spec.processors.text(), errno_text(failed.failure)));
    case spawn_stage::streams: break;
  }
  throw start_failed("its standard streams");
}

}  // namespace elastic::detail
