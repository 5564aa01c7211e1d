// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// How soon can an agent without rights know that a large worker dies? The kernel tells of a death
// when it has taken the worker's memory back, or written its core. This kills workers of 1 and 4 GB
// and notes when each sign of it can be seen first: those that somebody is woken by, and those
// that one has to look for.
//
//   large_death [RUNS]
//
// The looks are in runs of their own: a look at /proc/PID/stat holds the memory for a moment, and
// where that is the moment of the death, the looker takes the memory back in place of the worker.

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t gigabyte = std::size_t{1} << 30;
/// Cores are cut there: a whole one takes as long as its disk does.
constexpr rlim_t core_bytes = rlim_t{256} << 20;
/// PF_EXITING and PF_DUMPCORE in the kernel's flags of a process.
constexpr unsigned long exiting = 0x4;
constexpr unsigned long dumping = 0x200;

using milliseconds = double;
using samples = std::map<std::string, std::vector<milliseconds>>;

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void fail(const char* call) {
  std::perror(call);
  std::exit(1);
}

/// What the worker and its parent share: the lock is the worker's as long as it lives.
struct shared_lock {
  pthread_mutex_t mutex;
};

shared_lock* make_lock() {
  void* const memory = ::mmap(nullptr, sizeof(shared_lock), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  auto* const lock = static_cast<shared_lock*>(memory);
  pthread_mutexattr_t kind;
  ::pthread_mutexattr_init(&kind);
  ::pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&lock->mutex, &kind);
  return lock;
}

int last_words = -1;

/// What a worker may install for its own crashes.
void say_last_words(int signal) {
  [[maybe_unused]] const ssize_t written = ::write(last_words, "!", 1);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// A worker that has touched its memory and waits for its death.
struct worker {
  pid_t pid = 0;
  int pidfd = -1;
  int pipe = -1;
  int socket = -1;
  int words = -1;
  shared_lock* lock = make_lock();

  explicit worker(std::size_t bytes) {
    int pipe_ends[2];
    int socket_ends[2];
    int word_ends[2];
    if (::pipe2(pipe_ends, O_CLOEXEC) != 0 || ::pipe2(word_ends, O_CLOEXEC) != 0 ||
        ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket_ends) != 0) {
      fail("pipe");
    }
    pid = ::fork();
    if (pid < 0) fail("fork");
    if (pid == 0) {
      ::close(pipe_ends[0]);
      ::close(socket_ends[0]);
      ::close(word_ends[0]);
      live(bytes, pipe_ends[1], word_ends[1]);
    }
    ::close(pipe_ends[1]);
    ::close(socket_ends[1]);
    ::close(word_ends[1]);
    pipe = pipe_ends[0];
    socket = socket_ends[0];
    words = word_ends[0];
    pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    char ready = 0;
    if (pidfd < 0 || ::read(pipe, &ready, 1) != 1) fail("the worker");
  }
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker() {
    for (const int descriptor : {pidfd, pipe, socket, words}) ::close(descriptor);
    ::munmap(lock, sizeof *lock);
  }

 private:
  [[noreturn]] void live(std::size_t bytes, int ready, int out) const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit core{core_bytes, core_bytes};
    ::setrlimit(RLIMIT_CORE, &core);
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    ::madvise(memory, bytes, MADV_NOHUGEPAGE);
    std::memset(memory, 1, bytes);
    last_words = out;
    std::signal(SIGSEGV, say_last_words);
    ::pthread_mutex_lock(&lock->mutex);
    if (::write(ready, "r", 1) != 1) std::_Exit(1);
    for (;;) ::pause();
  }
};

milliseconds since(std::int64_t begun) { return static_cast<double>(now() - begun) / 1e6; }

/// A thread that is woken when the worker's lock has lost its owner.
class lock_watch {
 public:
  explicit lock_watch(pthread_mutex_t& mutex)
      : thread_([this, &mutex] {
          if (::pthread_mutex_lock(&mutex) == EOWNERDEAD) at_ = now();
        }) {}
  /// When that was.
  std::int64_t join() {
    thread_.join();
    return at_;
  }

 private:
  std::atomic<std::int64_t> at_ = 0;
  std::thread thread_;
};

/// What somebody is woken by.
void watch_events(std::size_t bytes, int signal, samples& times) {
  worker victim(bytes);
  lock_watch lock(victim.lock->mutex);
  ::usleep(50'000);  // it waits by then
  std::array<pollfd, 4> signs{{{victim.words, POLLIN, 0},
                               {victim.pipe, 0, 0},  // its hang-up
                               {victim.socket, POLLIN, 0},
                               {victim.pidfd, POLLIN, 0}}};
  const std::array<const char*, 4> names{"word", "pipe", "socket", "pidfd"};
  const std::int64_t begun = now();
  ::kill(victim.pid, signal);
  for (std::size_t left = signs.size(); left > 0;) {
    if (::poll(signs.data(), signs.size(), -1) < 0) fail("poll");
    for (std::size_t i = 0; i < signs.size(); ++i) {
      if (signs[i].fd < 0 || signs[i].revents == 0) continue;
      const bool has_word = i != 0 || (signs[i].revents & POLLIN) != 0;
      if (has_word) times[names[i]].push_back(since(begun));
      signs[i].fd = -1;
      --left;
    }
  }
  int status = 0;
  ::waitpid(victim.pid, &status, 0);
  times["wait"].push_back(since(begun));
  times["lock"].push_back(static_cast<double>(lock.join() - begun) / 1e6);
  if (signal == SIGSEGV && !WCOREDUMP(status)) std::fprintf(stderr, "no core was written\n");
}

std::string_view read_all(int descriptor, std::array<char, 4096>& buffer) {
  const ssize_t size = ::pread(descriptor, buffer.data(), buffer.size() - 1, 0);
  return {buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

/// The state and the flags of a line of /proc/PID/stat.
struct stat_line {
  char state = '?';
  unsigned long flags = 0;
};

stat_line parse_stat(std::string_view text) {
  stat_line line;
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return line;
  std::sscanf(text.data() + name_end + 1, " %c %*d %*d %*d %*d %*d %lu", &line.state, &line.flags);
  return line;
}

/// What one has to look for, as fast as one can.
void watch_looks(std::size_t bytes, int signal, samples& times) {
  worker victim(bytes);
  ::usleep(50'000);
  const std::string folder = "/proc/" + std::to_string(victim.pid) + "/";
  const int stat = ::open((folder + "stat").c_str(), O_RDONLY | O_CLOEXEC);
  const int status = ::open((folder + "status").c_str(), O_RDONLY | O_CLOEXEC);
  std::array<char, 4096> buffer{};
  const auto note = [&](const char* name, bool is_there, std::int64_t begun, bool& was_there) {
    if (!is_there || was_there) return;
    was_there = true;
    times[name].push_back(since(begun));
  };
  bool state = false, exits = false, dumps = false, says = false;
  const std::int64_t begun = now();
  ::kill(victim.pid, signal);
  pollfd end{victim.pidfd, POLLIN, 0};
  while (::poll(&end, 1, 0) == 0) {
    const stat_line line = parse_stat(read_all(stat, buffer));
    note("state", line.state != 'S', begun, state);
    note("exiting", (line.flags & exiting) != 0, begun, exits);
    note("dumping", (line.flags & dumping) != 0, begun, dumps);
    note("CoreDumping", read_all(status, buffer).find("CoreDumping:\t1") != std::string_view::npos,
         begun, says);
  }
  times["pidfd while looking"].push_back(since(begun));
  ::waitpid(victim.pid, nullptr, 0);
  ::close(stat);
  ::close(status);
}

std::string figures(std::vector<milliseconds> values) {
  if (values.empty()) return "never";
  std::sort(values.begin(), values.end());
  char text[64];
  std::snprintf(text, sizeof text, "%.2f (%.2f - %.2f)", values[values.size() / 2],
                values[values.size() / 4], values[3 * values.size() / 4]);
  return text;
}

double load() {
  double averages[1] = {0};
  ::getloadavg(averages, 1);
  return averages[0];
}

}  // namespace

int main(int count, char** words) {
  const int runs = count > 1 ? std::atoi(words[1]) : 9;
  // Cores are written where the process stands.
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("large_death_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  std::filesystem::current_path(folder);
  std::string pattern;
  std::getline(std::ifstream("/proc/sys/kernel/core_pattern"), pattern);
  std::printf(
      "%d runs, median (quartiles) in ms from the signal on; cores of at most %d MB, "
      "core_pattern '%s'; load %.2f",
      runs, static_cast<int>(core_bytes >> 20), pattern.c_str(), load());
  std::array<samples, 4> results;
  const std::array<std::size_t, 2> sizes{1 * gigabyte, 4 * gigabyte};
  for (int run = 0; run <= runs; ++run) {
    std::size_t column = 0;
    for (const int signal : {SIGKILL, SIGSEGV}) {
      for (const std::size_t bytes : sizes) {
        samples ignored;  // the first run warms up
        samples& times = run == 0 ? ignored : results[column];
        watch_events(bytes, signal, times);
        watch_looks(bytes, signal, times);
        for (const auto& file : std::filesystem::directory_iterator(folder)) {
          std::filesystem::remove(file.path());
        }
        ++column;
      }
    }
  }
  std::printf(", at the end %.2f\n\n", load());
  std::printf(
      "| | SIGKILL, 1 GB | SIGKILL, 4 GB | SIGSEGV, 1 GB | SIGSEGV, 4 GB |\n"
      "| --- | --- | --- | --- | --- |\n");
  const std::array<std::array<const char*, 2>, 11> rows{{
      {"state", "a look: another state in /proc/PID/stat"},
      {"exiting", "a look: PF_EXITING in its flags"},
      {"dumping", "a look: PF_DUMPCORE in its flags"},
      {"CoreDumping", "a look: `CoreDumping: 1` in /proc/PID/status"},
      {"pidfd while looking", "the pidfd is readable, while somebody looks"},
      {"word", "event: a byte that its handler wrote"},
      {"lock", "event: its robust lock has lost its owner"},
      {"pipe", "event: its pipe is closed"},
      {"socket", "event: its socket is closed"},
      {"pidfd", "event: the pidfd is readable"},
      {"wait", "wait has returned"},
  }};
  for (const auto& [name, text] : rows) {
    std::printf("| %s |", text);
    for (const samples& column : results) {
      const auto found = column.find(name);
      std::printf(" %s |", found == column.end() ? "never" : figures(found->second).c_str());
    }
    std::printf("\n");
  }
  std::filesystem::current_path("/");
  std::filesystem::remove_all(folder);
}
