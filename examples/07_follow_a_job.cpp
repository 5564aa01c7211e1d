// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A job that can be followed: a custom sink receives each record of its journal, and a status
// server shows it as a page, as JSON and as metrics for Prometheus.
//
//   build/release/examples/07_follow_a_job
//
// The program requests the metrics from its own server when the job has ended.

#include <elastic/elastic.hpp>
#include <elastic/status.hpp>

#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/address.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <asio/write.hpp>

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>

// [sink]
// Receives the agent's decisions on the agent's strand, so it must return quickly.
class record_printer final : public elastic::journal_sink {
 public:
  void take(const elastic::journal_record& record) override {
    const elastic::job_event& event = record.event;
    if (event.kind == elastic::job_event::type::worker_ended) {
      std::printf("rank %lld ended\n", static_cast<long long>(event.rank.value_or(-1)));
    } else if (event.kind == elastic::job_event::type::restart_decided) {
      std::printf("the agent decides: %s\n", event.reason.c_str());
    }
  }
};
// [/sink]

elastic::task<std::string> get(elastic::endpoint server, std::string path) {
  asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
  const asio::ip::tcp::endpoint address(asio::ip::make_address(server.host), server.port);
  co_await socket.async_connect(address, asio::use_awaitable);
  const std::string request =
      "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
  std::string answer;
  asio::error_code ended;
  co_await asio::async_read(socket, asio::dynamic_buffer(answer),
                            asio::redirect_error(asio::use_awaitable, ended));
  co_return answer;
}

// [follow]
elastic::task<bool> follow(elastic::launch_config config) {
  elastic::agent_services services;
  elastic::status_server::options shown;
  shown.monitor = elastic::add_monitor(services, config.rendezvous);
  shown.journal = services.journal;
  services.journal->add(std::make_shared<record_printer>());
  elastic::status_server server(co_await asio::this_coro::executor, shown);

  const elastic::run_result result = co_await elastic::launch(config, services);
  std::istringstream metrics(co_await get(server.address().tcp, "/metrics"));
  for (std::string line; std::getline(metrics, line);) {
    if (line.starts_with("elastic_worker_exits_total{")) std::puts(line.c_str());
  }
  co_await server.stop();
  co_return result.state == elastic::worker_state::succeeded;
}
// [/follow]

int main() {
  elastic::launch_config config;
  config.standalone = true;
  config.workers.program = "sh";
  config.workers.arguments = {"-c", "exit $((3 - 3 * TORCHELASTIC_RESTART_COUNT))"};
  config.workers.environment = elastic::environment_from(environ);
  config.workers.max_restarts = 1;
  asio::io_context context;
  auto job = asio::co_spawn(context, follow(config), asio::use_future);
  context.run();
  return job.get() ? 0 : 1;
}

// Prints:
// rank 0 ended
// the agent decides: restart 1 of 1
// rank 0 ended
// elastic_worker_exits_total{code="exit:0"} 1
// elastic_worker_exits_total{code="exit:3"} 1
