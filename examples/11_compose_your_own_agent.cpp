// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A custom agent, composed from the public steps. It restarts only the failed worker, which suits
// the replicas of an inference server.
//
//   build/release/examples/11_compose_your_own_agent
//
// It leaves out what local_agent also does: guards, log files and membership changes. It stays in
// its first round.
//
// Replica 1 hangs once. When it is back, it sends SIGTERM to its agent, which stops all replicas.

#include <elastic/elastic.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <vector>

using namespace elastic;

// [agent]
class replica_agent {
 public:
  replica_agent(asio::any_io_executor strand, local_agent::options options)
      : spec_(options.workers),
        rendezvous_(options.rendezvous.handler()),  // a static handler already exists
        ledgers_(static_cast<std::size_t>(spec_.nproc_per_node),
                 restart_ledger(spec_.max_restarts, spec_.restart)),
        replicas_(strand),
        channels_(strand, channel_options()) {}

  // Keeps every replica running until one has used up its restarts, or until it is cancelled. On
  // every way out, no replica is left and this node has left the rendezvous.
  task<void> run() & {
    stop_plan ask_first;
    ask_first.grace = spec_.shutdown_timeout;
    co_await with_cleanup(with_cleanup(supervise(), replicas_.stop(ask_first)), leave());
  }

  const std::vector<restart_ledger>& ledgers() const { return ledgers_; }

 private:
  task<void> leave() {
    co_await channels_.close();
    co_await rendezvous_->shutdown();
  }

  // A replica that hangs is killed, and then restarted like any other.
  worker_channels::options channel_options() {
    worker_channels::options options;
    options.hung = [this](const worker_channels::hung_worker& found) {
      std::printf("replica %d is hung: %s\n", found.local_rank, found.reason.c_str());
      replicas_.signal(static_cast<std::size_t>(found.local_rank), found.signal);
    };
    return options;
  }

  // [supervise]
  task<void> supervise() {
    round_ = co_await rendezvous_->next_round();
    const role_info mine{spec_.role, spec_.nproc_per_node};
    const assigned_ranks ranks =
        co_await exchange_ranks(round_.agents, mine, round_.group_rank, round_.group_world_size);
    who_ = worker_identities(spec_, round_, ranks);
    channels_.open(spec_.nproc_per_node);
    for (std::size_t place = 0; place < who_.size(); ++place) co_await start(place);
    for (;;) {
      const process_set::process_end end = co_await replicas_.next_end();
      channels_.ended(static_cast<int>(end.index));
      co_await replicas_.clear(end.index);  // ends what it had started, and copies its last output
      restart_ledger& ledger = ledgers_[end.index];
      ledger.failed(end.time);
      const restart_ledger::decision next =
          ledger.decide(rendezvous_change::cause::worker_failed, end.status, end.time);
      std::printf("replica %zu ended by %s: %s\n", end.index, end.status.text().c_str(),
                  next.reason.c_str());
      if (!next.restart) co_return;
      co_await start(end.index);
    }
  }
  // [/supervise]

  task<void> start(std::size_t place) {
    const auto job =
        make_job_context(spec_, round_, rendezvous_->run_id(), ledgers_[place].failures());
    environment_map variables = spec_.environment;
    for (const auto& [name, value] : channels_.environment()) variables[name] = value;
    process_set::process replica;
    replica.process.program = spec_.program;
    replica.process.arguments = spec_.arguments;
    replica.process.environment = worker_environment(variables, who_[place], job, "");
    co_await replicas_.start(place, replica);
    channels_.started(static_cast<int>(place));
  }

  worker_spec spec_;
  std::shared_ptr<rendezvous_handler> rendezvous_;
  rendezvous_round round_;
  std::vector<worker_identity> who_;
  std::vector<restart_ledger> ledgers_;
  process_set replicas_;
  worker_channels channels_;
};
// [/agent]

// [serve]
task<void> told_to_stop(asio::signal_set& signals) {
  co_await signals.async_wait(asio::use_awaitable);
  std::puts("told to stop");
}

task<void> serve(local_agent::options options) {
  const auto executor = co_await asio::this_coro::executor;
  asio::signal_set signals(executor, SIGTERM, SIGINT);
  replica_agent agent(executor, options);
  co_await race(agent.run(), told_to_stop(signals));
  int place = 0;
  for (const restart_ledger& ledger : agent.ledgers()) {
    std::printf("replica %d: restarts: %d\n", place++, ledger.failures());
  }
}
// [/serve]

int replica() {
  const worker_context me = this_worker();
  worker_channel agent;
  if (me.rank == 1 && me.restart_count == 0) {
    const auto limit = agent.expires(std::chrono::milliseconds(100), "request");
    for (;;) ::pause();  // simulates a request that never ends
  }
  if (me.rank == 1) ::kill(::getppid(), SIGTERM);
  for (;;) ::pause();
}

int main() {
  if (is_worker()) return replica();
  local_agent::options options;
  options.workers.program = std::filesystem::read_symlink("/proc/self/exe");
  options.workers.environment = environment_from(environ);
  options.workers.nproc_per_node = 3;
  options.workers.max_restarts = 2;
  rendezvous_parameters meeting;
  meeting.backend = "c10d";
  meeting.endpoint = "localhost:0";
  options.rendezvous = rendezvous_registry().make(meeting);

  asio::io_context context;
  auto served = asio::co_spawn(context, serve(options), asio::use_future);
  context.run();
  served.get();
}

// Prints:
// replica 1 is hung: timer 'request #1' expired after 0.1 s
// replica 1 ended by SIGKILL: restart 1 of 2
// told to stop
// replica 0: restarts: 0
// replica 1: restarts: 1
// replica 2: restarts: 0
