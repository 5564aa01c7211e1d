// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/pidfd_launcher.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/process/detail/pidfd_child.hpp>
#include <elastic/process/detail/program_path.hpp>

#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL pidfd_launcher::pidfd_launcher(asio::any_io_executor executor)
    : pidfd_launcher(std::move(executor), options()) {}

ELASTIC_DECL pidfd_launcher::pidfd_launcher(asio::any_io_executor executor, options settings)
    : pidfd_launcher(std::move(executor), std::move(settings), detail::real_syscalls) {}

ELASTIC_DECL pidfd_launcher::pidfd_launcher(asio::any_io_executor executor, options settings,
                                            const detail::syscalls& calls)
    : executor_(std::move(executor)), options_(std::move(settings)), calls_(calls) {}

ELASTIC_DECL task<std::unique_ptr<child>> pidfd_launcher::launch(process_spec spec) {
  detail::refuse_unusable(spec);
  task<std::string> finding = detail::find_program_on_thread(spec);
  std::string path = co_await std::move(finding);
  if (!options_.parent) co_return start(spec, path);
  // Cancellation does not reach this task: a started process is always handed over.
  task<std::unique_ptr<child>> starting = start_on_parent(std::move(spec), std::move(path));
  co_return co_await detail::run_on(options_.parent, std::move(starting),
                                    asio::cancellation_slot());
}

ELASTIC_DECL task<std::unique_ptr<child>> pidfd_launcher::start_on_parent(process_spec spec,
                                                                          std::string path) {
  co_return start(spec, path);
}

ELASTIC_DECL std::unique_ptr<child> pidfd_launcher::start(const process_spec& spec,
                                                          const std::string& path) {
  const detail::spawn_request request{
      .spec = spec,
      .path = path,
      .arguments = detail::pointers_to(&spec.program, spec.arguments),
      .die_with_parent = static_cast<bool>(options_.parent),
      .open_files = options_.open_files};
  const detail::spawn_result started = detail::spawn(request, stack_, calls_);
  if (started.failure) detail::throw_start_error(spec, path, started);
  return std::make_unique<detail::pidfd_child>(executor_, started.pid, started.pidfd, calls_,
                                               detail::linger_of(spec));
}

}  // namespace elastic
