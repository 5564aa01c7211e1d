// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Processes alone: no job, no store, no rendezvous.

#include <elastic/process/process_set.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_future.hpp>

elastic::task<bool> run() {
  elastic::process_set processes(co_await asio::this_coro::executor);
  elastic::process_set::process plan;
  plan.process.program = "/bin/true";
  co_await processes.start(0, plan);
  const elastic::process_set::process_end end = co_await processes.next_end();
  co_await processes.stop(elastic::stop_plan());
  co_return end.status.is_success();
}

int main() {
  asio::io_context context;
  auto succeeded = asio::co_spawn(context, run(), asio::use_future);
  context.run();
  return succeeded.get() ? 0 : 1;
}
