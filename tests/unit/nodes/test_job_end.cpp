// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The node that decides how a job ends tells the others, whatever happens to the connections
// meanwhile.

#include <elastic/nodes/detail/c10d_rendezvous.hpp>

#include <elastic/base/detail/random.hpp>
#include <elastic/base/error.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>
#include <support/simulated_network.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace job_end_tests {

using namespace std::chrono_literals;
using elastic::rendezvous_handler;
using elastic::task;
using elastic::detail::c10d_rendezvous;
using elastic::test::manual_time;
using elastic::test::simulated_network;

/// Two nodes in a round.
class job {
 public:
  explicit job(manual_time& time) : time_(time), random_(1), net(time, random_) {
    elastic::rendezvous_parameters parameters;
    parameters.backend = "c10d";
    parameters.run_id = "job";
    parameters.min_nodes = parameters.max_nodes = 2;
    parameters.share_worker_store = false;
    parameters.time = {&time, [](elastic::time_source*) {}};
    for (int node = 0; node < 2; ++node) {
      nodes.push_back(std::make_unique<c10d_rendezvous>(parameters, net.connector_of(node),
                                                        net.store_of(node)));
    }
  }

  task<void> meet() {
    asio::co_spawn(time_.context(), nodes[1]->next_round(),
                   [](std::exception_ptr, elastic::rendezvous_round) {});
    co_await nodes[0]->next_round();
    co_await time_.sleep_until(time_.now() + 1s);
  }

  task<void> end() {
    for (const auto& node : nodes) co_await node->shutdown();
    net.end();
    co_await time_.sleep_until(time_.now() + 60s);
  }

 private:
  manual_time& time_;
  elastic::detail::random_source random_;

 public:
  simulated_network net;
  std::vector<std::unique_ptr<c10d_rendezvous>> nodes;
};

task<std::string> end_that_is_heard(c10d_rendezvous& node) {
  std::string why;
  try {
    const auto change = co_await node.wait_for_change();
    why = "a change: " + change.reason;
  } catch (const elastic::error& failure) {
    why = failure.what();
  }
  co_return why;
}

TIME_TEST("job end: it is told again when a broken connection is back", "[rendezvous][native]") {
  job test_job(time);
  co_await test_job.meet();
  test_job.net.reset(0);
  co_await test_job.nodes[0]->close(rendezvous_handler::job_end::failed, "no restarts are left");
  const std::string heard = co_await end_that_is_heard(*test_job.nodes[1]);
  CHECK(heard == "no restarts are left");
  co_await test_job.end();
}

TIME_TEST("job end: nobody waits for ever for a server that is gone", "[rendezvous][native]") {
  job test_job(time);
  co_await test_job.meet();
  test_job.net.stop_server();
  const auto begin = time.now();
  co_await test_job.nodes[0]->close(rendezvous_handler::job_end::failed, "no restarts are left");
  CHECK(time.now() == begin + 3s);
  co_await test_job.end();
}

}  // namespace job_end_tests
