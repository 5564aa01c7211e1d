// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A plug-in that starts a worker behind a guard in the program that loads it.

#include <elastic/base/asio.hpp>
#include <elastic/process.hpp>

#include <exception>
#include <optional>

namespace {

elastic::task<void> run(const char* script, std::optional<int>& code) {
  auto executor = co_await asio::this_coro::executor;
  elastic::guarded_launcher launcher(executor);
  elastic::process_spec spec;
  spec.program = "/bin/sh";
  spec.arguments.push_back("-c");
  spec.arguments.push_back(script);
  spec.environment.push_back("PATH=/usr/bin:/bin");
  const auto worker = co_await launcher.launch(spec);
  const elastic::exit_status status = co_await worker->wait();
  co_await worker->end_tree();
  code = status.code();
}

}  // namespace

/// Result: the exit code of the shell that ran the script; -1 if it has none.
extern "C" __attribute__((visibility("default"))) int run_guarded(const char* script) {
  std::optional<int> code;
  asio::io_context context(1);
  asio::co_spawn(context, run(script, code), [](std::exception_ptr) {});
  context.run();
  return code.value_or(-1);
}
