// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A job of thousands of nodes: the cost of its events for the coordinator alone, and simulated
// nodes for a server; see large_job.py.
//
//   large_job machine NODES...        prints a table: the coordinator, without sockets
//   large_job nodes PORT RUN_ID ADDRESS FIRST COUNT ALL [RANKS]
//                                     connects nodes FIRST to FIRST + COUNT - 1 of ALL from this
//                                     address and lets them join, except for the last of ALL; then
//                                     obeys the lines "last" (that one joins), "again" (all leave
//                                     the round and join the next) and "finish". Prints a word and
//                                     the nanoseconds of the monotonic clock at which it began,
//                                     and at which all of its nodes had their answer. With RANKS,
//                                     each node stays alive, and reports what so many workers do,
//                                     once a second while the server wants to know it: see
//                                     large_page.py.
//
// A simulated node sends the messages of a node's first connection, and runs nothing.

#include <elastic/base/limits.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/nodes/detail/rendezvous_coordinator.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/status/detail/node_report.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <asio.hpp>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using namespace elastic::detail::rendezvous_messages;
using elastic::detail::rendezvous_coordinator;
using tcp = asio::ip::tcp;

hello greeting_of(const std::string& run_id, int number, int min_nodes, int max_nodes) {
  hello greeting;
  greeting.run_id = run_id;
  const auto unique = static_cast<std::uint64_t>(number) + 1;
  greeting.node = {fmt::format("node-{}", number / 8), 1 + number, 0,
                   {unique * 0x9e3779b97f4a7c15, unique}};
  greeting.name = fmt::format("node-{}", number);
  greeting.settings.min_nodes = min_nodes;
  greeting.settings.max_nodes = max_nodes;
  greeting.settings.keep_alive_interval = 60s;
  return greeting;
}

join wish_after(std::int64_t round) { return {round, 600s, {"127.0.0.1", 1, true}}; }

// ---- the coordinator alone ----------------------------------------------------------------------

class machine {
 public:
  machine(int min_nodes, int max_nodes) : min_(min_nodes), max_(max_nodes) {}

  void greet(int number) {
    coordinator_.connected(link_of(number), {});
    const hello greeting = greeting_of("job", number, min_, max_);
    say(number, greeting);
    coordinator_.connected(witness_of(number), {});
    coordinator_.received(witness_of(number), witness{greeting.run_id, greeting.node}, now_);
  }
  void say(int number, const elastic::detail::rendezvous_request& request) {
    coordinator_.received(link_of(number), request, now_);
    take_answers();
  }
  void cut(int number) {
    coordinator_.disconnected(link_of(number), now_);
    coordinator_.disconnected(witness_of(number), now_);
  }
  void pass(elastic::duration time) {
    now_ += time;
    coordinator_.advance(now_);
    take_answers();
  }
  void gather(int count) {
    for (int number = 0; number < count; ++number) greet(number);
    for (int number = 0; number < count; ++number) say(number, wish_after(-1));
  }
  std::uint64_t visited_nodes() const { return coordinator_.visited_nodes(); }

 private:
  static rendezvous_coordinator::connection link_of(int number) {
    return 2 * static_cast<rendezvous_coordinator::connection>(number) + 1;
  }
  static rendezvous_coordinator::connection witness_of(int number) { return link_of(number) + 1; }
  void take_answers() {
    coordinator_.take_answers();
    coordinator_.take_dropped();
  }

  int min_;
  int max_;
  elastic::time_point now_{12h};
  rendezvous_coordinator coordinator_{"job", elastic::logger(), 1000};
};

/// A row of the table: what an event costs with each number of nodes.
struct event {
  std::string name;
  /// The job in which it happens, and it.
  std::function<machine(int nodes)> job;
  std::function<void(machine& job, int nodes)> happens;
};

std::vector<int> shuffled(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), std::mt19937(1));
  return all;
}

machine running(int nodes) {
  machine job(nodes, nodes);
  job.gather(nodes);
  return job;
}

machine with_place(int nodes) {
  machine job(nodes, nodes + 1);
  job.gather(nodes);
  job.pass(30s);
  return job;
}

/// All nodes wait, because one node is excluded.
machine short_of_one(int nodes) {
  machine job(nodes, nodes + 1);
  job.gather(nodes - 1);
  job.greet(nodes - 1);
  job.say(nodes - 1, leave{600s, "bad memory"});
  return job;
}

std::vector<event> events() {
  return {
      {"the last node joins: all are placed",
       [](int nodes) {
         machine job(nodes, nodes);
         job.gather(nodes - 1);
         job.greet(nodes - 1);
         return job;
       },
       [](machine& job, int nodes) { job.say(nodes - 1, wish_after(-1)); }},
      {"all leave and meet again", running,
       [](machine& job, int nodes) {
         for (const int number : shuffled(nodes)) job.say(number, wish_after(0));
       }},
      {"all finish, in the order of ranks", running,
       [](machine& job, int nodes) {
         for (int number = 0; number < nodes; ++number) job.say(number, finished{0});
       }},
      {"all finish, the last rank first", running,
       [](machine& job, int nodes) {
         for (int number = nodes; number-- > 0;) job.say(number, finished{0});
       }},
      {"all finish, in any order", running,
       [](machine& job, int nodes) {
         for (const int number : shuffled(nodes)) job.say(number, finished{0});
       }},
      {"all leave", running,
       [](machine& job, int nodes) {
         for (const int number : shuffled(nodes)) job.say(number, leave{});
       }},
      {"one is lost", running,
       [](machine& job, int nodes) {
         job.cut(nodes / 2);
         job.pass(1s);
       }},
      {"half are lost", running,
       [](machine& job, int nodes) {
         for (int number = 0; number < nodes / 2; ++number) job.cut(number);
         job.pass(1s);
       }},
      {"one joins a running round", with_place,
       [](machine& job, int nodes) {
         job.greet(nodes);
         job.say(nodes, wish_after(-1));
       }},
      {"one is excluded", running,
       [](machine& job, int nodes) { job.say(nodes / 2, leave{600s, "bad memory"}); }},
      {"each that waits says that it is alive, one is excluded", short_of_one,
       [](machine& job, int nodes) {
         for (int number = 0; number < nodes - 1; ++number) job.say(number, keep_alive{});
       }},
  };
}

/// Of this process; work of other processes does not count.
double cpu_milliseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

/// "MILLISECONDS (LOOKS)": the CPU time, and how many nodes were looked at for each that there is.
std::string cost_of(const event& what, int nodes) {
  machine job = what.job(nodes);
  const std::uint64_t visited_nodes = job.visited_nodes();
  const double begin = cpu_milliseconds();
  what.happens(job, nodes);
  const double time = cpu_milliseconds() - begin;
  const auto looks = static_cast<double>(job.visited_nodes() - visited_nodes) / nodes;
  return fmt::format("{:.2f} ({:.1f})", time, looks);
}

int print_machine(const std::vector<int>& sizes) {
  std::string head = "| ms of CPU (looks at a node, for each node) |";
  std::string rule = "| --- |";
  for (const int nodes : sizes) {
    head += fmt::format(" {} |", nodes);
    rule += " --- |";
  }
  fmt::print("{}\n{}\n", head, rule);
  for (const event& what : events()) {
    std::string row = fmt::format("| {} |", what.name);
    for (const int nodes : sizes) row += fmt::format(" {} |", cost_of(what, nodes));
    fmt::print("{}\n", row);
    std::fflush(stdout);
  }
  return 0;
}

// ---- nodes of a server --------------------------------------------------------------------------

long long nanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void print(std::string_view word) {
  fmt::print("{} {}\n", word, nanoseconds());
  std::fflush(stdout);
}

struct crowd_options {
  std::uint16_t port = 0;
  std::string run_id;
  std::string address;
  int first = 0;
  int count = 0;
  int all = 0;
  /// 0: nodes report nothing.
  int ranks = 0;
};

class crowd {
 public:
  crowd(asio::io_context& context, crowd_options chosen)
      : chosen_(std::move(chosen)), context_(context) {
    for (int number = 0; number < chosen_.count; ++number) {
      nodes_.push_back(std::make_unique<node>(context));
      nodes_.back()->number = chosen_.first + number;
      connect(*nodes_.back());
    }
    if (chosen_.ranks > 0) tick();
  }

  /// The last node joins.
  void last() { begin({nodes_.size() - 1}, wish_after(-1)); }
  void again() { begin(everybody(), wish_after(round_)); }
  void finish() { begin(everybody(), finished{round_}); }

 private:
  struct node {
    explicit node(asio::io_context& context) : socket(context) {}
    int number = 0;
    tcp::socket socket;
    bool is_followed = false;
    bool has_reported = false;
    elastic::detail::frame_reader frames{elastic::limits::rendezvous_message_bytes};
    std::array<char, 1024> bytes;
  };

  void connect(node& to) {
    to.socket.open(tcp::v4());
    // A port is chosen for the whole address of the connection: there are more of those.
    const asio::detail::socket_option::boolean<IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT> late(true);
    to.socket.set_option(late);
    to.socket.bind({asio::ip::make_address(chosen_.address), 0});
    to.socket.connect({asio::ip::address_v4::loopback(), chosen_.port});
    to.socket.set_option(tcp::no_delay(true));
    std::string words(elastic::detail::rendezvous_service::first_words);
    hello greeting = greeting_of(chosen_.run_id, to.number, chosen_.all, chosen_.all);
    greeting.has_reports = chosen_.ranks > 0;
    append(words, greeting);
    if (to.number + 1 != chosen_.all) append(words, wish_after(-1));
    append(words, keep_alive{});
    asio::write(to.socket, asio::buffer(words));
    receive(to);
    // The server's answers are read meanwhile.
    context_.poll();
  }

  static void append(std::string& words, const elastic::detail::rendezvous_request& request) {
    elastic::detail::append_frame(words, elastic::detail::to_text(request));
  }

  std::vector<std::size_t> everybody() const {
    std::vector<std::size_t> all(nodes_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }

  void begin(const std::vector<std::size_t>& who,
             const elastic::detail::rendezvous_request& request) {
    print("begin");
    std::string words;
    append(words, request);
    for (const std::size_t number : who) {
      asio::write(nodes_[number]->socket, asio::buffer(words));
      context_.poll();
    }
  }

  void receive(node& at) {
    at.socket.async_read_some(asio::buffer(at.bytes),
                              [this, &at](asio::error_code failure, std::size_t size) {
                                if (failure) return lose(failure);
                                at.frames.append({at.bytes.data(), size});
                                while (const auto message = at.frames.next()) take(at, *message);
                                receive(at);
                              });
  }

  static void lose(asio::error_code failure) {
    fmt::print(stderr, "a node lost its server: {}\n", failure.message());
    std::_Exit(1);
  }

  void take(node& at, std::string_view message) {
    const auto answer = elastic::detail::parse_rendezvous_answer(message);
    if (const auto* const wanted = std::get_if<report_wanted>(&answer)) {
      at.is_followed = wanted->demand == elastic::detail::report_demand::progress;
      return;
    }
    if (std::holds_alternative<alive>(answer)) return count("ready", ready_);
    if (std::holds_alternative<all_finished>(answer)) {
      // The server tells the last one twice.
      if (finished_ < chosen_.count) count("finished", finished_);
      return;
    }
    if (const auto* const place = std::get_if<placed>(&answer)) {
      round_ = place->round;
      count("placed", placed_);
    }
  }

  /// What the workers of a node do: each makes a step a second.
  std::string report_of(node& at) const {
    elastic::detail::node_report report;
    report.begins = !std::exchange(at.has_reported, true);
    report.epoch = at.number + 1;
    report.activity = elastic::detail::agent_activity::running;
    report.round = round_;
    report.base_rank = at.number * chosen_.ranks;
    report.size = chosen_.ranks;
    for (int place = 0; place < chosen_.ranks; ++place) {
      elastic::detail::viewed_worker& worker = report.workers.emplace_back();
      worker.local_rank = place;
      worker.state = elastic::detail::viewed_worker::condition::running;
      worker.pid = 1000 + place;
      worker.step = ticks_;
      worker.total = 100'000;
      worker.step_seconds = 1;
      worker.usage = {0.01 * (ticks_ % 100), 1'000'000'000 + ticks_ * 4096};
    }
    // A node measures its workers every two seconds.
    if (ticks_ % 2 == 0) report.used = report.workers;
    return elastic::detail::report_text(report);
  }

  void tick() {
    constexpr int keep_alive_ticks = 5;
    for (const auto& each : nodes_) {
      std::string words;
      if (ticks_ % keep_alive_ticks == 0) append(words, keep_alive{});
      if (each->is_followed) append(words, report{report_of(*each)});
      if (!words.empty()) asio::write(each->socket, asio::buffer(words));
    }
    ++ticks_;
    clock_.expires_after(1s);
    clock_.async_wait([this](asio::error_code) { tick(); });
  }

  void count(std::string_view what, int& so_far) {
    if (++so_far % chosen_.count == 0) print(what);
  }

  crowd_options chosen_;
  asio::io_context& context_;
  std::vector<std::unique_ptr<node>> nodes_;
  asio::steady_timer clock_{context_};
  std::int64_t ticks_ = 0;
  std::int64_t round_ = -1;
  int ready_ = 0;
  int placed_ = 0;
  int finished_ = 0;
};

int run_nodes(const crowd_options& chosen) {
  asio::io_context context{1};
  crowd nodes(context, chosen);
  asio::posix::stream_descriptor input(context, ::dup(STDIN_FILENO));
  std::string line;
  std::function<void()> read;
  read = [&] {
    asio::async_read_until(input, asio::dynamic_buffer(line), '\n',
                           [&](asio::error_code failure, std::size_t size) {
                             if (failure) std::_Exit(0);
                             const std::string word = line.substr(0, size - 1);
                             line.erase(0, size);
                             if (word == "last") nodes.last();
                             if (word == "again") nodes.again();
                             if (word == "finish") nodes.finish();
                             read();
                           });
  };
  read();
  context.run();
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view what = count > 1 ? words[1] : "";
  if (what == "machine" && count > 2) {
    std::vector<int> sizes;
    for (int place = 2; place < count; ++place) sizes.push_back(std::atoi(words[place]));
    return print_machine(sizes);
  }
  if (what == "nodes" && (count == 8 || count == 9)) {
    crowd_options chosen;
    chosen.port = static_cast<std::uint16_t>(std::atoi(words[2]));
    chosen.run_id = words[3];
    chosen.address = words[4];
    chosen.first = std::atoi(words[5]);
    chosen.count = std::atoi(words[6]);
    chosen.all = std::atoi(words[7]);
    if (count == 9) chosen.ranks = std::atoi(words[8]);
    return run_nodes(chosen);
  }
  std::fprintf(stderr, "see the first lines of benchmarks/large_job.cpp\n");
  return 2;
}
