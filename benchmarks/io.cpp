// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Does io_uring pay where a launcher waits for its workers? Asio's reactor against the ring:
//
//   (a) the ends of many processes, awaited by their pidfds;
//   (b) output of processes in lines of 100 bytes, copied from a pipe to a file and to a sink.
//
//   io [RUNS]      default 30 of each, in turns; prints medians, quartiles and ratios
//
// This process runs on core 0, who ends or writes on core 1. CPU time is that of this process,
// threads of the kernel's that work for its ring included.

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/ring.hpp>
#include <elastic/base/event_flag.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using elastic::task;
using elastic::detail::ring;
using waiting = asio::posix::stream_descriptor;

constexpr int children = 256;
constexpr std::size_t line_bytes = 100;
[[noreturn]] void fail(const char* call) {
  std::perror(call);
  std::exit(1);
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof set, &set);  // with one core there is no choice
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// An io_context, and a ring on it where one is wanted.
struct loop {
  explicit loop(bool with_ring) {
    std::string why_not;
    if (with_ring) io = ring::try_make(context.get_executor(), {}, &why_not);
    if (with_ring && !io) {
      std::fprintf(stderr, "io_uring is not available (%s)\n", why_not.c_str());
      std::exit(1);
    }
  }
  asio::io_context context{1};
  std::shared_ptr<ring> io;
};

struct result {
  double first = 0;   // (a) µs from the end of a process to its being noticed; (b) MB/s
  double second = 0;  // CPU time: (a) µs for each process, (b) ms for each MB
};

// ---- (a) ----

// An operation of a ring that a coroutine waits for.
struct awaited {
  explicit awaited(asio::any_io_executor executor) : ended(std::move(executor)) {}

  void take(const ring::completion& done) noexcept {
    result = done.result;
    ended.set();
  }

  ring::member_operation<&awaited::take> operation{*this};
  elastic::event_flag ended;
  int result = 0;
};

task<void> await_end(int pidfd, ring* io, std::vector<clock_type::time_point>& noticed) {
  if (io) {
    auto death = std::make_shared<awaited>(io->get_executor());
    io->poll(death->operation, pidfd, POLLIN, death);
    co_await death->ended.wait();
    noticed.push_back(clock_type::now());
    ::close(pidfd);
  } else {
    waiting descriptor(co_await asio::this_coro::executor, pidfd);
    co_await descriptor.async_wait(waiting::wait_read, asio::use_awaitable);
    noticed.push_back(clock_type::now());
  }
}

result await_children(bool with_ring) {
  // Where each process writes when it ends; they are noticed in the order of their ends.
  using stamp = clock_type::time_point;
  void* const shared = ::mmap(nullptr, children * sizeof(stamp), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("mmap");
  auto* const ended = static_cast<stamp*>(shared);
  int gate[2];
  if (::pipe(gate) != 0) fail("pipe");
  std::vector<pid_t> pids;
  for (int i = 0; i < children; ++i) {
    const pid_t pid = ::fork();
    if (pid < 0) fail("fork");
    if (pid == 0) {
      pin(1);
      char byte;
      if (::read(gate[0], &byte, 1) != 1) ::_exit(1);
      ended[i] = clock_type::now();
      ::_exit(0);
    }
    pids.push_back(pid);
  }
  const double before = cpu_seconds();
  loop on(with_ring);
  std::vector<stamp> noticed;
  for (const pid_t pid : pids) {
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    asio::co_spawn(on.context, await_end(pidfd, on.io.get(), noticed), asio::detached);
  }
  on.context.poll();  // all wait
  // One by one: the time until one is noticed must not be that which the kernel needs to end the
  // one before it.
  const pid_t opener = ::fork();
  if (opener == 0) {
    pin(1);
    for (int i = 0; i < children; ++i) {
      if (::write(gate[1], "x", 1) != 1) ::_exit(1);
      ::usleep(300);
    }
    ::_exit(0);
  }
  on.context.run();
  const double used = cpu_seconds() - before;
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
  std::vector<stamp> ends(ended, ended + children);
  std::sort(ends.begin(), ends.end());
  std::vector<double> late;
  for (std::size_t i = 0; i < noticed.size(); ++i) {
    late.push_back(std::chrono::duration<double>(noticed[i] - ends[i]).count());
  }
  std::nth_element(late.begin(), late.begin() + children / 2, late.end());
  ::munmap(shared, children * sizeof(stamp));
  ::close(gate[0]);
  ::close(gate[1]);
  return {late[children / 2] * 1e6, used * 1e6 / children};
}

// ---- (b) ----

void write_all(int to, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(to, bytes, size);
    if (written < 0) fail("write");
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

// The next bytes of a pipe, 0 at its end: by the reactor as `tee` reads, a read before any wait.
task<std::size_t> read_some(waiting& descriptor, std::span<char> into) {
  for (;;) {
    const ssize_t size = ::read(descriptor.native_handle(), into.data(), into.size());
    if (size >= 0) co_return static_cast<std::size_t>(size);
    if (errno != EAGAIN) fail("read");
    co_await descriptor.async_wait(waiting::wait_read, asio::use_awaitable);
  }
}

task<void> copy(int pipe, int file, int sink, ring* io) {
  std::vector<char> buffer(64 * 1024);
  const auto executor = co_await asio::this_coro::executor;
  waiting descriptor(executor);
  if (!io) descriptor.assign(pipe);
  if (!io) descriptor.native_non_blocking(true);
  auto reading = std::make_shared<awaited>(executor);
  for (;;) {
    std::size_t size = 0;
    if (io) {
      io->read(reading->operation, pipe, buffer, reading);
      co_await reading->ended.wait();
      reading->ended.reset();
      if (reading->result > 0) size = static_cast<std::size_t>(reading->result);
    } else {
      size = co_await read_some(descriptor, buffer);
    }
    if (size == 0) break;
    write_all(file, buffer.data(), size);
    write_all(sink, buffer.data(), size);
    // Others on the loop have their turn.
    if (!io) co_await asio::post(executor, asio::use_awaitable);
  }
}

// How a process writes: so many lines, some by one write, and how long it pauses after each.
struct output {
  std::size_t lines;
  std::size_t at_once;
  unsigned pause_us;
};

result copy_output(bool with_ring, const output& how) {
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) fail("pipe");
  const pid_t writer = ::fork();
  if (writer < 0) fail("fork");
  if (writer == 0) {
    pin(1);
    const std::string block(how.at_once * line_bytes, 'l');
    for (std::size_t done = 0; done < how.lines; done += how.at_once) {
      write_all(pipe[1], block.data(), block.size());
      if (how.pause_us > 0) ::usleep(how.pause_us);
    }
    ::_exit(0);
  }
  ::close(pipe[1]);
  char name[] = "/tmp/elastic_benchmark_XXXXXX";
  const int file = ::mkstemp(name);
  const int sink = ::open("/dev/null", O_WRONLY);
  const double before = cpu_seconds();
  const auto start = clock_type::now();
  {
    loop on(with_ring);
    const int from = with_ring ? pipe[0] : ::dup(pipe[0]);
    asio::co_spawn(on.context, copy(from, file, sink, on.io.get()), asio::detached);
    on.context.run();
  }
  const double took = std::chrono::duration<double>(clock_type::now() - start).count();
  const double used = cpu_seconds() - before;
  const auto copied = static_cast<double>(::lseek(file, 0, SEEK_CUR));
  if (copied != static_cast<double>(how.lines * line_bytes)) {
    std::fprintf(stderr, "only %.0f bytes were copied\n", copied);
    std::exit(1);
  }
  ::waitpid(writer, nullptr, 0);
  for (const int fd : {pipe[0], file, sink}) ::close(fd);
  ::unlink(name);
  return {copied / 1e6 / took, used * 1e3 / (copied / 1e6)};
}

// ---- all of it ----

double quantile(std::vector<double> values, std::size_t quarter) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, values.size() * quarter / 4)];
}

template <class Measure>
void compare(int runs, const char* title, const char* first, const char* second, Measure measure) {
  std::vector<double> firsts[2], seconds[2];
  for (int run = 0; run <= runs; ++run) {
    for (const bool with_ring : {false, true}) {
      const result sample = measure(with_ring);
      if (run == 0) continue;  // warms up
      firsts[with_ring].push_back(sample.first);
      seconds[with_ring].push_back(sample.second);
    }
  }
  const auto print = [&](const char* unit, const std::vector<double>* values) {
    std::printf("| %s, %s |", title, unit);
    for (int which : {0, 1}) {
      std::printf(" %.2f (%.2f - %.2f) |", quantile(values[which], 2), quantile(values[which], 1),
                  quantile(values[which], 3));
    }
    std::printf(" %.2f |\n", quantile(values[1], 2) / quantile(values[0], 2));
    std::fflush(stdout);
  };
  print(first, firsts);
  print(second, seconds);
}

}  // namespace

int main(int count, char** words) {
  const int runs = count > 1 ? std::atoi(words[1]) : 30;
  pin(0);
  std::printf("median (quartiles) of %d runs | reactor | ring | ring / reactor |\n", runs);
  compare(runs, "end of a process", "us until noticed", "us CPU each", await_children);
  const auto copying = [&](const char* title, output how) {
    compare(runs, title, "MB/s", "ms CPU for a MB",
            [&](bool with_ring) { return copy_output(with_ring, how); });
  };
  copying("flood, a write for each line", {200'000, 1, 0});
  copying("flood, a write for 40 lines", {400'000, 40, 0});
  copying("a line every 0.1 ms", {2'000, 1, 100});
}
