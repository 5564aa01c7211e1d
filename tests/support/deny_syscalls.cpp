// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Runs a program for which the kernel refuses some system calls, as under a container's seccomp
// profile:
//
//     deny_syscalls io_uring_setup,clone3=ENOSYS [--errno EPERM] -- program argument…
//
// A name may have its own error; the others fail with that of --errno (default: EPERM). Everything
// that the program starts inherits the filter. Exit code: 2 for a wrong command line, 127 if the
// program cannot be run, else that of the program.

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

#if defined(__x86_64__)
constexpr unsigned this_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned this_architecture = AUDIT_ARCH_AARCH64;
#else
#error "deny_syscalls knows x86_64 and aarch64"
#endif

const std::map<std::string_view, long> syscalls = {
    {"clone", SYS_clone},
    {"clone3", SYS_clone3},
    {"close_range", SYS_close_range},
    {"epoll_create1", SYS_epoll_create1},
    {"eventfd2", SYS_eventfd2},
    {"execve", SYS_execve},
    {"execveat", SYS_execveat},
    {"fallocate", SYS_fallocate},
    {"getdents64", SYS_getdents64},
    {"getrandom", SYS_getrandom},
    {"inotify_init1", SYS_inotify_init1},
    {"io_uring_enter", SYS_io_uring_enter},
    {"io_uring_register", SYS_io_uring_register},
    {"io_uring_setup", SYS_io_uring_setup},
    {"kill", SYS_kill},
    {"memfd_create", SYS_memfd_create},
    {"mmap", SYS_mmap},
    {"openat2", SYS_openat2},
    {"pidfd_getfd", SYS_pidfd_getfd},
    {"pidfd_open", SYS_pidfd_open},
    {"pidfd_send_signal", SYS_pidfd_send_signal},
    {"pipe2", SYS_pipe2},
    {"ppoll", SYS_ppoll},
    {"prctl", SYS_prctl},
    {"process_vm_readv", SYS_process_vm_readv},
    {"ptrace", SYS_ptrace},
    {"sched_setaffinity", SYS_sched_setaffinity},
    {"sendmsg", SYS_sendmsg},
    {"setpgid", SYS_setpgid},
    {"setsid", SYS_setsid},
    {"signalfd4", SYS_signalfd4},
    {"socket", SYS_socket},
    {"socketpair", SYS_socketpair},
    {"splice", SYS_splice},
    {"tee", SYS_tee},
    {"timerfd_create", SYS_timerfd_create},
    {"unshare", SYS_unshare},
    {"userfaultfd", SYS_userfaultfd},
    {"wait4", SYS_wait4},
    {"waitid", SYS_waitid},
};

const std::map<std::string_view, int> errors = {
    {"EACCES", EACCES}, {"EAGAIN", EAGAIN}, {"EINVAL", EINVAL}, {"EMFILE", EMFILE},
    {"EFBIG", EFBIG}, {"ENFILE", ENFILE}, {"ENOMEM", ENOMEM}, {"ENOSYS", ENOSYS}, {"EPERM", EPERM},
};

[[noreturn]] void misused(const std::string& why) {
  std::fprintf(stderr, "deny_syscalls: %s\n", why.c_str());
  std::exit(2);
}

template <class Value>
Value look_up(const std::map<std::string_view, Value>& table, std::string_view name) {
  const auto found = table.find(name);
  if (found == table.end()) misused("unknown name: " + std::string(name));
  return found->second;
}

/// A system call by number, and the error with which it fails.
using denial = std::pair<long, int>;

std::vector<denial> parse(std::string_view list, int usual_error) {
  std::vector<denial> denials;
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view item = list.substr(0, comma);
    const std::size_t equals = item.find('=');
    const bool has_error = equals != std::string_view::npos;
    denials.emplace_back(look_up(syscalls, item.substr(0, equals)),
                         has_error ? look_up(errors, item.substr(equals + 1)) : usual_error);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return denials;
}

void deny(const std::vector<denial>& denials) {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, this_architecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const auto& [number, failure] : denials) {
    filter.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    filter.push_back(
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(failure)));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    misused(std::string("prctl: ") + std::strerror(errno));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view list;
  int usual_error = EPERM;
  int at = 1;
  for (; at < argc && std::string_view(argv[at]) != "--"; ++at) {
    if (std::string_view(argv[at]) == "--errno" && at + 1 < argc) {
      usual_error = look_up(errors, argv[++at]);
    } else if (list.empty()) {
      list = argv[at];
    } else {
      misused("one list of names, then -- and a program");
    }
  }
  if (list.empty() || at + 1 >= argc) misused("a list of names, then -- and a program");
  deny(parse(list, usual_error));
  char** command = argv + at + 1;
  execvp(command[0], command);
  std::fprintf(stderr, "deny_syscalls: %s: %s\n", command[0], std::strerror(errno));
  return 127;
}
