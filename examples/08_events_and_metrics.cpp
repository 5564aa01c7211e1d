// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Custom handlers for events (what happened) and metrics (how long, how many).
//
//   build/release/examples/08_events_and_metrics
//
// Both are called on the agent's strand, so a handler of one agent needs no lock. Names and values
// are torchelastic's, so that existing dashboards keep working.

#include <elastic/elastic.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

// [handlers]
// Prints each event as a short line; elastic::console_event_handler writes all of it as JSON.
class event_printer final : public elastic::event_handler {
 public:
  void record(const elastic::event& happened) override {
    const std::string who =
        happened.worker ? "worker " + std::to_string(happened.worker->global_rank) : "agent";
    std::printf("event: %s of job %s: %s with %d restarts\n", who.c_str(), happened.run_id.c_str(),
                happened.state.c_str(), happened.agent_restarts);
  }
};

// Keeps the newest value of each metric, as a monitoring system would read it.
class metric_table final : public elastic::metric_handler {
 public:
  void emit(const elastic::metric_handler::metric& measured) override {
    values_[measured.name] = measured.value;
  }
  std::int64_t value(const std::string& name) const { return values_.at(name); }

 private:
  std::map<std::string, std::int64_t> values_;
};
// [/handlers]

int main() {
  elastic::launch_config config;
  config.workers.program = "sh";
  // Rank 1 fails in the first attempt, in which rank 0 would run for ever.
  config.workers.arguments = {"-c",
                              "if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then\n"
                              "  [ $RANK = 1 ] && exit 3\n"
                              "  exec sleep 600\n"
                              "fi"};
  config.workers.environment = elastic::environment_from(environ);
  config.standalone = true;
  config.rendezvous.run_id = "measured";
  config.workers.role = "trainer";
  config.workers.nproc_per_node = 2;
  config.workers.max_restarts = 2;

  // [services]
  auto metrics = std::make_shared<metric_table>();
  elastic::agent_services services;
  services.events = std::make_shared<event_printer>();
  services.metrics = metrics;
  // [/services]

  asio::io_context context;
  auto job = asio::co_spawn(context, elastic::launch(config, services), asio::use_future);
  context.run();
  const elastic::run_result result = job.get();

  for (const char* name : {"workers.trainer.remaining_restarts", "workers.trainer.flakiness",
                           "workers.trainer.run_success_with_retries"}) {
    std::printf("metric: %s = %lld\n", name, static_cast<long long>(metrics->value(name)));
  }
  const bool timed = metrics->value("LocalElasticAgent._start_workers.duration.ms") >= 0;
  std::printf("the start of the workers was %s\n", timed ? "timed" : "not timed");
  return result.state == elastic::worker_state::succeeded ? 0 : 1;
}

// Prints:
// event: agent of job measured: RENDEZVOUS with 0 restarts
// event: agent of job measured: ASSIGN_WORKER_RANKS with 0 restarts
// event: worker 0 of job measured: START with 0 restarts
// event: worker 1 of job measured: START with 0 restarts
// event: agent of job measured: RENDEZVOUS with 1 restarts
// event: agent of job measured: ASSIGN_WORKER_RANKS with 1 restarts
// event: worker 0 of job measured: START with 1 restarts
// event: worker 1 of job measured: START with 1 restarts
// event: worker 0 of job measured: SUCCEEDED with 1 restarts
// event: worker 1 of job measured: SUCCEEDED with 1 restarts
// event: agent of job measured: SUCCEEDED with 1 restarts
// metric: workers.trainer.remaining_restarts = 1
// metric: workers.trainer.flakiness = 33
// metric: workers.trainer.run_success_with_retries = 1
// the start of the workers was timed
