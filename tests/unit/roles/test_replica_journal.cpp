// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/asio.hpp>
#include <elastic/roles/replica_set.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/testing/scripted_launcher.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace replica_journal_tests {

using namespace std::chrono_literals;
using namespace elastic;
using testing::scripted_launcher;

TIME_TEST("replicas: the journal tells each start before the end of one that ends at once",
          "[roles]") {
  launch_config config;
  config.workers.program = "/usr/bin/server";
  config.workers.nproc_per_node = 2;
  config.workers.max_restarts = 1;
  config.workers.log_dir = "/dev/null";
  const auto launcher = std::make_shared<scripted_launcher>();
  const auto journal = std::make_shared<job_journal>(job_journal::options{});
  agent_services services;
  services.launcher = launcher;
  services.time = time.share();
  services.journal = journal;
  // Replica 0 fails at once in both of its lives; replica 1 runs on.
  launcher->on_start = [](scripted_launcher::process& started) {
    if (started.local_rank() == 0) started.exit(3);
  };
  replica_set replicas(config, services);
  bool has_ended = false;
  asio::co_spawn(time.context(), replicas.run(),
                 [&has_ended](std::exception_ptr, run_result) { has_ended = true; });
  while (!has_ended) co_await time.sleep_until(time.now() + 1h);
  std::string kinds;
  for (const journal_record& record : journal->after(0)) {
    kinds += std::string(to_string(record.event.kind)) + ' ';
    if (record.event.kind == job_event::type::ranks_replaced) CHECK(record.event.count == 1);
  }
  CHECK(kinds ==
        "agent_started workers_starting workers_started worker_ended restart_decided "
        "ranks_replaced worker_ended failure_decided workers_stopping workers_stopped "
        "agent_ended ");
}

}  // namespace replica_journal_tests
