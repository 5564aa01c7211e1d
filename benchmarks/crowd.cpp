// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Nodes of a job with several servers that are as cheap as can be, since they share a processor:
// they say what a node says, over as many connections, and run nothing.
//
//   crowd ENDPOINTS NODES   prints a line when all have met, and another one each time that they
//                           have met again: the nanoseconds, by the monotonic clock, at which the
//                           first and the last of them knew its place
//
// nodes.py kills the servers.

#include <elastic/base/limits.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/net/endpoint_list.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <elastic/nodes/detail/rendezvous_host.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <asio.hpp>

namespace {

namespace messages = elastic::detail::rendezvous_messages;
using clock_type = std::chrono::steady_clock;
using tcp = asio::ip::tcp;

constexpr std::chrono::milliseconds first_pause{10};
constexpr std::chrono::milliseconds longest_pause{250};

struct job {
  asio::io_context context{1};
  std::string list;
  std::vector<tcp::endpoint> candidates;
  elastic::rendezvous_settings settings;
  int nodes = 0;
};

/// Prints when the first and the last node knew its place in each round.
class round_clock {
 public:
  explicit round_clock(int nodes) : nodes_(nodes) {}

  void placed(std::int64_t term, std::int64_t round) {
    const std::pair name(term, round);
    if (name != round_) {
      round_ = name;
      count_ = 0;
      first_ = clock_type::now();
    }
    if (++count_ != nodes_) return;
    std::printf("%lld %lld\n", nanoseconds(first_), nanoseconds(clock_type::now()));
    std::fflush(stdout);
  }

 private:
  static long long nanoseconds(clock_type::time_point moment) {
    return std::chrono::nanoseconds(moment.time_since_epoch()).count();
  }

  int nodes_;
  int count_ = 0;
  std::pair<std::int64_t, std::int64_t> round_{-1, -1};
  clock_type::time_point first_;
};

/// A connection to a candidate: until it says that it leads, the node asks there.
struct line {
  line(asio::io_context& context, std::size_t candidate, bool second)
      : socket(context), pause(context), place(candidate), is_witness(second) {}

  void close() {
    is_over = true;
    pause.cancel();
    asio::error_code ignored;
    socket.close(ignored);
  }

  tcp::socket socket;
  asio::steady_timer pause;
  elastic::detail::frame_reader frames{elastic::limits::rendezvous_message_bytes};
  std::array<char, 2048> bytes;
  std::size_t place;
  bool is_witness;
  bool is_over = false;
};
using line_pointer = std::shared_ptr<line>;

class node {
 public:
  node(job& of, round_clock& rounds, int number) : job_(of), rounds_(rounds) {
    greeting_.run_id = "job";
    greeting_.node.host = "crowd";
    greeting_.node.pid = number + 1;
    greeting_.node.number = elastic::detail::new_node_number();
    greeting_.settings = of.settings;
    greeting_.name = greeting_.node.text();
  }

  /// Asks each candidate whether it leads.
  void seek() {
    for (std::size_t place = 0; place < job_.candidates.size(); ++place) {
      asking_.push_back(std::make_shared<line>(job_.context, place, false));
      connect(asking_.back(), first_pause);
    }
  }

 private:
  void connect(const line_pointer& to, std::chrono::milliseconds pause) {
    to->socket.async_connect(
        job_.candidates[to->place], [this, to, pause](asio::error_code failure) {
          if (to->is_over) return;
          if (failure) return connect_later(to, pause);
          to->socket.set_option(tcp::no_delay(true));
          elastic::detail::candidate_messages::seek question;
          question.run_id = greeting_.run_id;
          question.list = job_.list;
          question.highest_term = greeting_.highest_term;
          std::string words(elastic::detail::rendezvous_service::first_words);
          elastic::detail::append_frame(
              words, elastic::detail::candidate_text(elastic::detail::candidate_request(question)));
          send(*to, words);
          receive(to);
        });
  }

  void connect_later(const line_pointer& to, std::chrono::milliseconds pause) {
    asio::error_code ignored;
    to->socket.close(ignored);
    to->pause.expires_after(pause);
    to->pause.async_wait([this, to, pause](asio::error_code failure) {
      if (!failure && !to->is_over) connect(to, std::min(2 * pause, longest_pause));
    });
  }

  void receive(const line_pointer& from) {
    from->socket.async_read_some(asio::buffer(from->bytes),
                                 [this, from](asio::error_code failure, std::size_t size) {
                                   if (from->is_over) return;
                                   if (failure) return end(from);
                                   from->frames.append({from->bytes.data(), size});
                                   while (!from->is_over) {
                                     const auto message = from->frames.next();
                                     if (!message) break;
                                     take(from, *message);
                                   }
                                   if (!from->is_over) receive(from);
                                 });
  }

  void send(line& to, std::string_view words) {
    asio::error_code failure;
    asio::write(to.socket, asio::buffer(words), failure);  // an end is read
  }

  void say(line& to, const elastic::detail::rendezvous_request& request) {
    std::string frame;
    elastic::detail::append_frame(frame, elastic::detail::to_text(request));
    send(to, frame);
  }

  void end(const line_pointer& at) {
    if (at != main_) return connect_later(at, first_pause);
    at->close();
    main_ = nullptr;
    if (witness_) std::exchange(witness_, nullptr)->close();
    seek();
  }

  void take(const line_pointer& from, std::string_view message) {
    if (from == main_) {
      const auto answer = elastic::detail::parse_rendezvous_answer(message);
      if (const auto* welcome = std::get_if<messages::welcome>(&answer)) return enter(*welcome);
      if (const auto* placed = std::get_if<messages::placed>(&answer)) return settle(*placed);
      if (std::holds_alternative<messages::changed>(answer)) join();
      return;
    }
    const auto answer = elastic::detail::parse_candidate_answer(message);
    const auto* leads = std::get_if<elastic::detail::candidate_messages::leads>(&answer);
    if (leads == nullptr || leads->term < greeting_.highest_term) return;
    if (from->is_witness) return say(*from, messages::witness{greeting_.run_id, greeting_.node});
    main_ = from;
    for (const line_pointer& other : std::exchange(asking_, {})) {
      if (other != from) other->close();
    }
    say(*from, greeting_);
  }

  void enter(const messages::welcome& reply) {
    greeting_.highest_term = std::max(greeting_.highest_term, reply.term);
    join();
    witness_ = std::make_shared<line>(job_.context, main_->place, true);
    connect(witness_, first_pause);
  }

  void join() {
    if (greeting_.former) greeting_.former->until_end = false;
    messages::join wish;
    wish.after = round_;
    wish.timeout = job_.settings.join_timeout;
    wish.offer = {"127.0.0.1", 1, false};
    say(*main_, wish);
  }

  void settle(const messages::placed& reply) {
    round_ = reply.round;
    greeting_.former =
        messages::former_round{reply.term,      reply.round,    reply.rank, reply.world,
                               reply.host_rank, reply.restarts, true,       "127.0.0.1"};
    rounds_.placed(reply.term, reply.round);
  }

  job& job_;
  round_clock& rounds_;
  messages::hello greeting_;
  std::int64_t round_ = -1;
  std::vector<line_pointer> asking_;
  line_pointer main_;
  line_pointer witness_;
};

int run(const std::string& list, int nodes) {
  job of;
  of.list = list;
  of.nodes = nodes;
  of.settings.min_nodes = of.settings.max_nodes = nodes;
  for (const auto& at :
       elastic::parse_endpoints(list, elastic::detail::c10d_port,
                                elastic::limits::rendezvous_candidates)) {
    of.candidates.emplace_back(asio::ip::make_address(at.host), at.port);
  }
  round_clock rounds(nodes);
  std::vector<std::unique_ptr<node>> crowd;
  for (int number = 0; number < nodes; ++number) {
    crowd.push_back(std::make_unique<node>(of, rounds, number));
    crowd.back()->seek();
  }
  of.context.run();
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 3 && std::atoi(words[2]) > 0) return run(words[1], std::atoi(words[2]));
  std::fprintf(stderr, "see the first lines of benchmarks/crowd.cpp\n");
  return 2;
}
