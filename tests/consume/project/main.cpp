// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include "second.hpp"

#include <cstdio>
#include <exception>

#include <string_view>

namespace {

// A backend of an opt-in module that the program did not add is refused by a message that names the
// function; a compiled library has it.
bool refuses_module() {
  elastic::rendezvous_parameters parameters;
  parameters.backend = "etcd";
  parameters.endpoint = "localhost:1";
  try {
    elastic::rendezvous_registry().make(parameters);
  } catch (const elastic::error& failure) {
    std::puts(failure.what());
    return std::string_view(failure.what()).find("add_etcd_rendezvous") != std::string_view::npos;
  }
  return false;
}

elastic::task<int> run() {
  elastic::launch_config config;
  config.workers.program = "/bin/true";
  config.workers.nproc_per_node = 2;
  config.standalone = true;
  const elastic::run_result result = co_await elastic::launch(config);
  co_return result.state == elastic::worker_state::succeeded ? 0 : 1;
}

}  // namespace

int main() {
  if (category_in_second() != &elastic::error_category()) return 2;
#if defined(ELASTIC_HEADER_ONLY)
  if (!refuses_module()) return 4;
#else
  if (refuses_module()) return 4;
#endif
  if (!adds_module_in_second()) return 5;
  if (!waits_an_hour_in_second()) return 6;
  elastic::asio::io_context context;
  int status = 3;
  elastic::asio::co_spawn(context, run(), [&](std::exception_ptr failure, int result) {
    if (failure) std::rethrow_exception(failure);
    status = result;
  });
  context.run();
  std::printf("elastic %s: %s\n", elastic::version_text, status == 0 ? "works" : "fails");
  return status;
}
