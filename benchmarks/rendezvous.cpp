// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A rendezvous of many nodes at one server, and the least that such a meeting can cost; see
// rendezvous.py.
//
//   rendezvous serve ring|epoll|ring-secret|bare
//                                         serves until stdin ends; prints its port
//   rendezvous meet PORT NODES            prints the milliseconds from the last join until every
//                                         node knows its place, and those of a second round
//   rendezvous meet-secret PORT NODES     the same of nodes that hold the job's secret
//   rendezvous meet-bare PORT NODES       the same for a server that counts messages and answers
//   rendezvous candidate ENDPOINTS PLACE NODES
//                                         serves as one of several until stdin ends; prints its
//                                         place when it listens
//   rendezvous meet-candidates ENDPOINTS NODES
//                                         as meet, at several servers
//
// The nodes are handlers of one process, each with a connection of its own.

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/tcp_message_channel.hpp>
#include <elastic/net/endpoint_list.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/nodes/detail/candidate.hpp>
#include <elastic/nodes/detail/candidate_source.hpp>
#include <elastic/nodes/detail/rendezvous_host.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace {

using clock_type = std::chrono::steady_clock;
using elastic::task;

constexpr std::size_t bare_message_bytes = 128;

double milliseconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

[[noreturn]] void print_and_exit(double first_round, double second_round) {
  std::printf("%.3f %.3f\n", first_round, second_round);
  std::fflush(stdout);
  std::_Exit(0);
}

void run_until_stdin_ends(asio::io_context& context) {
  asio::posix::stream_descriptor input(context, ::dup(STDIN_FILENO));
  input.async_wait(asio::posix::stream_descriptor::wait_read,
                   [&](asio::error_code) { context.stop(); });
  context.run();
}

// ---- ours -----------------------------------------------------------------------------------

constexpr std::string_view secret = "a secret that is of no worth";

int serve(std::string_view io) {
  asio::io_context context{1};
  elastic::tcp_store_server::options options;
  options.use_ring = io != "epoll";
  if (io == "ring-secret") options.secret.emplace(secret);
  elastic::detail::internals::of(options).extension =
      std::make_shared<elastic::detail::rendezvous_service>(elastic::logger());
  elastic::tcp_store_server server(context.get_executor(), options);
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  run_until_stdin_ends(context);
  return 0;
}

/// Counts those that have come this far.
struct counter {
  int count = 0;
};

task<void> take_part(elastic::detail::c10d_rendezvous& node, counter& placed) {
  co_await node.next_round();
  ++placed.count;
}

/// A round without this node is never complete.
void end_if_failed(std::exception_ptr failure) {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "a node gave up: %s\n", problem.what());
  }
  std::_Exit(1);
}

/// Returns when the node is connected, and asks to join.
task<void> settle(elastic::detail::c10d_rendezvous& node, counter& settled) {
  elastic::system_time time;
  do {
    co_await time.sleep_until(time.now() + std::chrono::milliseconds(1));
  } while (!node.obstacle().empty());
  ++settled.count;
}

void run_until(asio::io_context& context, const counter& reached, int count) {
  while (reached.count < count) context.run_one();
}

elastic::rendezvous_parameters parameters_of(const std::string& endpoint, int nodes) {
  elastic::rendezvous_parameters parameters;
  parameters.run_id = "job";
  parameters.backend = "c10d";
  parameters.endpoint = endpoint;
  parameters.min_nodes = parameters.max_nodes = nodes;
  parameters.share_worker_store = false;
  return parameters;
}

int meet(const elastic::rendezvous_parameters& parameters) {
  const int nodes = parameters.max_nodes;
  asio::io_context context{1};
  std::vector<std::shared_ptr<elastic::detail::c10d_rendezvous>> all;
  const bool has_candidates = parameters.endpoint.find(',') != std::string::npos;
  counter placed;
  counter settled;
  const auto join = [&] {
    all.push_back(has_candidates
                      ? elastic::detail::make_candidate_rendezvous(parameters)
                      : std::make_shared<elastic::detail::c10d_rendezvous>(parameters));
    asio::co_spawn(context, take_part(*all.back(), placed), end_if_failed);
  };
  for (int node = 0; node < nodes - 1; ++node) {
    join();
    context.poll_one();
    asio::co_spawn(context, settle(*all.back(), settled), end_if_failed);
  }
  run_until(context, settled, nodes - 1);
  // Now comes what they ask for, and each one's second connection, which no round waits for.
  context.run_for(std::chrono::milliseconds(2 * nodes));
  auto begin = clock_type::now();
  join();
  run_until(context, placed, nodes);
  const double first = milliseconds_since(begin);
  begin = clock_type::now();
  for (const auto& node : all) asio::co_spawn(context, take_part(*node, placed), end_if_failed);
  run_until(context, placed, 2 * nodes);
  print_and_exit(first, milliseconds_since(begin));
}

int meet_at_port(const std::string& port, int nodes, bool has_secret) {
  auto parameters = parameters_of("127.0.0.1:" + port, nodes);
  // The server has had other jobs.
  parameters.run_id = fmt::format("job-{}", ::getpid());
  parameters.conf["is_host"] = "no";
  parameters.keep_alive_interval = std::chrono::seconds(60);
  if (has_secret) parameters.secret.emplace(secret);
  return meet(parameters);
}

// ---- at several servers -----------------------------------------------------------------------

int serve_candidate(const std::string& list, int place, int nodes) {
  asio::io_context context{1};
  const auto parameters = parameters_of(list, nodes);
  const auto endpoints =
      elastic::parse_endpoints(list, elastic::detail::c10d_port,
                               elastic::limits::rendezvous_candidates);
  elastic::detail::candidate::options options;
  options.run_id = parameters.run_id;
  options.list = list;
  options.self = place;
  for (const auto& at : endpoints) {
    options.others.push_back(std::make_shared<elastic::detail::tcp_message_connector>(
        at, std::string(elastic::detail::rendezvous_service::first_words),
        elastic::limits::rendezvous_register_bytes));
  }
  options.others[static_cast<std::size_t>(place)] = nullptr;
  options.settings = parameters.settings();
  options.node = static_cast<std::uint64_t>(::getpid());
  options.seed = options.node;
  options.time = parameters.time;
  elastic::tcp_store_server::options server_options;
  server_options.port = endpoints.at(static_cast<std::size_t>(place)).port;
  elastic::detail::internals::of(server_options).extension =
      std::make_shared<elastic::detail::candidate>(std::move(options));
  elastic::tcp_store_server server(context.get_executor(), server_options);
  std::printf("%d\n", place);
  std::fflush(stdout);
  run_until_stdin_ends(context);
  return 0;
}

elastic::rendezvous_parameters parameters_at(const std::string& list, int nodes) {
  auto parameters = parameters_of(list, nodes);
  parameters.conf["candidate"] = "none";
  return parameters;
}

// ---- the least that it can cost -------------------------------------------------------------

struct bare_peer {
  explicit bare_peer(asio::ip::tcp::socket connected) : socket(std::move(connected)) {}
  asio::ip::tcp::socket socket;
  std::array<char, bare_message_bytes> bytes{};
};

struct bare_server {
  explicit bare_server(asio::io_context& context)
      : acceptor(context, {asio::ip::address_v4::loopback(), 0}) {}

  void accept() {
    acceptor.async_accept([this](asio::error_code failure, asio::ip::tcp::socket socket) {
      if (failure) return;
      socket.set_option(asio::ip::tcp::no_delay(true));
      receive(std::make_shared<bare_peer>(std::move(socket)));
      accept();
    });
  }

  void receive(std::shared_ptr<bare_peer> peer) {
    auto& to = *peer;
    asio::async_read(to.socket, asio::buffer(to.bytes),
                     [this, peer = std::move(peer)](asio::error_code failure, std::size_t) {
                       if (failure) return;
                       arrived.push_back(peer);
                       // The first bytes of a message say how many there will be.
                       const auto all = std::strtoul(peer->bytes.data(), nullptr, 10);
                       if (arrived.size() == all) answer();
                     });
  }

  void answer() {
    for (const auto& peer : std::exchange(arrived, {})) {
      asio::write(peer->socket, asio::buffer(peer->bytes));
      receive(peer);
    }
  }

  asio::ip::tcp::acceptor acceptor;
  std::vector<std::shared_ptr<bare_peer>> arrived;
};

int serve_bare() {
  asio::io_context context{1};
  bare_server server(context);
  server.accept();
  std::printf("%d\n", server.acceptor.local_endpoint().port());
  std::fflush(stdout);
  run_until_stdin_ends(context);
  return 0;
}

void take_part_bare(const std::shared_ptr<bare_peer>& peer, int nodes, counter& placed) {
  fmt::format_to_n(peer->bytes.data(), peer->bytes.size(), "{} ", nodes);
  asio::write(peer->socket, asio::buffer(peer->bytes));
  asio::async_read(peer->socket, asio::buffer(peer->bytes),
                   [peer, &placed](asio::error_code failure, std::size_t) {
                     if (failure) std::abort();
                     ++placed.count;
                   });
}

int meet_bare(int port, int nodes) {
  asio::io_context context{1};
  const asio::ip::tcp::endpoint server(asio::ip::address_v4::loopback(),
                                       static_cast<std::uint16_t>(port));
  std::vector<std::shared_ptr<bare_peer>> all;
  counter placed;
  const auto join = [&] {
    asio::ip::tcp::socket socket(context);
    socket.connect(server);
    socket.set_option(asio::ip::tcp::no_delay(true));
    all.push_back(std::make_shared<bare_peer>(std::move(socket)));
    take_part_bare(all.back(), nodes, placed);
  };
  for (int node = 0; node < nodes - 1; ++node) join();
  // The server takes the messages meanwhile; there is nothing that it would answer by.
  ::usleep(200'000);
  auto begin = clock_type::now();
  join();
  run_until(context, placed, nodes);
  const double first = milliseconds_since(begin);
  context.restart();
  begin = clock_type::now();
  for (const auto& peer : all) take_part_bare(peer, nodes, placed);
  run_until(context, placed, 2 * nodes);
  print_and_exit(first, milliseconds_since(begin));
}

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "serve" && count == 3) {
    return std::string_view(words[2]) == "bare" ? serve_bare() : serve(words[2]);
  }
  if ((what == "meet" || what == "meet-secret") && count == 4) {
    return meet_at_port(words[2], std::atoi(words[3]), what == "meet-secret");
  }
  if (what == "candidate" && count == 5) {
    return serve_candidate(words[2], std::atoi(words[3]), std::atoi(words[4]));
  }
  if (what == "meet-candidates" && count == 4) {
    return meet(parameters_at(words[2], std::atoi(words[3])));
  }
  if (what == "meet-bare" && count == 4) {
    return meet_bare(std::atoi(words[2]), std::atoi(words[3]));
  }
  std::fprintf(stderr, "see the first lines of benchmarks/rendezvous.cpp\n");
  return 2;
}
