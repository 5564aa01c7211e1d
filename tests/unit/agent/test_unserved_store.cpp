// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/workers/unserved_store.hpp>

#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace unserved_store_test {

using asio::ip::tcp;
using detail::look_for_stores;
using detail::sought_stores;
using detail::store_addresses_in;

using words = std::vector<std::string>;

TEST_CASE("unserved store: the addresses that a text names", "[agent]") {
  CHECK(store_addresses_in("") == words{});
  CHECK(store_addresses_in("init_method=\"tcp://127.0.0.1:29500\", rank=0") ==
        words{"127.0.0.1:29500"});
  CHECK(store_addresses_in("--dist-url\ntcp://node-0.cluster:1\ntcp://[::1]:2 tcp://h:1") ==
        words{"node-0.cluster:1", "[::1]:2", "h:1"});
  CHECK(store_addresses_in("tcp://a:1 tcp://a:1") == words{"a:1"});
  for (const std::string text :
       {"tcp://", "tcp://host", "tcp://host:", "tcp://:1", "tcp://host:port", "tcp://{host}:{port}",
        "tcp://127.0.0.1:{port}", "tcp://127.0.0.1:2{port}", "tcp://%s:%d", "tcp://$HOST:1"}) {
    CAPTURE(text);
    CHECK(store_addresses_in(text).empty());
  }
  std::string many;
  for (int port = 1; port < 100; ++port) many += fmt::format("tcp://h:{} ", port);
  CHECK(store_addresses_in(many).size() == 8);
}

TEST_CASE("unserved store: what a worker seeks ends a sentence", "[agent]") {
  CHECK(to_text(sought_stores()).empty());
  CHECK(to_text(sought_stores{.script = "train.py", .unserved = {"127.0.0.1:29777"}}) ==
        "; train.py names the store tcp://127.0.0.1:29777, and nobody listens there: up to PyTorch "
        "2.13, nobody serves a script's own store under an agent; init_process_group without "
        "init_method uses that of the workers");
  CHECK(to_text(sought_stores{.script = "train.py", .names_other = true}) ==
        "; train.py names a store tcp://…: up to PyTorch 2.13, nobody serves a script's own store "
        "under an agent; init_process_group without init_method uses that of the workers");
  CHECK(to_text(sought_stores{.script = "", .silent = {"10.0.0.9:29500", "[fd00::1]:1"}}) ==
        "; it tries to connect to 10.0.0.9:29500, [fd00::1]:1 and gets no answer");
  CHECK(to_text(sought_stores{
            .script = "train.py", .silent = {"10.0.0.9:1"}, .listener = "a\x1b (pid 7)"}) ==
        "; train.py tries to connect to 10.0.0.9:1 and gets no answer, though a\\x1b (pid 7) "
        "listens there");
}

/// A process that sleeps and has this word in its command line.
words sleeping_process(const std::string& word) {
  return {"/bin/bash", "-c", "exec -a \"$0\" sleep 600", word};
}

CO_TEST("unserved store: a script's store is unserved until somebody listens there", "[agent]") {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  tcp::acceptor server(executor, tcp::v4());
  server.bind(tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::string address = fmt::format("127.0.0.1:{}", server.local_endpoint().port());
  const test::temporary_directory folder;
  const std::string script = folder / "train.py";
  std::ofstream(script) << "dist.init_process_group(init_method='tcp://" << address << "')\n";
  const test::running_program by_script(sleeping_process(script));
  const test::running_program by_argument(sleeping_process("tcp://" + address));
  sought_stores found;
  // Until it sleeps.
  while (found.unserved.empty()) found = co_await look_for_stores(by_script.pid());
  CHECK(found.script == "train.py");
  CHECK(found.unserved == words{address});
  CHECK(found.silent.empty());
  found = {};
  while (found.unserved.empty()) found = co_await look_for_stores(by_argument.pid());
  CHECK(found.unserved == words{address});
  server.listen();
  found = co_await look_for_stores(by_script.pid());
  CHECK(found.unserved.empty());
  server.close();
  std::ofstream(script) << "dist.init_process_group(init_method=f'tcp://{host}:{port}')\n";
  found = co_await look_for_stores(by_script.pid());
  CHECK(found.unserved.empty());
  CHECK(found.names_other);
  // Another script may use an address for anything.
  std::ofstream(script) << "socket.bind('tcp://" << address << "')\n";
  found = co_await look_for_stores(by_script.pid());
  CHECK(found.unserved.empty());
  CHECK_FALSE(found.names_other);
}

}  // namespace unserved_store_test

}  // namespace
}  // namespace elastic
