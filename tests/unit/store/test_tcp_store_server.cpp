// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/descriptor_share.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/address_filter.hpp>
#include <elastic/net/detail/secure_session.hpp>
#include <elastic/store/detail/store_extension.hpp>
#include <elastic/store/detail/tcp_store_newcomers.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <support/background_store.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/golden_vectors.hpp>
#include <support/raw_client.hpp>
#include <support/reserved_port.hpp>
#include <support/sanitized.hpp>
#include <support/slow_clock.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace elastic {
namespace {

using detail::internals;
using detail::store_extension;

using test::background_store;
using test::comes_true;
using test::from_hex;
using test::raw_client;
using test::to_hex;

class server_log final : public log_handler {
 public:
  void write(log_level level, std::string_view text) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(level, text);
  }
  // How many lines of the level have `part` in them.
  std::size_t count(log_level level, std::string_view part) {
    const std::lock_guard lock(mutex_);
    std::size_t number = 0;
    for (const auto& line : lines_) {
      number += line.first == level && line.second.find(part) != std::string::npos ? 1 : 0;
    }
    return number;
  }
  std::size_t disconnected() { return count(log_level::info, "disconnected a client: "); }
  std::size_t out_of_files() { return count(log_level::warning, "wait to be accepted"); }

 private:
  std::mutex mutex_;
  std::vector<std::pair<log_level, std::string>> lines_;
};

// Each test runs on both ways of I/O, if there are two.
tcp_store_server::options server_options(bool use_ring) {
  tcp_store_server::options options;
  options.use_ring = use_ring;
  return options;
}

void on_each_io(void (*body)(tcp_store_server::options)) {
  for (const bool use_ring : {false, true}) {
    INFO((use_ring ? "with a ring" : "without a ring"));
    body(server_options(use_ring));
  }
}

const std::string set_k = from_hex(
    "0002000000000000002f6b0100000000000000"
    "76");
const std::string get_k = from_hex("0202000000000000002f6b");
const std::string wait_k = from_hex("05010000000000000002000000000000002f6b");
const std::string watch_k = from_hex("0702000000000000002f6b");
const std::string count_keys = from_hex("06");
const std::string number_0 = from_hex("0000000000000000");
const std::string number_1 = from_hex("0100000000000000");

TEST_CASE("tcp_store_server: says where it listens and how", "[store]") {
  asio::io_context context;
  tcp_store_server server(context.get_executor(), server_options(false));
  CHECK(server.port() != 0);
  CHECK(server.endpoint() == endpoint{"127.0.0.1", server.port()});
  CHECK(server.io() == "epoll");
  CHECK(server.connections() == 0);
  CHECK(internals::engine_of(server) != nullptr);
}

errc server_refusal(const std::string& address, std::uint16_t port, const std::string& text) {
  asio::io_context context;
  tcp_store_server::options options;
  options.address = address;
  options.port = port;
  try {
    tcp_store_server server(context.get_executor(), options);
  } catch (const error& refusal) {
    CHECK_THAT(refusal.what(), test::contains_text(text));
    return static_cast<errc>(refusal.code().value());
  }
  FAIL("listens on " << address << ":" << port);
  return errc::invalid_argument;
}

TEST_CASE("tcp_store_server: an address that cannot be had is named", "[store]") {
  asio::io_context context;
  tcp_store_server first_server(context.get_executor(), tcp_store_server::options());
  const std::string taken_address = "127.0.0.1:" + std::to_string(first_server.port());
  CHECK(server_refusal("127.0.0.1", first_server.port(), taken_address) == errc::address_in_use);
  CHECK(server_refusal("localhost", first_server.port(), "localhost:") == errc::address_in_use);
  CHECK(server_refusal("0.0.0.0", first_server.port(), "0.0.0.0:") == errc::address_in_use);
  CHECK(server_refusal("192.0.2.1", 0, "192.0.2.1:0") == errc::invalid_argument);
  CHECK(server_refusal("no-such-host.invalid", 0, "no-such-host.invalid") ==
        errc::connection_failed);
}

TEST_CASE("tcp_store_server: without an address it listens at every one of the host", "[store]") {
  asio::io_context context;
  tcp_store_server::options options;
  options.address.clear();
  tcp_store_server server(context.get_executor(), options);
  const std::string port = ":" + std::to_string(server.port());
  CHECK(server_refusal("127.0.0.1", server.port(), "127.0.0.1" + port) == errc::address_in_use);
  CHECK(server_refusal("127.0.0.2", server.port(), "127.0.0.2" + port) == errc::address_in_use);
}

TEST_CASE("tcp_store_server: its port can be had again at once", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    for (int round = 0; round < 5; ++round) {
      background_store server(options);
      options.port = server->port();
      raw_client client(server->port());
      // A fresh key space each time.
      CHECK(client.ask(set_k + count_keys, 8) == number_1);
      server.stop();
      CHECK(server->connections() == 0);
      CHECK(client.is_closed());
    }
  });
}

TEST_CASE("tcp_store_server: may be stopped twice, and by two at once", "[store]") {
  for (const bool use_ring : {false, true}) {
    asio::io_context context;
    tcp_store_server server(context.get_executor(), server_options(use_ring));
    int stops = 0;
    const auto count = [&](std::exception_ptr failure) { stops += failure ? 0 : 1; };
    asio::co_spawn(context, server.stop(), count);
    asio::co_spawn(context, server.stop(), count);
    context.run_for(std::chrono::seconds(60));
    CHECK(stops == 2);
    context.restart();
    asio::co_spawn(context, server.stop(), count);
    context.run_for(std::chrono::seconds(60));
    CHECK(stops == 3);
  }
}

TEST_CASE("tcp_store_server: listens on every address of a name", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    options.address = "localhost";
    background_store server(options);
    asio::io_context context;
    for (const char* address : {"127.0.0.1", "::1"}) {
      asio::ip::tcp::socket socket(context);
      const asio::ip::tcp::endpoint target(asio::ip::make_address(address), server->port());
      detail::asio_error_code failure;
      socket.connect(target, failure);
      const bool has_no_v6 = failure == asio::error::address_family_not_supported ||
                             failure == std::errc::address_not_available;
      if (target.address().is_v6() && has_no_v6) continue;
      CHECK_FALSE(failure);
    }
  });
}

TEST_CASE("tcp_store_server: listens at some addresses of the host, and at no other", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    options.address = "127.0.0.2";
    options.port = test::reserved_port();
    // The last is an address of no host.
    for (const char* address : {"127.0.0.3", "::1", "192.0.2.1"}) {
      options.besides.push_back(asio::ip::make_address(address));
    }
    background_store server(options);
    CHECK(server->endpoint().host == "127.0.0.2");
    asio::io_context context;
    const auto attempt = [&](const char* address) {
      asio::ip::tcp::socket socket(context);
      const asio::ip::tcp::endpoint target(asio::ip::make_address(address), server->port());
      detail::asio_error_code failure;
      socket.connect(target, failure);
      return failure;
    };
    CHECK_FALSE(attempt("127.0.0.2"));
    CHECK_FALSE(attempt("127.0.0.3"));
    const detail::asio_error_code v6_failure = attempt("::1");
    const bool has_no_v6 = v6_failure == asio::error::address_family_not_supported ||
                           v6_failure == std::errc::address_not_available;
    if (!has_no_v6) CHECK_FALSE(v6_failure);
    CHECK(attempt("127.0.0.1") == asio::error::connection_refused);
    // A port that one of them has not free is as good as taken.
    options.address = "127.0.0.4";
    CHECK_THROWS_AS(tcp_store_server(context.get_executor(), options), error);
  });
}

TEST_CASE("tcp_store_server: may be dropped with clients and without being run", "[store]") {
  for (const bool use_ring : {false, true}) {
    asio::io_context context;
    asio::ip::tcp::socket client(context);
    {
      tcp_store_server server(context.get_executor(), server_options(use_ring));
      client.connect({asio::ip::address_v4::loopback(), server.port()});
      asio::write(client, asio::buffer(wait_k));
      for (int i = 0; i < 10'000 && internals::engine_of(server)->waiters() == 0; ++i) {
        context.run_one_for(std::chrono::milliseconds(10));
      }
      CHECK(internals::engine_of(server)->waiters() == 1);
      CHECK(server.connections() == 1);
    }
    context.run_for(std::chrono::seconds(60));
    CHECK(context.stopped());
    char byte = 0;
    detail::asio_error_code failure;
    client.read_some(asio::buffer(&byte, 1), failure);
    CHECK(failure == asio::error::eof);
    // One that never ran.
    context.restart();
    tcp_store_server idle_server(context.get_executor(), server_options(use_ring));
  }
}

TEST_CASE("tcp_store_server: a context that ends with clients leaves nothing open", "[store]") {
  const auto open_files = [] {
    std::size_t count = 0;
    for (int fd = 0; fd < 1024; ++fd) count += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return count;
  };
  const std::size_t files_before = open_files();
  for (const bool use_ring : {false, true}) {
    asio::io_context context;
    asio::ip::tcp::socket client(context);
    tcp_store_server server(context.get_executor(), server_options(use_ring));
    client.connect({asio::ip::address_v4::loopback(), server.port()});
    asio::write(client, asio::buffer(wait_k));
    for (int i = 0; i < 10'000 && internals::engine_of(server)->waiters() == 0; ++i) {
      context.run_one_for(std::chrono::milliseconds(10));
    }
    CHECK(server.connections() == 1);
  }
  CHECK(open_files() == files_before);
}

TEST_CASE("tcp_store_server: thousands of requests in one go are answered in order", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    background_store server(options);
    raw_client client(server->port());
    constexpr int requests = 10'000;
    std::string request_bytes;
    std::string expected;
    const detail::request_writer write(tcp_store_generation::torch_1_13);
    for (int i = 1; i <= requests; ++i) {
      write.with_value(request_bytes, detail::store_op::set, "/k" + std::to_string(i), "v");
      write.with_number(request_bytes, detail::store_op::add, "/n", 1);
      detail::append_integer<std::int64_t>(expected, i);
    }
    CHECK(client.send(request_bytes));
    CHECK((client.receive(expected.size()) == expected));
    CHECK(internals::engine_of(*server)->num_keys() == requests + 1);
  });
}

TEST_CASE("tcp_store_server: neither half a request nor a wait holds up another client",
          "[store]") {
  on_each_io([](tcp_store_server::options options) {
    background_store server(options);
    raw_client half_client(server->port());
    raw_client waiting_client(server->port());
    raw_client silent_client(server->port());
    raw_client other_client(server->port());
    half_client.send(set_k.substr(0, 7));
    waiting_client.send(wait_k);
    for (int i = 0; i < 100; ++i) CHECK(other_client.ask(count_keys, 8) == number_0);
    CHECK(comes_true([&] { return internals::engine_of(*server)->waiters() == 1; }));
    CHECK(waiting_client.is_silent());
    half_client.send(set_k.substr(7));
    CHECK(to_hex(waiting_client.receive(1)) == "00");
    CHECK(silent_client.ask(count_keys, 8) == number_1);
    server.stop();
    CHECK(waiting_client.is_closed());
  });
}

TEST_CASE("tcp_store_server: a client that leaves takes its registrations with it", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    background_store server(options);
    {
      raw_client waiting_client(server->port());
      waiting_client.send(wait_k);
      raw_client watching_client(server->port());
      CHECK(to_hex(watching_client.ask(watch_k, 1)) == "03");
      CHECK(internals::engine_of(*server)->watchers() == 1);
      CHECK(comes_true([&] { return internals::engine_of(*server)->waiters() == 1; }));
    }
    CHECK(comes_true([&] { return server->connections() == 0; }));
    CHECK(internals::engine_of(*server)->waiters() == 0);
    CHECK(internals::engine_of(*server)->watchers() == 0);
  });
}

TEST_CASE("tcp_store_server: a client that closes its direction still gets its replies",
          "[store]") {
  on_each_io([](tcp_store_server::options options) {
    background_store server(options);
    const std::string large_value(4 * 1024 * 1024, 'x');
    internals::engine_of(*server)->set("/k", large_value);
    raw_client client(server->port());
    client.send(get_k + get_k);
    ::shutdown(client.socket(), SHUT_WR);
    const std::string replies = client.receive(2 * (8 + large_value.size()));
    CHECK(replies.size() == 2 * (8 + large_value.size()));
    CHECK(client.is_closed());
  });
}

TEST_CASE("tcp_store_server: who breaks the protocol is disconnected, alone and with one line",
          "[store]") {
  on_each_io([](tcp_store_server::options options) {
    const auto log = std::make_shared<server_log>();
    options.log = logger(log, log_level::info);
    background_store server(options);
    raw_client good_client(server->port());
    std::size_t lines = 0;
    for (const char* hex : {"474554202f20485454502f312e300d0a0d0a", "ff", "0c",
                            "0001ffffffffffffff", "05ffffffffffffffff",
                            "00cef7853c"
                            "00cef7853c",
                            "00cef7853c"
                            "13"}) {
      INFO("bytes " << hex);
      raw_client bad_client(server->port());
      bad_client.send(from_hex(hex));
      CHECK(bad_client.is_closed());
      CHECK(good_client.ask(count_keys, 8) == number_0);
      ++lines;
      CHECK(comes_true([&] { return log->disconnected() == lines; }));
    }
    // One that just leaves is not an event.
    {
      raw_client leaving_client(server->port());
      leaving_client.send(set_k.substr(0, 5));
      CHECK(comes_true([&] { return server->connections() == 2; }));
    }
    CHECK(comes_true([&] { return server->connections() == 1; }));
    CHECK(log->disconnected() == lines);
  });
}

TEST_CASE("tcp_store_server: a client with a secret is told that this server has none", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    background_store server(options);
    raw_client client(server->port());
    client.send(from_hex("16030100"));
    CHECK(client.receive(100) == from_hex("15030300020247"));
    CHECK(client.is_closed());
  });
}

TEST_CASE("tcp_store_server: with a secret only those who hold it are served", "[store][tls]") {
  on_each_io([](tcp_store_server::options options) {
    const auto log = std::make_shared<server_log>();
    options.log = logger(log, log_level::info);
    options.secret.emplace("0123456789abcdef");
    background_store server(options);
    for (const char* hex : {"00cef7853c", "04", "474554202f"}) {
      raw_client stranger(server->port());
      stranger.send(from_hex(hex));
      CHECK(stranger.receive(100) == from_hex("15030300020246"));
      CHECK(stranger.is_closed());
    }
    // What begins as TLS and is none.
    raw_client liar(server->port());
    liar.send(from_hex("160301000400000000"));
    CHECK(liar.receive(2) == from_hex("1503"));
    liar.receive(100);
    CHECK(liar.is_closed());
    CHECK(comes_true([&] { return server->connections() == 0; }));
    CHECK(log->disconnected() == 0);
  });
}

TEST_CASE("tcp_store_server: no client is served before it is known who may be", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    options.waits_for_filter = true;
    background_store server(options);
    raw_client client(server->port());
    client.send(count_keys);
    CHECK(server->connections() == 0);
    server->admit(address_filter());
    CHECK(client.receive(8) == number_0);
  });
}

TEST_CASE("tcp_store_server: a wait is ended by others that share the table", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    options.table = std::make_shared<memory_store>();
    background_store server(options);
    raw_client client(server->port());
    client.send(wait_k);
    CHECK(comes_true([&] { return internals::engine_of(*options.table)->waiters() == 1; }));
    internals::engine_of(*options.table)->set("/k", "v");
    CHECK(to_hex(client.receive(1)) == "00");
    CHECK(client.ask(get_k, 9) == number_1 + "v");
    CHECK(to_hex(client.ask(wait_k, 1)) == "00");
  });
}

long resident_kilobytes() {
  std::ifstream in("/proc/self/statm");
  long total = 0;
  long resident = 0;
  in >> total >> resident;
  return resident * 4;
}

TEST_CASE("tcp_store_server: a client that does not read cannot make it grow", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    background_store server(options);
    internals::engine_of(*server)->set("/k", std::string(1024 * 1024, 'x'));
    // 2 TB are asked for, by more requests than the sockets hold: the send ends only if the server
    // takes them all.
    std::string requests;
    for (int i = 0; i < 2'000'000; ++i) requests += get_k;
    raw_client greedy_client(server->port());
    greedy_client.limit_send(std::chrono::milliseconds(300));
    const long memory_before = resident_kilobytes();
    CHECK_FALSE(greedy_client.send(requests));
    raw_client other_client(server->port());
    CHECK(other_client.ask(count_keys, 8) == number_1);
    if (!test::is_sanitized) CHECK(resident_kilobytes() - memory_before < 48 * 1024);
  });
}

TEST_CASE("tcp_store_server: a watcher that does not read is disconnected", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    const auto log = std::make_shared<server_log>();
    options.log = logger(log, log_level::info);
    background_store server(options);
    raw_client watching_client(server->port());
    CHECK(to_hex(watching_client.ask(watch_k, 1)) == "03");
    raw_client changing_client(server->port());
    std::string set_large;
    const detail::request_writer write(tcp_store_generation::torch_1_13);
    write.with_value(set_large, detail::store_op::set, "/k", std::string(4 * 1024 * 1024, 'x'));
    for (int i = 0; i < 40 && log->disconnected() == 0; ++i) {
      changing_client.ask(set_large + count_keys, 8);
    }
    CHECK(comes_true([&] { return server->connections() == 1; }));
    CHECK(log->disconnected() == 1);
    CHECK(internals::engine_of(*server)->watchers() == 0);
  });
}

TEST_CASE("tcp_store_server: a client that watches one key a thousand times is disconnected alone",
          "[store]") {
  on_each_io([](tcp_store_server::options options) {
    const auto log = std::make_shared<server_log>();
    options.log = logger(log, log_level::info);
    background_store server(options);
    raw_client watching_client(server->port());
    std::string watches;
    for (std::size_t i = 0; i < limits::store_watches_per_client; ++i) watches += watch_k;
    CHECK(watching_client.ask(watches, limits::store_watches_per_client).size() ==
          limits::store_watches_per_client);
    raw_client other_watcher(server->port());
    CHECK(to_hex(other_watcher.ask(watch_k, 1)) == "03");
    const long memory_before = resident_kilobytes();
    raw_client changing_client(server->port());
    std::string set_large;
    const detail::request_writer write(tcp_store_generation::torch_1_13);
    write.with_value(set_large, detail::store_op::set, "/k", std::string(8 * 1024 * 1024, 'x'));
    CHECK(changing_client.ask(set_large + count_keys, 8) == number_1);
    CHECK(comes_true([&] { return log->disconnected() == 1; }));
    CHECK(internals::engine_of(*server)->watchers() == 1);
    if (!test::is_sanitized) CHECK(resident_kilobytes() - memory_before < 192 * 1024);
    constexpr std::size_t change_bytes = 1 + 8 + 2 + 8 + 8 + 8 * 1024 * 1024;
    CHECK(other_watcher.receive(change_bytes).size() == change_bytes);
  });
}

// A protocol that answers each byte with 60 kB, up to what would fill the machine.
class amplifying_extension final : public store_extension {
 public:
  static constexpr std::size_t answer_bytes = 60'000;
  std::string_view greeting() const override { return "amplify"; }
  task<void> run() override { co_return; }
  std::unique_ptr<conversation> begin(client& peer) override {
    return std::make_unique<amplifier>(*this, peer);
  }
  std::atomic<std::size_t> answers = 0;

 private:
  struct amplifier final : conversation {
    amplifier(amplifying_extension& owner, client& peer) : extension(owner), receiver(peer) {}
    void received(std::string_view bytes) override {
      for (std::size_t i = 0; i < bytes.size() && extension.answers < 2000; ++i) {
        ++extension.answers;
        receiver.send(std::string(answer_bytes, 'x'));
      }
    }
    bool has_begun() const override { return true; }
    std::size_t held() const override { return 0; }
    amplifying_extension& extension;
    client& receiver;
  };
};

TEST_CASE("tcp_store_server: a client of an extension that does not read is not read from",
          "[store]") {
  on_each_io([](tcp_store_server::options options) {
    const auto extension = std::make_shared<amplifying_extension>();
    internals::of(options).extension = extension;
    background_store server(options);
    raw_client greedy_client(server->port());
    greedy_client.limit_send(std::chrono::milliseconds(300));
    greedy_client.send("amplify");
    // A piece at a time, as a client does that waits for nothing.
    for (int i = 0; i < 2000; ++i) CHECK(greedy_client.send("?"));
    raw_client other_client(server->port());
    for (int i = 0; i < 100; ++i) CHECK(other_client.ask(count_keys, 8) == number_0);
    CHECK(extension->answers < 1000);
    // Who begins to read gets everything.
    for (int i = 0; i < 2000; ++i) {
      REQUIRE(greedy_client.receive(amplifying_extension::answer_bytes).size() ==
              amplifying_extension::answer_bytes);
    }
  });
}

TEST_CASE("tcp_store_server: what clients were told before a stop still reaches them", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    background_store server(options);
    std::vector<std::unique_ptr<raw_client>> waiting_clients;
    for (int i = 0; i < 20; ++i) {
      waiting_clients.push_back(std::make_unique<raw_client>(server->port()));
      waiting_clients.back()->send(wait_k);
    }
    REQUIRE(comes_true([&] { return internals::engine_of(*server)->waiters() == 20; }));
    internals::engine_of(*server)->set("/k", "v");
    server.stop();
    for (const auto& client : waiting_clients) {
      CHECK(to_hex(client->receive(1)) == "00");
      CHECK(client->is_closed());
    }
  });
}

TEST_CASE("tcp_store_server: a client that floods it does not starve others", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    background_store server(options);
    raw_client flooding_client(server->port());
    std::thread flood([&] {
      std::string requests;
      for (int i = 0; i < 10'000; ++i) requests += set_k;
      while (flooding_client.send(requests)) {
      }
    });
    CHECK(comes_true([&] { return internals::engine_of(*server)->num_keys() == 1; }));
    raw_client other_client(server->port());
    const int times = elastic::test::is_sanitized ? 20 : 100;
    for (int i = 0; i < times; ++i) CHECK(other_client.ask(count_keys, 8) == number_1);
    ::shutdown(flooding_client.socket(), SHUT_RDWR);
    flood.join();
  });
}

// Lowers the number of files that this process may open.
class file_limit {
 public:
  explicit file_limit(rlim_t highest_number) {
    ::getrlimit(RLIMIT_NOFILE, &former_limit_);
    rlimit new_limit = former_limit_;
    new_limit.rlim_cur = highest_number;
    ::setrlimit(RLIMIT_NOFILE, &new_limit);
  }
  ~file_limit() { lift(); }
  void lift() { ::setrlimit(RLIMIT_NOFILE, &former_limit_); }

 private:
  rlimit former_limit_{};
};

// Takes every number of a file up to the highest that is open, so that none below is free.
std::vector<int> take_all_numbers(int highest_open) {
  std::vector<int> descriptors;
  do {
    descriptors.push_back(::dup(0));
  } while (descriptors.back() < highest_open);
  return descriptors;
}

TEST_CASE("tcp_store_server: without file descriptors clients wait to be accepted", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    const auto log = std::make_shared<server_log>();
    options.log = logger(log, log_level::warning);
    background_store server(options);
    std::vector<std::unique_ptr<raw_client>> clients;
    for (int i = 0; i < 20; ++i) clients.push_back(std::make_unique<raw_client>());
    std::vector<int> descriptors = take_all_numbers(clients.back()->socket());
    file_limit limit(static_cast<rlim_t>(descriptors.back()) + 1);
    for (auto& client : clients) {
      client->connect(server->port());
      client->send(set_k + count_keys);
    }
    // Nothing is checked meanwhile: a sanitizer that looks at it would want a descriptor, too.
    const bool backs_off = comes_true([&] { return log->out_of_files() > 0; });
    const std::size_t connections_without = server->connections();
    // One number becomes free: one client is served.
    ::close(descriptors.back());
    descriptors.pop_back();
    const bool serves_one = comes_true([&] { return server->connections() == 1; });
    limit.lift();
    CHECK(backs_off);
    CHECK(connections_without == 0);
    CHECK(serves_one);
    for (auto& client : clients) CHECK(client->receive(8) == number_1);
    CHECK(server->connections() == clients.size());
    CHECK(log->out_of_files() <= 2);
    for (const int fd : descriptors) ::close(fd);
  });
}

TEST_CASE("tcp_store_server: the servers of a process share its file descriptors", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    // Of 64, 48 are for clients.
    file_limit limit(64);
    asio::io_context unused_context;
    std::optional<background_store> full_server;
    full_server.emplace(options);
    background_store second_server(options);
    limit.lift();
    std::vector<std::unique_ptr<raw_client>> clients;
    const auto connect = [&](std::uint16_t port, int count) {
      for (int i = 0; i < count; ++i) {
        clients.push_back(std::make_unique<raw_client>(port));
        clients.back()->send(count_keys);
      }
    };
    connect((*full_server)->port(), 60);
    CHECK(comes_true([&] { return (*full_server)->connections() == 48; }));
    // Some are served all the same.
    connect(second_server->port(), 20);
    CHECK(comes_true([&] { return second_server->connections() == 8; }));
    CHECK((*full_server)->connections() == 48);
    full_server.reset();
    CHECK(comes_true([&] { return second_server->connections() == 20; }));
  });
}

TEST_CASE("tcp_store_server: leaves the descriptors that workers need to them", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    // Of 64, 16 are for anything else and 10 for workers.
    const detail::descriptor_need workers(10);
    file_limit limit(64);
    background_store server(options);
    limit.lift();
    std::vector<std::unique_ptr<raw_client>> clients;
    for (int i = 0; i < 60; ++i) {
      clients.push_back(std::make_unique<raw_client>(server->port()));
      clients.back()->send(count_keys);
    }
    CHECK(comes_true([&] { return server->connections() == 38; }));
    for (std::size_t i = 0; i < 38; ++i) CHECK(clients[i]->receive(8) == number_0);
    CHECK(server->connections() == 38);
  });
}

TEST_CASE("tcp_store_server: gives descriptors up, first those of clients that say nothing",
          "[store]") {
  on_each_io([](tcp_store_server::options options) {
    internals::of(options).extension = std::make_shared<amplifying_extension>();
    background_store server(options);
    raw_client agent(server->port());
    agent.send("amplify?");
    CHECK(agent.receive(10).size() == 10);
    raw_client first_client(server->port());
    CHECK(first_client.ask(count_keys, 8) == number_0);
    raw_client silent_client(server->port());
    raw_client second_client(server->port());
    CHECK(second_client.ask(count_keys, 8) == number_0);
    CHECK(comes_true([&] { return server->connections() == 4; }));

    const auto two = detail::descriptor_lender::ask(2);
    CHECK(silent_client.is_closed());
    CHECK(first_client.is_closed());
    CHECK(comes_true([&] { return two->unanswered == 0; }));
    CHECK(two->given == 2);
    CHECK(second_client.ask(count_keys, 8) == number_0);
    const auto many = detail::descriptor_lender::ask(100);
    CHECK(second_client.is_closed());
    CHECK(comes_true([&] { return many->unanswered == 0; }));
    CHECK(many->given == 1);
    CHECK(comes_true([&] { return server->connections() == 1; }));
  });
}

TEST_CASE("tcp_store_server: makes room for workers where descriptors are short", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    background_store server(options);
    std::vector<std::unique_ptr<raw_client>> clients;
    for (int i = 0; i < 50; ++i) {
      clients.push_back(std::make_unique<raw_client>(server->port()));
      CHECK(clients.back()->ask(count_keys, 8) == number_0);
    }
    asio::io_context context{1};
    // It opens descriptors for its first timer.
    system_time clock;
    asio::co_spawn(context, clock.sleep_until({}), asio::detached);
    const auto make_room = [&](std::size_t count) {
      context.run();
      context.restart();
      // It waits two seconds for a server, which may have no processor for as long.
      const auto patient_clock = std::make_shared<test::slow_clock>(30);
      asio::co_spawn(context, detail::make_room_for_descriptors(patient_clock, count),
                     asio::detached);
      context.run();
    };
    make_room(10);
    CHECK(server->connections() == 50);
    const std::size_t open = detail::descriptor_limit() - detail::free_descriptors();
    file_limit limit(open + 10);
    make_room(30);
    CHECK(detail::free_descriptors() >= 30);
    limit.lift();
    // It counts a connection until its coroutine has ended.
    CHECK(comes_true([&] { return server->connections() <= 30; }));
    CHECK(server->connections() >= 25);
  });
}

// The clock of the machine, which a test can put forward while others wait.
class jumping_clock final : public time_source {
 public:
  void jump(duration by) { ahead_ += by.count(); }
  time_point now() const override { return real_.now() + duration(ahead_.load()); }
  wall_time wall_now() const override { return real_.wall_now(); }
  task<void> sleep_until(time_point deadline) override {
    while (now() < deadline) co_await real_.sleep_until(real_.now() + std::chrono::milliseconds(1));
  }

 private:
  system_time real_;
  std::atomic<duration::rep> ahead_ = 0;
};

TEST_CASE("tcp_store_server: a client that sends half a first message is disconnected in time",
          "[store]") {
  on_each_io([](tcp_store_server::options options) {
    const auto clock = std::make_shared<jumping_clock>();
    const auto log = std::make_shared<server_log>();
    options.time = clock;
    options.log = logger(log, log_level::info);
    background_store server(options);
    raw_client silent_client(server->port());
    raw_client known_client(server->port());
    CHECK(known_client.ask(count_keys + set_k.substr(0, 7), 8) == number_0);
    raw_client greeting_client(server->port());
    greeting_client.send(from_hex("00cef7853c"));
    raw_client half_client(server->port());
    half_client.send(set_k.substr(0, 7));
    CHECK(comes_true([&] { return server->connections() == 4; }));
    // Another one that was answered, so that what came before was seen.
    raw_client last_client(server->port());
    CHECK(last_client.ask(count_keys, 8) == number_0);
    clock->jump(limits::store_newcomer_time);
    CHECK(half_client.is_closed());
    CHECK(comes_true([&] {
      return log->count(log_level::info, "its first message is not whole within 10 s") == 1;
    }));
    CHECK(known_client.ask(set_k.substr(7) + count_keys, 8) == number_1);
    CHECK(silent_client.ask(count_keys, 8) == number_1);
    // A ping of 2.2 and later.
    CHECK(to_hex(greeting_client.ask(from_hex("0d01020304"), 4)) == "01020304");
  });
}

TEST_CASE("tcp_store_server: first messages take bounded memory, the oldest is disconnected",
          "[store]") {
  on_each_io([](tcp_store_server::options options) {
    const auto log = std::make_shared<server_log>();
    options.log = logger(log, log_level::info);
    // Their memory is what counts here, however long a busy machine takes for it.
    options.time = std::make_shared<test::slow_clock>(15);
    background_store server(options);
    // A SET of 8 MiB, less than half of which comes.
    std::string half = from_hex("0002000000000000002f6b0000800000000000");
    half.resize(3 * 1024 * 1024, 'x');
    raw_client known_client(server->port());
    CHECK(known_client.ask(count_keys, 8) == number_0);
    CHECK(known_client.send(half));
    std::vector<std::unique_ptr<raw_client>> clients;
    // Each takes 3 to 6 MiB.
    for (int i = 0; i < 6; ++i) {
      clients.push_back(std::make_unique<raw_client>(server->port()));
      CHECK(clients.back()->send(half));
    }
    CHECK(clients.front()->is_closed());
    CHECK(comes_true([&] { return server->connections() < 6; }));
    CHECK(server->connections() >= 3);
    CHECK(comes_true([&] {
      return log->count(log_level::info, "all such clients exceed 16777216 bytes") > 0;
    }));
    CHECK(known_client.is_silent());
  });
}

TEST_CASE("tcp_store_server: later strangers displace earlier ones", "[store][tls]") {
  on_each_io([](tcp_store_server::options options) {
    // Of 256, 192 are for clients, half of them for newcomers.
    constexpr std::size_t most = 96;
    const auto log = std::make_shared<server_log>();
    options.log = logger(log, log_level::info);
    options.secret.emplace("0123456789abcdef");
    const auto clock = std::make_shared<jumping_clock>();
    options.time = clock;
    file_limit limit(256);
    background_store server(options);
    limit.lift();
    std::vector<std::unique_ptr<raw_client>> clients;
    const auto connect = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        clients.push_back(std::make_unique<raw_client>(server->port()));
      }
      CHECK(comes_true([&] { return server->connections() == most; }));
    };
    connect(most);
    clock->jump(detail::tcp_store_newcomers::handshake_time);
    connect(3);
    // The alert that says the server is busy, so that an agent comes back.
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(clients[i]->receive(7) == std::string(detail::busy_alert()));
      CHECK(clients[i]->is_closed());
    }
    for (std::size_t i = 3; i < clients.size(); ++i) CHECK(clients[i]->is_silent());
    CHECK(comes_true([&] {
      return log->count(log_level::warning, "it has not shown that it holds this job's secret") > 0;
    }));
    CHECK(log->count(log_level::warning, "it has not shown that it holds this job's secret") == 1);
  });
}

// Connects from an address of this host and says what no client says.
void connect_as_stranger(std::uint16_t port, std::uint32_t from) {
  const detail::unique_fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(from);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(port);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  ::send(socket.get(), "x", 1, MSG_NOSIGNAL);
  char alert[16];
  while (::recv(socket.get(), alert, sizeof alert, 0) > 0) {
  }
}

TEST_CASE("tcp_store_server: strangers are logged from so many addresses and no more",
          "[store][tls]") {
  on_each_io([](tcp_store_server::options options) {
    const auto log = std::make_shared<server_log>();
    options.log = logger(log, log_level::info);
    options.secret.emplace("0123456789abcdef");
    background_store server(options);
    constexpr std::uint32_t first = 0x7f010001;
    const auto most = static_cast<std::uint32_t>(limits::store_refused_addresses);
    for (std::uint32_t i = 0; i < most + 20; ++i) connect_as_stranger(server->port(), first + i);
    CHECK(comes_true([&] { return server->connections() == 0; }));
    CHECK(log->count(log_level::warning, "turned away") == most);
    CHECK(log->count(log_level::warning, "turned away 127.1.0.1:") == 1);
  });
}

TEST_CASE("tcp_store_server: the memory of all clients is bounded, the largest is disconnected",
          "[store]") {
  on_each_io([](tcp_store_server::options options) {
    const auto log = std::make_shared<server_log>();
    options.log = logger(log, log_level::info);
    internals::of(options).bounds.clients_bytes = 2'300'000;
    background_store server(options);
    const auto wait_for = [&](raw_client& client, int count) {
      const std::size_t waiting = internals::engine_of(*server)->waiters();
      const auto sized = [](std::uint64_t size) {
        return std::string(reinterpret_cast<const char*>(&size), sizeof size);
      };
      std::string wait = from_hex("05") + sized(static_cast<std::uint64_t>(count));
      for (int key = 0; key < count; ++key) {
        const std::string name = "/missing/" + std::to_string(key);
        wait += sized(name.size()) + name;
      }
      CHECK(client.ask(count_keys, 8) == number_0);
      CHECK(client.send(wait));
      CHECK(comes_true([&] { return internals::engine_of(*server)->waiters() == waiting + 1; }));
    };
    // Each key takes limits::store_wait_bytes and its name: 0.2, 1.7 and 0.9 MB.
    raw_client small_client(server->port());
    wait_for(small_client, 1000);
    raw_client large_client(server->port());
    wait_for(large_client, 10'000);
    CHECK(server->connections() == 2);
    raw_client last_client(server->port());
    CHECK(last_client.ask(count_keys, 8) == number_0);
    std::string half = from_hex("0002000000000000002f6b0000800000000000");
    half.resize(900'000, 'x');
    CHECK(last_client.send(half));
    CHECK(large_client.is_closed());
    CHECK(comes_true([&] { return server->connections() == 2; }));
    CHECK(log->count(log_level::info, "all clients exceed 2300000 bytes") == 1);
    CHECK(small_client.is_silent());
    CHECK(last_client.is_silent());
  });
}

TEST_CASE("tcp_store_server: strangers' bytes harm nobody else", "[store]") {
  on_each_io([](tcp_store_server::options options) {
    background_store server(options);
    raw_client good_client(server->port());
    detail::random_source chance(42);
    for (int round = 0; round < 200; ++round) {
      INFO("round " << round);
      raw_client stranger(server->port());
      std::string bytes(1 + chance.below(300), '\0');
      for (char& byte : bytes) {
        byte = static_cast<char>(chance.below(4) != 0 ? chance.below(13) : chance.below(256));
      }
      if (chance.below(2) == 0) bytes.insert(0, from_hex("00cef7853c"));
      stranger.send(bytes);
      if (round % 10 == 0) REQUIRE(good_client.ask(set_k + get_k, 9) == number_1 + "v");
    }
    CHECK(comes_true([&] { return server->connections() == 1; }));
    CHECK(internals::engine_of(*server)->waiters() == 0);
    CHECK(internals::engine_of(*server)->watchers() == 0);
  });
}

TEST_CASE("tcp_store_server: is made in less than the time of a round trip", "[store]") {
  asio::io_context context;
  system_time time;
  duration best_time = duration::max();
  for (int i = 0; i < 50; ++i) {
    const time_point start = time.now();
    tcp_store_server server(context.get_executor(), server_options(false));
    best_time = std::min(best_time, time.now() - start);
  }
  CHECK(best_time < std::chrono::milliseconds(2));
}

}  // namespace
}  // namespace elastic
