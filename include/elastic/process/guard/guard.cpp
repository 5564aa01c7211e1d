// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The guard: one small process between an agent and each of its workers, so that no descendant of
// the worker outlives either of them.
//
//   agent ── guard (subreaper, session of its own, one thread) ── worker ── descendants
//
// The kernel keeps the list of processes: whatever the worker's tree leaves behind (a double fork,
// setsid, nohup) is reparented to the guard. The guard signals only its own children, before it
// reaps them, so that no pid can belong to a stranger. When it has no child left, the tree has
// certainly ended.
//
// Helpers that clean up after the worker, such as Python's resource tracker, unlink its shared
// memory and end by themselves once all others have ended: they have a limited time for that.
//
// It uses no library, no writable data and no heap. It has about 4 kB, which the kernel maps and
// starts in a tenth of a millisecond, whatever the size of the agent.
//
// Arguments: the protocol's version, whether the guard must hold all processes, the time in ms for
// which processes left behind may linger, the path of the worker's program, and the worker's
// arguments, beginning with its name. Environment, directory and the streams 0 to 2 are the
// worker's. Descriptor 3 is a SOCK_SEQPACKET socket to the agent, 4 a pidfd of the agent, if it has
// one.
//
// The agent sends single bytes: the number of a signal for the worker and its process group, or 255
// to end the tree. If the socket or the agent ends, the guard ends the tree, too.

#include <elastic/process/detail/guard_protocol.hpp>

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif

namespace elastic::detail {
namespace {

// ---- the kernel: results are negative error numbers ---------------------------------------------

#if defined(__x86_64__)
inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  long result;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                   : "rcx", "r11", "memory");
  return result;
}
__asm__(
    ".globl _start\n_start:\n"
    "  xor %ebp, %ebp\n"
    "  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n"
    "  call guard_main\n");
#elif defined(__aarch64__)
inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  register long which __asm__("x8") = number;
  register long first __asm__("x0") = a;
  register long second __asm__("x1") = b;
  register long third __asm__("x2") = c;
  register long fourth __asm__("x3") = d;
  register long fifth __asm__("x4") = e;
  __asm__ volatile("svc 0"
                   : "+r"(first)
                   : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
                   : "memory");
  return first;
}
__asm__(
    ".globl _start\n_start:\n"
    "  mov x29, #0\n"
    "  mov x30, #0\n"
    "  mov x0, sp\n"
    "  bl guard_main\n");
#else
#error "no guard for this processor"
#endif

template <class T>
long address(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

timespec milliseconds(long count) { return {count / 1000, count % 1000 * 1'000'000}; }

long monotonic_time() {
  timespec now{0, 0};
  call(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, address(&now));
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

[[noreturn]] void leave(int code) {
  for (;;) call(SYS_exit_group, code);
}

using signal_set = unsigned long;  // the kernel's: one bit for each of 64
constexpr signal_set bit(int number) { return 1UL << (number - 1); }

void set_mask(signal_set blocked) {
  call(SYS_rt_sigprocmask, SIG_SETMASK, address(&blocked), 0, sizeof blocked);
}

// ---- the guard ----------------------------------------------------------------------------------

struct guard {
  int self;
  /// 0 if it was not started or was reaped.
  int worker;
  /// The pidfd of the agent; -1 if there is none: then only the end of the socket shows the agent's
  /// end.
  int agent;
  /// The signalfd for SIGCHLD.
  int signals;
  /// The kernel reparents processes that leave the worker's tree to the guard.
  bool holds;
  /// Whether `stuck` was sent.
  bool told_stuck;
  /// Whether the message was sent that only managers are left.
  bool told_empty;
  /// Whether the last look found children other than helpers.
  bool has_others;
  /// The same for each kind of helper.
  bool has_helper[guard_helpers];
  /// Helpers of this kind may end by themselves.
  bool spares[guard_helpers];
  /// The time that they may take when all others have ended. The kernel counts it down.
  timespec patience[guard_helpers];
  /// The number of times that helpers were spared. Children that keep ending do not prolong it.
  int looks;
  /// The time, in ms, for which processes that the worker left behind may linger.
  long linger;
  /// Whether killed processes are reported as left behind by the worker, and the pids that were.
  bool names;
  int named;
  int names_told[guard_named];
};

struct command_line {
  char text[guard_command_bytes];
  long size;
};

// Sends a message. Result: negative if it was not sent.
long tell(guard_news news, long value, guard_stage stage = guard_stage::fork, int attached = -1,
          const command_line* command = nullptr) {
  guard_message message;
  message.news = news;
  message.value = static_cast<int>(value);
  message.stage = stage;
  message.size = 0;
  while (command && message.size < command->size && message.size < guard_shown_bytes) {
    message.command[message.size] = command->text[message.size];
    ++message.size;
  }
  const unsigned long unused = sizeof message.command - static_cast<unsigned>(message.size);
  iovec part{&message, sizeof message - unused};
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(sizeof(int))];
  msghdr packet;
  packet.msg_name = nullptr;
  packet.msg_namelen = 0;
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = nullptr;
  packet.msg_controllen = 0;
  packet.msg_flags = 0;
  if (attached >= 0) {
    auto* const head = reinterpret_cast<cmsghdr*>(control);
    head->cmsg_len = CMSG_LEN(sizeof(int));
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    *reinterpret_cast<int*>(CMSG_DATA(head)) = attached;
    packet.msg_control = control;
    packet.msg_controllen = CMSG_SPACE(sizeof(int));
  }
  return call(SYS_sendmsg, guard_socket, address(&packet), MSG_NOSIGNAL);
}

// The result of a start. The guard shares it with the child that becomes the worker, which uses the
// guard's memory until then.
struct start_report {
  long failure;
  guard_stage stage;
};

// Must not be inlined: the guard continues with the caller's stack frame.
[[noreturn]] __attribute__((noinline)) void become_worker(int guard_pid, char** arguments,
                                                          char** environment,
                                                          volatile start_report& report) {
  report.failure = call(SYS_setsid);
  if (report.failure >= 0) {
    report.stage = guard_stage::parent_death;
    report.failure = call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  }
  if (report.failure >= 0) {
    // The guard may have ended before the kernel knew that the worker must end with it.
    if (call(SYS_getppid) != guard_pid) leave(127);
    set_mask(0);
    report.stage = guard_stage::execute;
    report.failure = call(SYS_execve, address(arguments[3]), address(arguments + 4),
                          address(environment));
  }
  leave(127);
}

[[noreturn]] void end_tree(guard& me);

void start_worker(guard& me, char** arguments, char** environment) {
  start_report storage{0, guard_stage::session};
  // Hides from the compiler where this memory comes from: otherwise it could keep the writes of
  // each side from the other.
  volatile start_report* report = &storage;
  __asm__ volatile("" : "+r"(report) : : "memory");
  int pidfd = -1;
  const long flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  // The child needs no stack of its own: the guard is suspended until the child has executed or
  // ended.
  long pid = call(SYS_clone, flags | CLONE_PIDFD, 0, address(&pidfd));
  // An emulator of another processor may not support pidfds.
  if (pid == -EINVAL) pid = call(SYS_clone, flags);
  if (pid == 0) become_worker(me.self, arguments, environment, *report);
  if (pid < 0) {
    tell(guard_news::not_started, -pid);
    leave(1);
  }
  if (report->failure < 0) {
    tell(guard_news::not_started, -report->failure, report->stage);
    leave(1);
  }
  me.worker = static_cast<int>(pid);
  const guard_stage lacking = me.holds ? guard_stage::fork : guard_stage::hold;
  if (tell(guard_news::started, pid, lacking, pidfd) < 0) end_tree(me);
  call(SYS_close, pidfd);
}

// Result: whether a child is left.
bool reap_all(guard& me) {
  for (;;) {
    int status = 0;
    const long pid = call(SYS_wait4, -1, address(&status), WNOHANG | __WALL);
    if (pid == 0) return true;
    if (pid < 0) return pid != -ECHILD;
    if (pid != me.worker) continue;
    me.worker = 0;
    tell(guard_news::ended, status);
  }
}

// ---- ending the tree ----------------------------------------------------------------------------

// The path of a file of a process, written from its end to its front.
struct proc_path {
  char text[32];
  char* front = text + sizeof text - 1;

  proc_path(int pid, const char* file) {
    *front = 0;
    prepend(file);
    do {
      *--front = static_cast<char>('0' + pid % 10);
      pid /= 10;
    } while (pid > 0);
    prepend("/proc/");
  }
  void prepend(const char* part) {
    const char* end = part;
    while (*end != 0) ++end;
    while (end > part) *--front = *--end;
  }
};

bool contains(const char* text, long size, const char* wanted) {
  for (const char* const end = text + size; text < end; ++text) {
    const char* at = text;
    const char* next = wanted;
    while (at < end && *next != 0 && *at == *next) ++at, ++next;
    if (*next == 0) return true;
  }
  return false;
}

void read_command(int pid, command_line& command) {
  const proc_path path(pid, "/cmdline");
  const long file = call(SYS_openat, AT_FDCWD, address(path.front), O_RDONLY);
  command.size = call(SYS_read, file, address(command.text), sizeof command.text);
  call(SYS_close, file);
}

// The kind of helper that has this command line; `guard_helpers`: none. Any process may use such a
// name, but all that it gains is the time of a helper.
int kind_of_helper(const command_line& command) {
  int kind = 0;
  while (kind < guard_helpers && !contains(command.text, command.size, guard_helper_marks[kind])) {
    ++kind;
  }
  return kind;
}

// Reports a killed process, once.
void name(guard& me, int pid, const command_line& command) {
  for (int at = 0; at < me.named && at < guard_named; ++at) {
    if (me.names_told[at] == pid) return;
  }
  if (me.named > guard_named) return;
  const bool is_more = me.named == guard_named;
  if (!is_more) me.names_told[me.named] = pid;
  ++me.named;
  tell(guard_news::killed, is_more ? 0 : pid, guard_stage::fork, -1, is_more ? nullptr : &command);
}

// Kills a child. Result: false if the pid is not that of a child: the /proc of another pid
// namespace has other numbers.
bool kill_child(guard& me, int pid) {
  siginfo_t info;
  // Only the kernel knows for certain whether it is a child.
  const int flags = WEXITED | WNOHANG | WNOWAIT | __WALL;
  if (call(SYS_waitid, P_PID, pid, address(&info), flags) < 0) return false;
  // It has ended, and will be reaped soon.
  if (info.si_pid != 0) return true;
  command_line command;
  if (pid != me.worker) read_command(pid, command);
  const int kind = pid == me.worker ? guard_helpers : kind_of_helper(command);
  if (kind < guard_helpers && me.spares[kind]) {
    me.has_helper[kind] = true;
    // A stopped helper could not end.
    call(SYS_kill, pid, SIGCONT);
    return true;
  }
  me.has_others = true;
  if (me.names) name(me, pid, command);
  if (call(SYS_kill, pid, SIGKILL) >= 0 || me.told_stuck) return true;
  me.told_stuck = true;
  tell(guard_news::stuck, pid);
  return true;
}

// Reads the number at `at`, and moves `at` behind it. Result: -1 if there is none.
int read_number(const char*& at, const char* end) {
  while (at < end && *at == ' ') ++at;
  if (at == end || *at < '0' || *at > '9') return -1;
  int number = 0;
  while (at < end && *at >= '0' && *at <= '9') number = number * 10 + (*at++ - '0');
  return number;
}

// Kills the children in the kernel's list. Result: false if none was found: the kernel may keep no
// such list.
bool kill_listed_children(guard& me) {
  const long list = call(SYS_openat, AT_FDCWD, address("/proc/thread-self/children"), O_RDONLY);
  if (list < 0) return false;
  // The next look finds a number again that is cut at the end of the piece.
  char text[4096];
  const long size = call(SYS_read, list, address(text), sizeof text);
  call(SYS_close, list);
  if (size < 0) return false;
  const char* at = text;
  const char* const end = text + size;
  bool found = false;
  for (;;) {
    const int pid = read_number(at, end);
    if (pid <= 0 || (at == end && size == sizeof text)) return found;
    if (kill_child(me, pid)) found = true;
  }
}

// The parent's number in the text of /proc/PID/stat.
int parent_in(const char* text, long size) {
  const char* const end = text + size;
  const char* at = end;
  while (at > text && at[-1] != ')') --at;
  if (at == text || end - at < 4) return -1;
  at += 3;  // a blank, the state, a blank
  return read_number(at, end);
}

// Kills the children that /proc shows. Result: false if none was found.
bool kill_found_children(guard& me) {
  struct entry {
    unsigned long inode;
    long offset;
    unsigned short size;
    unsigned char type;
    char name[1];
  };
  const long folder = call(SYS_openat, AT_FDCWD, address("/proc"), O_RDONLY | O_DIRECTORY);
  if (folder < 0) return false;
  bool found = false;
  alignas(entry) char entries[2048];
  for (;;) {
    const long size = call(SYS_getdents64, folder, address(entries), sizeof entries);
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      auto* const one = reinterpret_cast<entry*>(entries + at);
      at += one->size;
      const char* name = one->name;
      const int pid = read_number(name, entries + at);
      if (pid <= 0) continue;
      const long process = call(SYS_openat, folder, address(one->name), O_RDONLY | O_DIRECTORY);
      const long file = call(SYS_openat, process, address("stat"), O_RDONLY);
      char text[256];
      const long read = call(SYS_read, file, address(text), sizeof text);
      call(SYS_close, file);
      call(SYS_close, process);
      if (read <= 0 || parent_in(text, read) != me.self) continue;
      if (kill_child(me, pid)) found = true;
    }
  }
  call(SYS_close, folder);
  return found;
}

// Tries every pid, which takes half a second, if there is no /proc or it is that of another pid
// namespace.
void kill_guessed_children(guard& me) {
  constexpr int most = 4 * 1024 * 1024;  // Linux gives no higher number
  for (int pid = 1; pid <= most; ++pid) kill_child(me, pid);
}

// Waits for the end of a child. Its own children are ours from then on.
void await_child(guard& me) {
  pollfd ended{me.signals, POLLIN, 0};
  int kind = 0;
  while (kind < guard_helpers && !me.has_helper[kind]) ++kind;
  if (kind < guard_helpers && !me.has_others) {
    if (kind == static_cast<int>(guard_helper::manager) && !me.told_empty) {
      me.told_empty = true;
      tell(guard_news::empty, 1);
    }
    const long ready = call(SYS_ppoll, address(&ended), 1, address(&me.patience[kind]), 0, 0);
    if (ready == 0) me.spares[kind] = false;
    return;
  }
  // The time-out is for changes that the kernel does not report: a child that could not be killed
  // before may be killable now.
  timespec patience{me.told_stuck ? 1 : 0, me.told_stuck ? 0 : 20'000'000};
  call(SYS_ppoll, address(&ended), 1, address(&patience), 0, 0);
}

void drain_signals(guard& me) {
  signalfd_siginfo info;
  while (call(SYS_read, me.signals, address(&info), sizeof info) > 0) {
  }
}

[[noreturn]] void end_tree(guard& me) {
  if (!me.holds && me.worker > 0) call(SYS_kill, -me.worker, SIGKILL);
  me.names = me.worker == 0;
  for (;;) {
    drain_signals(me);
    if (!reap_all(me)) break;
    me.has_others = false;
    for (bool& has : me.has_helper) has = false;
    if (++me.looks == guard_looks) {
      for (bool& spares : me.spares) spares = false;
    }
    if (!kill_listed_children(me) && !kill_found_children(me)) kill_guessed_children(me);
    await_child(me);
  }
  if (!me.told_empty) tell(guard_news::empty, 0);
  leave(0);
}

// ---- life ---------------------------------------------------------------------------------------

void obey(guard& me) {
  unsigned char request = 0;
  const long size = call(SYS_recvfrom, guard_socket, address(&request), sizeof request, 0, 0);
  if (size <= 0 || request == guard_end_tree) end_tree(me);
  if (request <= 64 && me.worker > 0) call(SYS_kill, -me.worker, request);
}

[[noreturn]] void watch(guard& me) {
  long linger_ends = 0;
  for (;;) {
    pollfd sources[3] = {
        {guard_socket, POLLIN, 0}, {me.agent, POLLIN, 0}, {me.signals, POLLIN, 0}};
    timespec rest;
    timespec* limit = nullptr;
    if (me.worker == 0) {
      const long now = monotonic_time();
      if (linger_ends == 0) linger_ends = now + me.linger;
      if (now >= linger_ends) end_tree(me);
      rest = milliseconds(linger_ends - now);
      limit = &rest;
    }
    const long ready = call(SYS_ppoll, address(sources), 3, address(limit), 0, 0);
    if (ready == -EINTR) continue;
    // The guard cannot wait any more, so it ends the tree.
    if (ready < 0) end_tree(me);
    if (sources[2].revents != 0) {
      drain_signals(me);
      if (!reap_all(me)) end_tree(me);
    }
    if (sources[1].revents != 0) end_tree(me);
    if (sources[0].revents != 0) obey(me);
  }
}

bool is_same(const char* left, const char* right) {
  while (*left != 0 && *left == *right) ++left, ++right;
  return *left == *right;
}

// Checks the system calls that the guard needs and that a filter may refuse. Result: a negative
// error number; 0: none is refused.
long find_refusal(const guard& me) {
  if (me.signals < 0) return me.signals;
  const timespec at_once{0, 0};
  const long waited = call(SYS_ppoll, 0, 0, address(&at_once));
  if (waited < 0) return waited;
  const long told = call(SYS_sendmsg, -1);
  if (told != -EBADF && told != -EFAULT) return told;
  const long killed = call(SYS_kill, me.self, 0);
  if (killed < 0) return killed;
  const long reaped = call(SYS_wait4, -1, 0, WNOHANG | __WALL);
  if (reaped != -ECHILD) return reaped;
  const long found = call(SYS_waitid, P_ALL, 0, 0, WEXITED | WNOHANG | WNOWAIT | __WALL);
  return found == -ECHILD ? 0 : found;
}

extern "C" [[noreturn]] __attribute__((used)) void guard_main(long* stack) {
  const long count = stack[0];
  char** const arguments = reinterpret_cast<char**>(stack + 1);
  char** const environment = arguments + count + 1;
  if (count < 5 || !is_same(arguments[0], guard_version)) leave(64);

  guard me;
  me.self = static_cast<int>(call(SYS_getpid));
  me.worker = 0;
  me.told_stuck = false;
  me.told_empty = false;
  me.named = 0;
  me.looks = 0;
  const char* digits = arguments[2];
  me.linger = read_number(digits, digits + 10);
  for (int kind = 0; kind < guard_helpers; ++kind) {
    me.spares[kind] = true;
    me.patience[kind] = milliseconds(guard_helper_patience[kind]);
  }
  set_mask(~0UL);
  call(SYS_prctl, PR_SET_NAME, address("elastic-guard"));
  const long adopts = call(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
  me.holds = adopts >= 0;
  // The worker must not inherit these descriptors.
  call(SYS_fcntl, guard_socket, F_SETFD, FD_CLOEXEC);
  me.agent = call(SYS_fcntl, guard_agent, F_SETFD, FD_CLOEXEC) < 0 ? -1 : guard_agent;
  signal_set told = bit(SIGCHLD);
  me.signals = static_cast<int>(
      call(SYS_signalfd4, -1, address(&told), sizeof told, SFD_CLOEXEC | SFD_NONBLOCK));
  long refusal = find_refusal(me);
  if (refusal == 0 && !me.holds && !is_same(arguments[1], guard_may_fail)) refusal = adopts;
  if (refusal < 0) {
    tell(guard_news::not_started, -refusal, guard_stage::hold);
    leave(1);
  }

  start_worker(me, arguments, environment);
  // Closes the streams, so that the worker's output ends when the processes that write it end.
  for (int stream = 0; stream < 3; ++stream) call(SYS_close, stream);
  watch(me);
}

}  // namespace
}  // namespace elastic::detail
