// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What does a job take from the heap?
//
//   (a) a restart round of one node, of whose workers the first fails: the calls of operator new,
//       and their bytes, between the starts of two rounds;
//   (b) a job with one worker that runs: the heap that it holds, as the difference between nine
//       jobs and one in this process.
//
//   allocations [ROUNDS]      default 20; prints the median of the rounds, and their quartiles
//
// The first rounds fill the caches of Asio, and do not count. The worker fails after 50 ms, when
// the agent watches it: a round whose worker has ended before allocates less. The workers'
// environment has 32 variables, whatever this program's has.

#include <elastic/base/asio.hpp>
#include <elastic/launch/job.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/journal_sink.hpp>

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace {

/// Calls of operator new so far. The program has one thread.
struct count {
  std::size_t calls = 0;
  std::size_t bytes = 0;
};
count total;

void* allocate(std::size_t size, std::size_t alignment) {
  ++total.calls;
  total.bytes += size;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* const block = alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded)
                                                            : std::malloc(size);
  if (!block) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace {

constexpr int warm_up = 5;

elastic::launch_config config_of(int workers, const std::string& script) {
  elastic::launch_config config;
  config.standalone = true;
  config.workers.nproc_per_node = workers;
  config.workers.program = "/bin/sh";
  config.workers.arguments = {"-c", script};
  config.workers.environment["PATH"] = "/usr/bin:/bin";
  for (int number = 1; number < 32; ++number) {
    config.workers.environment[fmt::format("VARIABLE_{}", number)] = std::string(40, 'x');
  }
  return config;
}

/// Notes what was allocated when the workers of each round had been started.
class round_marks final : public elastic::journal_sink {
 public:
  explicit round_marks(int rounds) { marks_.reserve(static_cast<std::size_t>(rounds)); }

  void take(const elastic::journal_record& record) override {
    if (record.event.kind == elastic::job_event::type::workers_started) marks_.push_back(total);
  }

  /// From the start of each round to that of the next one, without the first rounds.
  std::vector<count> rounds() const {
    std::vector<count> differences;
    for (std::size_t place = warm_up + 1; place < marks_.size(); ++place) {
      differences.push_back({marks_[place].calls - marks_[place - 1].calls,
                             marks_[place].bytes - marks_[place - 1].bytes});
    }
    return differences;
  }

 private:
  std::vector<count> marks_;
};

void throw_failure(const std::exception_ptr& failure, const elastic::run_result&) {
  if (failure) std::rethrow_exception(failure);
}

std::vector<count> restart_rounds(int workers, int rounds) {
  elastic::launch_config config =
      config_of(workers, "test $RANK = 0 || exec sleep 600; sleep 0.05; exit 1");
  config.workers.max_restarts = warm_up + rounds;
  elastic::agent_services services;
  services.journal = std::make_shared<elastic::job_journal>(elastic::job_journal::options{"node"});
  const auto marks = std::make_shared<round_marks>(warm_up + rounds + 1);
  services.journal->add(marks);
  asio::io_context context(1);
  elastic::job job(context.get_executor(), config, services);
  job.async_run(throw_failure);
  context.run();
  return marks->rounds();
}

/// The heap in use while so many jobs run, in KiB.
double heap_with(int count) {
  const elastic::launch_config config = config_of(1, "exec sleep 600");
  asio::io_context context(1);
  std::vector<std::unique_ptr<elastic::job>> jobs;
  for (int number = 0; number < count; ++number) {
    jobs.push_back(std::make_unique<elastic::job>(context.get_executor(), config));
    jobs.back()->async_run(throw_failure);
  }
  const auto runs = [](const std::unique_ptr<elastic::job>& each) {
    return each->view()->state == elastic::worker_state::healthy;
  };
  while (!std::all_of(jobs.begin(), jobs.end(), runs)) context.run_one();
  context.poll();
  const struct mallinfo2 used = ::mallinfo2();
  for (const auto& each : jobs) each->kill();
  context.run();
  return static_cast<double>(used.uordblks + used.hblkhd) / 1024;
}

/// The median of the values with their quartiles.
std::string spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](std::size_t quarter) { return values[(values.size() - 1) * quarter / 4]; };
  return fmt::format("{:.0f} ({:.0f} - {:.0f})", at(2), at(1), at(3));
}

void print_rounds(int workers, int rounds) {
  std::vector<double> calls;
  std::vector<double> kilobytes;
  for (const count& each : restart_rounds(workers, rounds)) {
    calls.push_back(static_cast<double>(each.calls));
    kilobytes.push_back(static_cast<double>(each.bytes) / 1024);
  }
  fmt::print("| {} | {} | {} |\n", workers, spread_of(calls), spread_of(kilobytes));
}

}  // namespace

int main(int argument_count, char** arguments) {
  const int rounds = argument_count > 1 ? std::atoi(arguments[1]) : 20;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: allocations [ROUNDS]\n");
    return 2;
  }
  fmt::print("| workers of a restart round | calls of operator new | KiB |\n");
  fmt::print("| --- | --- | --- |\n");
  for (const int workers : {1, 2}) print_rounds(workers, rounds);

  heap_with(9);  // fills what the process keeps
  const double heap = (heap_with(9) - heap_with(1)) / 8;
  fmt::print("\n| a running job | KiB of the heap |\n| --- | --- |\n");
  fmt::print("| one worker | {:.0f} |\n", heap);
  return 0;
}
