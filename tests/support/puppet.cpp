// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A worker with scripted behaviour, for tests and benchmarks: executes its arguments in order.
//
//   exit N              ends with exit code N
//   die N               dies of signal N, even if it is ignored or blocked; leaves no core
//   abort-on-term       ends with exit code 0 on SIGTERM (the default is to die of it)
//   on N exit CODE      ends with CODE on signal N
//   on N print TEXT     writes TEXT and a line end to stdout on signal N, and continues
//   ignore N            ignores signal N
//   stop                stops itself (SIGSTOP)
//   become-root         takes all rights of a setuid file's owner for good
//   hang                sleeps until a signal ends it
//   sleep MS            sleeps for milliseconds
//   block               waits forever in uninterruptible sleep, which only SIGKILL ends
//   fork KIND           leaves a process that hangs: plain, group (its own process group),
//                       setsid (its own session), daemon (that, and forked twice), each with
//                       "+pipe" to keep the standard streams, which it closes otherwise
//   fork-thread         as `fork setsid`, but from a second thread, which lives on
//   print TEXT          writes TEXT to stdout; no line end is added
//   line TEXT           writes TEXT and a line end to stdout; eline: to stderr
//   flood COUNT SIZE    writes COUNT lines of SIZE bytes to stdout, "<number> xxx…", large writes
//   flood-lines COUNT SIZE   the same with one write for each line
//   long SIZE           writes SIZE bytes without a line end
//   close FD            closes a descriptor
//   env cwd fds ids signals args   prints these facts about itself, one per line
//   touch FILE          creates a file
//   await FILE          waits until a file exists
//   vault-commit STEP TEXT   commits TEXT and the numbers 1.5 and 2.5 into the vault, and prints
//                       what became of it
//   vault-read SIZE     prints what the vault has: a text of this size, and two numbers
//   stamp FILE          appends "start <pid> <ns>" to FILE, with CLOCK_MONOTONIC at the first
//                       statement of main, and "term <pid> <ns>" when SIGTERM comes, which ends it

#include <elastic/vault/worker_vault.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace {

int exit_code_on[65];
const char* text_on[65];
int stamp_file = -1;

long long monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, size);
    if (written < 0) ::_exit(99);
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

void write_text(int fd, const std::string& text) { write_all(fd, text.data(), text.size()); }

// "<what> <pid> <ns>\n" in one write; async-signal-safe.
void write_stamp(int fd, const char* name, long long ns) {
  char line[64];
  char* at = line + sizeof line;
  const auto put_number = [&](long long value) {
    do {
      *--at = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value > 0);
  };
  *--at = '\n';
  put_number(ns);
  *--at = ' ';
  put_number(::getpid());
  *--at = ' ';
  for (std::size_t i = std::strlen(name); i > 0; --i) *--at = name[i - 1];
  write_all(fd, at, static_cast<std::size_t>(line + sizeof line - at));
}

void on_signal_exit(int number) { ::_exit(exit_code_on[number]); }

void on_signal_print(int number) {
  write_all(1, text_on[number], std::strlen(text_on[number]));
  write_all(1, "\n", 1);
}

void on_term_stamp(int) {
  const long long now = monotonic_ns();
  write_stamp(stamp_file, "term", now);
  ::_exit(0);
}

void set_handler(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigaction(number, &action, nullptr);
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

[[noreturn]] void die(int number) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  set_handler(number, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, number);
  ::sigprocmask(SIG_UNBLOCK, &only, nullptr);
  ::kill(::getpid(), number);
  ::_exit(98);  // only reached if the signal does not kill
}

void drop_streams() {
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nowhere, fd);
  if (nowhere > 2) ::close(nowhere);
}

// Returns only in the parent, once the process that stays is set up.
void leave_process(std::string kind) {
  const std::size_t plus = kind.find("+pipe");
  const bool keeps_streams = plus != std::string::npos;
  kind.resize(keeps_streams ? plus : kind.size());
  int ready[2];
  if (::pipe(ready) != 0) ::_exit(97);
  const pid_t first = ::fork();
  if (first == 0) {
    if (kind == "setsid" || kind == "daemon") ::setsid();
    if (kind == "group") ::setpgid(0, 0);
    if (kind == "daemon" && ::fork() != 0) ::_exit(0);
    if (!keeps_streams) drop_streams();
    ::close(ready[0]);
    ::close(ready[1]);
    hang();
  }
  if (kind == "daemon") ::waitpid(first, nullptr, 0);
  ::close(ready[1]);
  char byte;
  while (::read(ready[0], &byte, 1) > 0) {
  }
  ::close(ready[0]);
}

void flood(long count, std::size_t size, std::size_t lines_per_write) {
  std::string batch;
  for (long number = 0; number < count;) {
    batch.clear();
    for (std::size_t i = 0; i < lines_per_write && number < count; ++i, ++number) {
      const std::size_t begin = batch.size();
      batch += std::to_string(number);
      batch += ' ';
      if (batch.size() - begin + 1 < size) batch.append(size - (batch.size() - begin) - 1, 'x');
      batch += '\n';
    }
    write_text(1, batch);
  }
}

void print_environment(char** environment) {
  for (; *environment; ++environment) write_text(1, std::string(*environment) + "\n");
}

void print_descriptors() {
  std::string text;
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] == '.' || fd == ::dirfd(folder)) continue;
    text += "fd " + std::to_string(fd) + "\n";
  }
  ::closedir(folder);
  write_text(1, text);
}

void print_ids() {
  int death_signal = 0;
  ::prctl(PR_GET_PDEATHSIG, &death_signal);
  write_text(1, "pid " + std::to_string(::getpid()) + "\nparent " + std::to_string(::getppid()) +
                    "\ngroup " + std::to_string(::getpgrp()) + "\nsession " +
                    std::to_string(::getsid(0)) + "\ndeath_signal " + std::to_string(death_signal) +
                    "\n");
}

// "SigBlk: 0000…" and "SigIgn: 0000…" as the kernel sees them.
void print_signals() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  char line[256];
  while (std::fgets(line, sizeof line, status)) {
    if (std::strncmp(line, "SigBlk", 6) == 0 || std::strncmp(line, "SigIgn", 6) == 0) {
      write_text(1, line);
    }
  }
  std::fclose(status);
}

void commit_into_vault(long step, const std::string& text) {
  elastic::worker_vault vault;
  const std::vector<double> numbers{1.5, 2.5};
  const auto result = vault.commit({{"text", text}, {"numbers", numbers}}, step);
  write_text(1, (result.is_kept ? "kept" : "skipped: " + result.reason) + "\n");
}

void read_vault(std::size_t size) {
  elastic::worker_vault vault;
  const auto found = vault.newest();
  if (!found) return write_text(1, "nothing is in the vault\n");
  std::string text(size, ' ');
  std::vector<double> numbers(2);
  try {
    vault.read("text", text);
    vault.read("numbers", numbers);
  } catch (const std::exception& failure) {
    write_text(1, std::string(failure.what()) + "\n");
    std::exit(1);
  }
  char line[200];
  std::snprintf(line, sizeof line, "step %ld: %s, %.1f, %.1f\n", long(found->step), text.c_str(),
                numbers[0], numbers[1]);
  write_text(1, line);
}

void await_file(const char* path) {
  while (::access(path, F_OK) != 0) {
    const timespec moment{0, 1'000'000};
    ::nanosleep(&moment, nullptr);
  }
}

void begin_stamps(const char* path, long long started) {
  stamp_file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  set_handler(SIGTERM, on_term_stamp);
  write_stamp(stamp_file, "start", started);
}

void sleep_ms(long ms) {
  const timespec time{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&time, nullptr);
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  const long long started = monotonic_ns();
  int at = 1;
  const auto next = [&]() -> const char* {
    if (at < argc) return argv[at++];
    std::fprintf(stderr, "puppet: an argument is missing after '%s'\n", argv[argc - 1]);
    std::exit(64);
  };
  const auto number = [&] { return std::atoi(next()); };
  while (at < argc) {
    const std::string action = next();
    if (action == "exit") {
      ::_exit(number());
    } else if (action == "die") {
      die(number());
    } else if (action == "abort-on-term") {
      set_handler(SIGTERM, on_signal_exit);
    } else if (action == "on") {
      const int signal = number();
      if (std::string(next()) == "exit") {
        exit_code_on[signal] = number();
        set_handler(signal, on_signal_exit);
      } else {
        text_on[signal] = next();
        set_handler(signal, on_signal_print);
      }
    } else if (action == "ignore") {
      set_handler(number(), SIG_IGN);
    } else if (action == "stop") {
      ::raise(SIGSTOP);
    } else if (action == "become-root") {
      if (::setresuid(0, 0, 0) != 0) return 96;
    } else if (action == "hang") {
      hang();
    } else if (action == "sleep") {
      sleep_ms(number());
    } else if (action == "block") {
      // The parent of a vfork sleeps like this until its child executes a program, which it never
      // does.
      if (::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr) == 0) {
        for (;;) ::pause();
      }
    } else if (action == "fork") {
      leave_process(next());
    } else if (action == "fork-thread") {
      int done[2];
      if (::pipe2(done, O_CLOEXEC) != 0) return 97;
      std::thread([done] {
        leave_process("setsid");
        write_all(done[1], "x", 1);
        hang();
      }).detach();
      char byte;
      if (::read(done[0], &byte, 1) != 1) return 97;
    } else if (action == "print") {
      write_text(1, next());
    } else if (action == "line") {
      write_text(1, std::string(next()) + "\n");
    } else if (action == "eline") {
      write_text(2, std::string(next()) + "\n");
    } else if (action == "flood" || action == "flood-lines") {
      const long count = std::atol(next());
      const auto size = static_cast<std::size_t>(std::atol(next()));
      flood(count, size, action == "flood" ? 256 * 1024 / (size + 1) + 1 : 1);
    } else if (action == "long") {
      write_text(1, std::string(static_cast<std::size_t>(std::atol(next())), 'y'));
    } else if (action == "close") {
      ::close(number());
    } else if (action == "env") {
      print_environment(environment);
    } else if (action == "cwd") {
      char path[4096];
      write_text(1, std::string("cwd ") + ::getcwd(path, sizeof path) + "\n");
    } else if (action == "fds") {
      print_descriptors();
    } else if (action == "ids") {
      print_ids();
    } else if (action == "signals") {
      print_signals();
    } else if (action == "args") {
      for (int i = 0; i < argc; ++i) write_text(1, std::string("arg ") + argv[i] + "\n");
    } else if (action == "touch") {
      ::close(::open(next(), O_WRONLY | O_CREAT, 0666));
    } else if (action == "await") {
      await_file(next());
    } else if (action == "vault-commit") {
      const long step = std::atol(next());
      commit_into_vault(step, next());
    } else if (action == "vault-read") {
      read_vault(static_cast<std::size_t>(std::atol(next())));
    } else if (action == "stamp") {
      begin_stamps(next(), started);
    } else {
      std::fprintf(stderr, "puppet: unknown action '%s'\n", action.c_str());
      return 64;
    }
  }
  return 0;
}
