// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include "target.hpp"

#include <elastic/agent/detail/line_template.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/health/detail/control_message.hpp>
#include <elastic/health/detail/timer_request.hpp>
#include <elastic/launch/command_line.hpp>
#include <elastic/net/detail/http_response_parser.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/message_frame.hpp>
#include <elastic/rendezvous/etcd/detail/legacy_state.hpp>
#include <elastic/rendezvous/native/rendezvous_coordinator.hpp>
#include <elastic/rendezvous/native/rendezvous_message.hpp>
#include <elastic/rendezvous/torch/detail/torch_state_codec.hpp>
#include <elastic/store/detail/tcp_store_session.hpp>
#include <elastic/store/key_value_engine.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace elastic::fuzz {
namespace {

// ---- the store ----------------------------------------------------------------------------------

// One client of a store whose socket is the fuzzer.
class store_client final : public key_value_engine::listener {
 public:
  static std::shared_ptr<store_client> make(const std::shared_ptr<key_value_engine>& engine,
                                            const tcp_store_bounds& bounds,
                                            tcp_store_legacy_dialect dialect) {
    auto made = std::make_shared<store_client>(engine, bounds, dialect);
    made->session_.listen(made);
    return made;
  }

  store_client(const std::shared_ptr<key_value_engine>& engine, const tcp_store_bounds& bounds,
               tcp_store_legacy_dialect dialect)
      : session_(engine, bounds, dialect) {}

  void on_ready(key_value_engine::wait_id wait) noexcept override { session_.ready(wait); }
  void on_change(const key_value_engine::change_pointer& change) noexcept override {
    session_.changed(*change);
  }

  void send(std::string_view bytes) {
    if (session_.current() != detail::tcp_store_session::state::ended) session_.consume(bytes);
  }

  std::string read() {
    std::string output = std::exchange(session_.output(), {});
    if (session_.current() == detail::tcp_store_session::state::paused) session_.resume();
    return output;
  }

 private:
  detail::tcp_store_session session_;
};

tcp_store_bounds small_bounds() {
  tcp_store_bounds bounds;
  bounds.key_bytes = 64;
  bounds.value_bytes = 1024;
  bounds.keys_per_request = 16;
  bounds.request_bytes = 4096;
  return bounds;
}

constexpr std::size_t table_bytes = 16384;

tcp_store_legacy_dialect dialect_of(std::size_t number) {
  return number == 0 ? tcp_store_legacy_dialect::guess : tcp_store_legacy_dialect::torch_2_1;
}

// The replies do not depend on the pieces in which the requests arrive.
void store_in_pieces(std::string_view input) {
  cutter parts(input);
  const tcp_store_legacy_dialect dialect = dialect_of(parts.number(1));
  const std::size_t piece = 1 + parts.number(6);
  const std::string_view requests = parts.rest();
  const auto whole_table = std::make_shared<key_value_engine>(table_bytes);
  const auto whole = store_client::make(whole_table, small_bounds(), dialect);
  whole->send(requests);
  const auto pieces_table = std::make_shared<key_value_engine>(table_bytes);
  const auto pieces = store_client::make(pieces_table, small_bounds(), dialect);
  for (std::size_t at = 0; at < requests.size(); at += piece) {
    pieces->send(requests.substr(at, piece));
  }
  require(whole->read() == pieces->read(), "replies do not depend on pieces");
  require(whole_table->bytes() == pieces_table->bytes(), "the table does not depend on pieces");
  require(whole_table->bytes() <= table_bytes, "the table keeps to its bound");
}

// Several clients of one table, who come, speak, read and go as the input says.
void store_clients(std::string_view input) {
  constexpr std::size_t most_clients = 4;
  const auto table = std::make_shared<key_value_engine>(table_bytes);
  std::vector<std::shared_ptr<store_client>> clients(most_clients);
  cutter parts(input);
  while (!parts.is_empty()) {
    std::shared_ptr<store_client>& client = clients[parts.number(most_clients - 1)];
    if (!client) client = store_client::make(table, small_bounds(), dialect_of(parts.number(1)));
    switch (parts.number(7)) {
      case 0: client.reset(); break;
      case 1: client->read(); break;
      default: client->send(parts.bytes(parts.number(96)));
    }
    require(table->bytes() <= table_bytes, "the table keeps to its bound");
  }
  clients.clear();
  require(table->waiters() == 0, "no wait outlives its client");
  require(table->watchers() == 0, "no watch outlives its client");
}

// ---- the rendezvous -----------------------------------------------------------------------------

void rendezvous_requests(std::string_view input) {
  frame_reader frames(limits::rendezvous_message_bytes);
  cutter parts(input);
  const std::size_t piece = 1 + parts.number(31);
  while (!parts.is_empty()) {
    frames.append(parts.bytes(piece));
    while (const std::optional<std::string_view> message = frames.next()) {
      const std::string text = to_text(parse_rendezvous_request(*message));
      require(to_text(parse_rendezvous_request(text)) == text, "what is written can be read");
    }
  }
}

void rendezvous_answers(std::string_view input) {
  const std::string text = to_text(parse_rendezvous_answer(input));
  require(to_text(parse_rendezvous_answer(text)) == text, "what is written can be read");
}

// Connections that come, say what a node may say (or not), and go, while time passes.
void rendezvous_nodes(std::string_view input) {
  constexpr std::size_t most_connections = 6;
  rendezvous_coordinator coordinator("job");
  std::vector<bool> is_open(most_connections, false);
  std::vector<rendezvous_coordinator::connection> numbers(most_connections, 0);
  rendezvous_coordinator::connection last = 0;
  time_point now{};
  cutter parts(input);
  while (!parts.is_empty()) {
    const std::size_t at = parts.number(most_connections - 1);
    now += std::chrono::milliseconds(10 * parts.number(200));
    if (!is_open[at]) {
      numbers[at] = ++last;
      is_open[at] = true;
      coordinator.connected(last, {"127.0.0.1", "127.0.0.1", true});
    }
    if (parts.number(9) == 0) {
      coordinator.disconnected(numbers[at], now);
      is_open[at] = false;
    } else {
      try {
        const rendezvous_request request = parse_rendezvous_request(parts.bytes(parts.number(255)));
        coordinator.received(numbers[at], request, now);
      } catch (const error&) {
        // The service drops such a connection.
        coordinator.disconnected(numbers[at], now);
        is_open[at] = false;
      }
    }
    coordinator.advance(now);
    coordinator.take_answers();
    for (const auto dropped : coordinator.take_dropped()) {
      for (std::size_t i = 0; i < most_connections; ++i) {
        if (!is_open[i] || numbers[i] != dropped) continue;
        coordinator.disconnected(dropped, now);
        is_open[i] = false;
      }
    }
  }
}

void torch_pickle(std::string_view input) {
  const torch_state state = elastic::detail::decode_torch_state(input);
  for (const torch_dialect dialect :
       {torch_dialect::torch_1_13, torch_dialect::torch_2_0, torch_dialect::torch_2_6}) {
    std::string text;
    try {
      text = elastic::detail::encode_torch_state(state, dialect);
    } catch (const error&) {
      continue;  // A state of another dialect may hold what this one cannot say.
    }
    require(elastic::detail::decode_torch_state(text).participants == state.participants,
            "what is written can be read");
  }
}

void torch_text(std::string_view input) { elastic::detail::parse_stored_text(input); }

void legacy_text(std::string_view input) {
  const std::string text = to_text(elastic::detail::parse_legacy_state(input));
  require(to_text(elastic::detail::parse_legacy_state(text)) == text,
          "what is written can be read");
}

// ---- HTTP ---------------------------------------------------------------------------------------

struct http_outcome {
  bool is_refused = false;
  bool is_complete = false;
  int status = 0;
  std::string body;
  friend bool operator==(const http_outcome&, const http_outcome&) = default;
};

http_outcome outcome_of_http(std::string_view bytes, std::size_t piece) {
  http_outcome outcome;
  try {
    elastic::detail::http_response_parser parser(4096);
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      parser.feed(bytes.substr(at, piece));
    }
    if (!parser.is_complete()) parser.end();
    outcome.is_complete = parser.is_complete();
    outcome.status = parser.status();
    outcome.body = parser.take_body();
  } catch (const error&) {
    outcome = {};
    outcome.is_refused = true;
  }
  return outcome;
}

void http_response(std::string_view input) {
  cutter parts(input);
  const std::size_t piece = 1 + parts.number(15);
  const std::string_view bytes = parts.rest();
  const std::size_t all = bytes.empty() ? 1 : bytes.size();
  require(outcome_of_http(bytes, piece) == outcome_of_http(bytes, all),
          "a response does not depend on the pieces in which it arrives");
}

// ---- lines, files, arguments --------------------------------------------------------------------

void control_line(std::string_view input) {
  const std::string line = elastic::detail::to_line(elastic::detail::parse_worker_message(input));
  require(line.size() <= limits::control_line_bytes, "a line keeps to its bound");
  require(!line.empty() && line.back() == '\n', "a line has an end");
  require(line.find('\n') == line.size() - 1, "a line has one end");
}

void agent_line(std::string_view input) {
  if (const auto message = elastic::detail::parse_agent_message(input))
    elastic::detail::to_line(*message);
}

void timer_line(std::string_view input) { elastic::detail::parse_timer_request(input); }

void error_file(std::string_view input) { parse_error_file(input); }

void function_value(std::string_view input) { detail::call_value(input, "a value"); }

void line_prefix(std::string_view input) {
  const elastic::detail::line_template prefix{std::string(input)};
  worker_identity worker;
  prefix.head_of(worker, "host");
}

void endpoint_text(std::string_view input) {
  const endpoint at = parse_endpoint(input, 29400);
  require(parse_endpoint(to_text(at), 1).port == at.port, "what is written can be read");
}

// Arguments, then "PET_" variables, each ended by a zero.
void arguments(std::string_view input) {
  cutter parts(input);
  std::vector<std::string> words(1 + parts.number(7));
  for (std::string& word : words) word = std::string(parts.bytes(parts.number(24)));
  command_line_facts facts;
  facts.environment = environment_from({std::string(parts.rest())});
  const auto parsed = parse_command_line(words, facts);
  if (const auto* exit = std::get_if<early_exit>(&parsed)) {
    require(!exit->text.empty(), "an early end says why");
  }
}

}  // namespace

const std::vector<target>& targets() {
  static const std::vector<target> all{
      {"store_in_pieces", store_in_pieces},
      {"store_clients", store_clients},
      {"rendezvous_requests", rendezvous_requests},
      {"rendezvous_answers", rendezvous_answers},
      {"rendezvous_nodes", rendezvous_nodes},
      {"torch_pickle", torch_pickle},
      {"torch_text", torch_text},
      {"legacy_text", legacy_text},
      {"http_response", http_response},
      {"control_line", control_line},
      {"agent_line", agent_line},
      {"timer_line", timer_line},
      {"error_file", error_file},
      {"function_value", function_value},
      {"line_prefix", line_prefix},
      {"endpoint_text", endpoint_text},
      {"arguments", arguments},
  };
  return all;
}

void run(const target& what, std::string_view input) {
  try {
    what.run(input);
  } catch (const error&) {
    // Refused, which is its right.
  }
}

void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace elastic::fuzz
