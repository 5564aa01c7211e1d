// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/rendezvous/exit_barrier.hpp>

#include <elastic/base/time.hpp>
#include <elastic/store/memory_store.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace exit_barrier_tests {

using namespace std::chrono_literals;
using elastic::exit_barrier;
using elastic::task;
using elastic::test::manual_time;

task<void> arrive(std::shared_ptr<elastic::store> agents, int size, int& passed_agents) {
  co_await exit_barrier(std::move(agents), size);
  ++passed_agents;
}

TIME_TEST("exit barrier: opens for all when the last one comes", "[rendezvous]") {
  for (const int size : {1, 2, 7}) {
    CAPTURE(size);
    const auto agents = std::make_shared<elastic::memory_store>();
    int passed_agents = 0;
    for (int agent = 0; agent < size; ++agent) {
      co_await time.sleep_until(time.now() + 1min);
      REQUIRE(passed_agents == 0);
      asio::co_spawn(time.context(), arrive(agents, size, passed_agents), asio::detached);
    }
    co_await time.sleep_until(time.now());
    CHECK(passed_agents == size);
  }
}

TIME_TEST("exit barrier: keeps the keys of PyTorch's", "[rendezvous]") {
  const auto agents = std::make_shared<elastic::memory_store>();
  co_await exit_barrier(agents, 1);
  const std::string member_count =
      co_await agents->get("torchelastic/agent/terminal_state/num_members");
  CHECK(member_count == "1");
  const std::string last_member =
      co_await agents->get("torchelastic/agent/terminal_state/last_member");
  CHECK(last_member == "<val_ignored>");
}

TIME_TEST("exit barrier: who has left the wait still counts", "[rendezvous]") {
  const auto agents = std::make_shared<elastic::memory_store>();
  const bool has_passed =
      co_await elastic::with_deadline(time, time.now() + 5min, exit_barrier(agents, 2));
  CHECK_FALSE(has_passed);
  // So the other does not wait for it in vain.
  co_await exit_barrier(agents, 2);
}

TIME_TEST("exit barrier: one that comes too often does not block", "[rendezvous]") {
  const auto agents = std::make_shared<elastic::memory_store>();
  for (int agent = 0; agent < 3; ++agent) co_await exit_barrier(agents, 1);
}

}  // namespace exit_barrier_tests
