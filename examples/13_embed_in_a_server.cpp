// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs inside a server that already runs on Asio: they use its executor, start no thread, handle no
// signal, and end when they are stopped.
//
//   build/release/examples/13_embed_in_a_server
//
// The server receives reports over TCP. It runs two jobs: "short", whose workers report and finish,
// and "long", which would run for ever and is stopped when its worker has reported. It does so
// first on one thread, and then on four.

#include <elastic/elastic.hpp>

#include <asio/bind_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/address_v4.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/read_until.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using asio::ip::tcp;

// A worker: reports to the server, and in the long job runs for ever.
int work(const std::string& job, const std::string& port) {
  asio::io_context context;
  tcp::socket server(context);
  server.connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(std::stoi(port))});
  asio::write(server, asio::buffer(job + "\n"));
  char answer = 0;
  asio::read(server, asio::buffer(&answer, 1));
  while (job == "long") ::pause();
  return 0;
}

// Why a job has no result.
std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& failure) {
    return failure.what();
  }
}

class job_server {
 public:
  explicit job_server(asio::io_context& context)
      : strand_(asio::make_strand(context)),
        acceptor_(strand_, {asio::ip::address_v4::loopback(), 0}) {
    asio::co_spawn(strand_, take_reports(), [](std::exception_ptr) {});
    start(short_, context, 2);
    start(long_, context, 1);
  }

  void print(int threads) const {
    std::printf("threads: %d, short: %s, long: %s, reports: %d\n", threads, short_.end.c_str(),
                long_.end.c_str(), reports_);
  }

 private:
  // [job]
  struct job_entry {
    std::string name;
    std::optional<elastic::job> job;
    std::string end;
  };

  void start(job_entry& entry, asio::io_context& context, int workers) {
    elastic::launch_config config;
    config.workers.program = std::filesystem::read_symlink("/proc/self/exe");
    config.workers.arguments = {entry.name, std::to_string(acceptor_.local_endpoint().port())};
    config.workers.environment = elastic::environment_from(environ);
    config.standalone = true;
    config.workers.nproc_per_node = workers;
    entry.job.emplace(context.get_executor(), config);
    entry.job->async_run(asio::bind_executor(
        strand_, [this, &entry](std::exception_ptr thrown, elastic::run_result result) {
          entry.end = thrown ? text_of(thrown) : to_string(result.state);
          if (!short_.end.empty() && !long_.end.empty()) acceptor_.close();
        }));
  }
  // [/job]

  // Ends when the acceptor is closed.
  elastic::task<void> take_reports() {
    for (;;) {
      tcp::socket worker = co_await acceptor_.async_accept(asio::use_awaitable);
      std::string line;
      co_await asio::async_read_until(worker, asio::dynamic_buffer(line), '\n',
                                      asio::use_awaitable);
      ++reports_;
      co_await asio::async_write(worker, asio::buffer("+", 1), asio::use_awaitable);
      if (line == "long\n") long_.job->stop();
    }
  }

  asio::strand<asio::io_context::executor_type> strand_;
  tcp::acceptor acceptor_;
  int reports_ = 0;
  job_entry short_{"short", {}, {}};
  job_entry long_{"long", {}, {}};
};

void serve(int threads) {
  asio::io_context context;
  job_server server(context);
  std::vector<std::jthread> pool;
  for (int more = 1; more < threads; ++more) pool.emplace_back([&] { context.run(); });
  context.run();
  pool.clear();
  server.print(threads);
}

int main(int count, char** words) {
  if (count == 3) return work(words[1], words[2]);
  serve(1);
  serve(4);
  const bool nothing_left = ::waitpid(-1, nullptr, 0) == -1 && errno == ECHILD;
  std::puts(nothing_left ? "no worker is left" : "a worker is left");
  return nothing_left ? 0 : 1;
}

// Prints:
// threads: 1, short: SUCCEEDED, long: STOPPED, reports: 3
// threads: 4, short: SUCCEEDED, long: STOPPED, reports: 3
// no worker is left
