// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/guard_trial.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/process_spec.hpp>

#include <memory>
#include <utility>

namespace elasticrun {

elastic::task<std::string> guard_problem(elastic::guarded_launcher::options options) {
  const elastic::asio::any_io_executor executor = co_await elastic::asio::this_coro::executor;
  elastic::guarded_launcher launcher(executor, std::move(options));
  elastic::process_spec spec;
  spec.program = "/bin/sh";
  spec.arguments = {"-c", "exit 0"};
  try {
    elastic::task<std::unique_ptr<elastic::child>> starting = launcher.launch(spec);
    const std::unique_ptr<elastic::child> process = co_await std::move(starting);
    co_await process->wait();
    co_await process->end_tree();
  } catch (const elastic::error& failure) {
    // A missing shell is not a problem of the guard.
    if (failure.code() != elastic::errc::program_not_found) co_return failure.what();
  }
  co_return std::string();
}

}  // namespace elasticrun
