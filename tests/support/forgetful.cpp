// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A program that launches its own function but never calls run_entrypoint: each of its workers
// would launch the function again.

#include <elastic/base/asio.hpp>
#include <elastic/functions.hpp>

#include <cstdio>
#include <exception>

const elastic::entrypoint train("train", [] {});

int main() {
  elastic::launch_config config;
  config.standalone = true;
  asio::io_context context;
  try {
    asio::co_spawn(context, elastic::launch(config, train),
                   [](std::exception_ptr, const elastic::run_result&) {});
    context.run();
    std::puts("it ran");
    return 0;
  } catch (const std::exception& failure) {
    std::puts(failure.what());
    return 3;
  }
}
