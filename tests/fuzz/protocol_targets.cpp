// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Protocols: bytes from other nodes, workers and servers, which may be hostile.

#include "target.hpp"

#include <elastic/base/limits.hpp>
#include <elastic/etcd/detail/legacy_state.hpp>
#include <elastic/net/detail/http_parser.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/net/detail/secure_session.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <elastic/nodes/detail/rendezvous_coordinator.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/status/detail/command_request.hpp>
#include <elastic/status/detail/node_report.hpp>
#include <elastic/status/detail/output_desk.hpp>
#include <elastic/status/detail/output_message.hpp>
#include <elastic/status/detail/stream_reader.hpp>
#include <elastic/status/detail/viewed_job.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/detail/tcp_store_session.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>
#include <elastic/vault/detail/vault_header.hpp>
#include <elastic/vault/detail/vault_message.hpp>
#include <elastic/vault/detail/vault_report.hpp>
#include <elastic/wire/detail/pmi_request.hpp>
#include <elastic/wire/detail/pmi_session.hpp>
#include <elastic/wire/detail/wire_place.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace elastic::fuzz {
namespace {

using detail::job_roster;
using detail::node_presence;
using detail::parse_rendezvous_answer;
using detail::parse_rendezvous_request;
using detail::rendezvous_coordinator;
using detail::rendezvous_request;
using detail::tcp_store_bounds;
using detail::tcp_store_legacy_dialect;
using detail::viewed_job;
using detail::viewed_node;

using detail::key_value_engine;
using detail::torch_dialect;
using detail::torch_state;

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

// ---- the store's table --------------------------------------------------------------------------

// One who waits and watches, and counts what it is told.
class table_listener final : public key_value_engine::listener {
 public:
  void on_ready(key_value_engine::wait_id wait) noexcept override { ++ready[wait]; }
  void on_change(const key_value_engine::change_pointer&) noexcept override { ++changes; }

  std::map<key_value_engine::wait_id, int> ready;
  std::size_t changes = 0;
};

// What the table has to be after the same operations, and who has to know.
struct table_model {
  struct waiting {
    std::set<std::string> missing;
    std::size_t listener = 0;
  };

  void saw(const std::string& key) {
    for (auto& [id, wait] : waits) wait.missing.erase(key);
    for (const auto& [id, watched] : watches) {
      if (watched.first == key) ++changes[watched.second];
    }
  }

  std::map<std::string, std::string> values;
  std::map<std::string, std::deque<std::string>> queues;
  std::map<key_value_engine::wait_id, waiting> waits;
  std::map<key_value_engine::wait_id, std::pair<std::string, std::size_t>> watches;
  std::map<std::size_t, std::size_t> changes;
};

// Operations of several clients on one table: values, queues, waits and watches are those of a
// model of it, whatever comes in between.
void store_operations(std::string_view input) {
  constexpr std::size_t most_bytes = 512;
  key_value_engine table(most_bytes);
  table_model model;
  std::vector<std::shared_ptr<table_listener>> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(std::make_shared<table_listener>());
  cutter parts(input);
  while (!parts.is_empty()) {
    const std::string key(1, static_cast<char>('a' + parts.number(3)));
    const std::string queue(1, static_cast<char>('p' + parts.number(1)));
    const std::size_t client = parts.number(2);
    const std::string text(parts.bytes(parts.number(60)));
    auto& value = model.values;
    try {
      switch (parts.number(9)) {
        case 0:
          table.set(key, text);
          value[key] = text;
          model.saw(key);
          break;
        case 1:
          table.append(key, text);
          value[key] += text;
          model.saw(key);
          break;
        case 2: {
          const std::int64_t sum = table.add(key, static_cast<std::int64_t>(text.size()));
          value[key] = std::to_string(sum);
          model.saw(key);
          break;
        }
        case 3: {
          const std::string before = value.count(key) != 0 ? value[key] : "";
          const std::string expected = parts.number(1) == 0 ? before : text;
          const std::string stored = table.compare_set(key, expected, text);
          require(stored == (expected == before      ? text
                             : value.count(key) != 0 ? before
                                                     : expected),
                  "compare_set tells what is stored");
          if (expected != before) break;
          value[key] = text;
          model.saw(key);
          break;
        }
        case 4:
          require(table.erase(key) == (value.erase(key) != 0), "erase tells whether it was there");
          for (const auto& [id, watched] : model.watches) {
            // A removal is a change; what was not there was not removed.
            if (watched.first == key) ++model.changes[watched.second];
          }
          break;
        case 5: {
          table.queue_push(queue, text);
          model.queues[queue].push_back(text);
          break;
        }
        case 6: {
          std::int64_t length = 0;
          const auto item = table.queue_pop(queue, length);
          auto& items = model.queues[queue];
          require(length == static_cast<std::int64_t>(items.size()), "a queue has its length");
          require(item.has_value() == !items.empty(), "a queue that has items gives one");
          if (!item) break;
          require(*item == items.front(), "a queue gives the oldest item");
          items.pop_front();
          break;
        }
        case 7: {
          const std::string other(1, static_cast<char>('a' + parts.number(3)));
          const std::string_view keys[] = {key, other};
          const auto id = table.wait(keys, clients[client]);
          table_model::waiting wait{{}, client};
          for (const std::string& name : {key, other}) {
            if (value.count(name) == 0) wait.missing.insert(name);
          }
          require((id == 0) == wait.missing.empty(), "a wait for what is there is none");
          if (id != 0) model.waits.emplace(id, std::move(wait));
          break;
        }
        case 8:
          if (model.waits.empty()) break;
          table.cancel(model.waits.begin()->first);
          model.waits.erase(model.waits.begin());
          break;
        default:
          if (const auto id = table.watch(key, clients[client])) {
            model.watches[id] = {key, client};
          }
          if (model.watches.size() > 8) {
            table.unwatch(model.watches.begin()->first);
            model.watches.erase(model.watches.begin());
          }
      }
    } catch (const error&) {
      // Full, or no number: nothing has changed.
    }
    require(table.bytes() <= most_bytes, "the table keeps to its bound");
    require(table.num_keys() == static_cast<std::int64_t>(value.size()), "keys are counted");
    for (const auto& [name, content] : value) {
      require(table.find(name) == content, "what is stored is what is found");
    }
    for (auto wait = model.waits.begin(); wait != model.waits.end();) {
      const int answers = clients[wait->second.listener]->ready[wait->first];
      require(answers == (wait->second.missing.empty() ? 1 : 0),
              "a wait is told once, when all of its keys have been there");
      wait = answers == 0 ? std::next(wait) : model.waits.erase(wait);
    }
    require(table.waiters() == model.waits.size(), "waits are counted");
    require(table.watchers() == model.watches.size(), "watches are counted");
  }
}

// ---- the rendezvous -----------------------------------------------------------------------------

void rendezvous_requests(std::string_view input) {
  detail::frame_reader frames(limits::rendezvous_message_bytes);
  cutter parts(input);
  const std::size_t piece = 1 + parts.number(31);
  while (!parts.is_empty()) {
    frames.append(parts.bytes(piece));
    while (const std::optional<std::string_view> message = frames.next()) {
      const std::string text = detail::to_text(parse_rendezvous_request(*message));
      require(detail::to_text(parse_rendezvous_request(text)) == text,
              "what is written can be read");
    }
  }
}

void rendezvous_answers(std::string_view input) {
  const std::string text = detail::to_text(parse_rendezvous_answer(input));
  require(detail::to_text(parse_rendezvous_answer(text)) == text, "what is written can be read");
}

// What nodes tell of themselves, one after the other.
void node_reports(std::string_view input) {
  viewed_job job;
  job_roster roster;
  roster.nodes = {{1, "a", "a_1_0", node_presence::active, 0}, {2, "b", "b_1_0"}};
  job.take(roster, 1);
  cutter parts(input);
  while (!parts.is_empty()) {
    const auto key = static_cast<std::int64_t>(parts.number(3));
    const std::string_view text = parts.bytes(4 * parts.number(255));
    try {
      const detail::node_report report = detail::parse_node_report(text);
      const std::string written = detail::report_text(report);
      require(detail::report_text(detail::parse_node_report(written)) == written,
              "what is written can be read");
      job.take(key, report, 7, 1);
    } catch (const error&) {
      continue;
    }
    require(job.nodes().size() <= 5, "a node is one");
    for (const viewed_node& node : job.nodes()) {
      require(node.workers.size() <= limits::viewed_workers, "a job keeps to its bound");
    }
  }
}

// The lines that nodes send for a reader, one report after the other.
void output_reports(std::string_view input) {
  viewed_job job;
  job_roster roster;
  roster.nodes = {{1, "a", "a_1_0", node_presence::active, 0}, {2, "b", "b_1_0"}};
  job.take(roster, 1);
  detail::output_desk desk;
  const std::int64_t id = desk.begin({}, job, 0);
  cutter parts(input);
  while (!parts.is_empty()) {
    const auto key = static_cast<std::int64_t>(parts.number(3));
    const std::string_view text = parts.bytes(4 * parts.number(255));
    try {
      detail::output_report report = detail::parse_output_report(text);
      const std::string written = to_text(report);
      require(to_text(detail::parse_output_report(written)) == written,
              "what is written can be read");
      report.id = id;
      desk.take(key, std::move(report));
    } catch (const error&) {
      continue;
    }
    if (key == 0) continue;
    for (const detail::output_piece& piece : desk.collect(id, job).pieces) {
      require(piece.text.empty() || piece.text.ends_with('\n'), "a line is whole");
      require(piece.rank >= 0 && piece.rank < limits::job_ranks, "a rank is one");
    }
  }
}

// What the node that shows the job wants of the others.
void output_requests(std::string_view input) {
  const std::string text = to_text(detail::parse_output_request(input));
  require(to_text(detail::parse_output_request(text)) == text, "what is written can be read");
}

// The query of a reader, which any client of the status server sends.
void output_query(std::string_view input) {
  const detail::output_reading reading = detail::parse_output_query(input);
  require(detail::parse_output_query(to_query(reading)) == reading, "what is written can be read");
}

// What a worker writes does not depend on the pieces in which it is read.
void output_lines(std::string_view input) {
  cutter parts(input);
  const std::size_t piece = 1 + parts.number(63);
  const std::string_view bytes = parts.rest();
  const auto lines_of = [&](std::size_t size) {
    detail::line_picker picker;
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      picker.feed(bytes.substr(at, size), text);
      require(text.empty() || text.ends_with('\n'), "a line is whole");
    }
    picker.finish(text);
    return text;
  };
  require(lines_of(piece) == lines_of(bytes.size() + 1), "lines do not depend on pieces");
}

void candidate_requests(std::string_view input) {
  const auto request = detail::parse_candidate_request(input);
  if (!request) return;
  const std::string text = detail::candidate_text(*request);
  const auto again = detail::parse_candidate_request(text);
  require(again && detail::candidate_text(*again) == text, "what is written can be read");
}

void candidate_answers(std::string_view input) {
  const std::string text = detail::candidate_text(detail::parse_candidate_answer(input));
  require(detail::candidate_text(detail::parse_candidate_answer(text)) == text,
          "what is written can be read");
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
  using parser_type = elastic::detail::http_parser;
  parser_type parser(parser_type::message::response, {4096, 4096, 4096});
  for (std::size_t at = 0; at < bytes.size(); at += piece) parser.feed(bytes.substr(at, piece));
  parser.end();
  http_outcome outcome;
  outcome.is_refused = parser.current() == parser_type::state::refused;
  if (outcome.is_refused) return outcome;
  outcome.is_complete = parser.current() == parser_type::state::complete;
  outcome.status = parser.head().status;
  outcome.body = parser.take_body();
  return outcome;
}

void http_response(std::string_view input) {
  cutter parts(input);
  const std::size_t piece = 1 + parts.number(15);
  const std::string_view bytes = parts.rest();
  const std::size_t whole = bytes.empty() ? 1 : bytes.size();
  require(outcome_of_http(bytes, piece) == outcome_of_http(bytes, whole),
          "a response does not depend on the pieces in which it arrives");
}

// Every request of one connection in a line each, and how it ended.
std::string requests_of(std::string_view bytes, std::size_t piece) {
  using elastic::detail::http_parser;
  http_parser parser(http_parser::message::request, elastic::detail::status_request_bounds);
  std::string requests;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::string_view rest = bytes.substr(at, piece);
    while (!rest.empty()) {
      rest.remove_prefix(parser.feed(rest));
      if (parser.current() == http_parser::state::refused) {
        return requests + std::to_string(parser.refusal().status) + parser.refusal().problem;
      }
      if (parser.current() == http_parser::state::incomplete) continue;
      require(parser.head().path.substr(0, 1) == "/", "a path begins with a slash");
      requests += parser.head().method + " " + parser.head().path + "?" + parser.head().query;
      for (const auto& [name, value] : parser.head().headers) requests += name + ":" + value;
      if (elastic::detail::is_command_path(parser.head().path)) {
        elastic::detail::read_command(parser.head(), parser.body(), {1, 1, true});
      }
      requests += parser.body() + '\n';
      parser.next();
    }
  }
  return requests;
}

void http_request(std::string_view input) {
  cutter parts(input);
  const std::size_t piece = 1 + parts.number(15);
  const std::string_view bytes = parts.rest();
  const std::size_t whole = bytes.empty() ? 1 : bytes.size();
  require(requests_of(bytes, piece) == requests_of(bytes, whole),
          "requests do not depend on the pieces in which they arrive");
}

// ---- the job's secret ---------------------------------------------------------------------------

const job_secret& test_secret() {
  static const job_secret secret("a secret that the input does not know");
  return secret;
}

// Bytes of somebody who has no secret: nobody believes them, and little is answered.
void secure_stranger(std::string_view input) {
  cutter parts(input);
  const detail::session_role role =
      parts.number(1) == 0 ? detail::session_role::client : detail::session_role::server;
  const std::size_t piece = 1 + parts.number(63);
  detail::secure_session session(test_secret(), role);
  session.send("nobody else may read this");
  std::size_t answered = session.take_output().size();
  std::string plain;
  try {
    while (!parts.is_empty()) {
      session.received(parts.bytes(piece), plain);
      answered += session.take_output().size();
    }
  } catch (const error&) {
    answered += session.take_output().size();
  }
  require(!session.is_ready(), "who has no secret is not believed");
  require(plain.empty(), "nothing that a stranger says is passed on");
  require(answered <= 4096, "a stranger is told little");
}

// Two ends that hold the secret, with a byte changed, left out or said twice on its way: each hears
// the beginning of what the other said, or an error.
void secure_changed(std::string_view input) {
  cutter parts(input);
  detail::secure_session ends[2] = {
      detail::secure_session(test_secret(), detail::session_role::client),
      detail::secure_session(test_secret(), detail::session_role::server)};
  std::string heard[2];
  const std::string texts[2] = {std::string(parts.bytes(parts.number(80))),
                                std::string(parts.bytes(parts.number(80)))};
  for (int end = 0; end < 2; ++end) ends[end].send(texts[end]);
  const std::size_t change = parts.number(2);
  std::size_t left = 16 * parts.number(127) + parts.number(15);
  const std::size_t mask = 1 + parts.number(254);
  const std::size_t piece = 1 + 8 * parts.number(127);
  bool is_changed = false;
  try {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (int from = 0; from < 2; ++from) {
        std::string bytes = ends[from].take_output();
        if (bytes.empty()) continue;
        has_moved = true;
        if (!is_changed && left < bytes.size()) {
          is_changed = true;
          if (change == 0) bytes[left] = static_cast<char>(bytes[left] ^ static_cast<char>(mask));
          if (change == 1) bytes.erase(left, mask);
          if (change == 2) bytes += bytes.substr(left);
        } else if (!is_changed) {
          left -= bytes.size();
        }
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
          ends[1 - from].received(std::string_view(bytes).substr(at, piece), heard[1 - from]);
        }
      }
    }
  } catch (const error&) {
    require(is_changed, "what was not changed is believed");
  }
  for (int end = 0; end < 2; ++end) {
    require(texts[1 - end].starts_with(heard[end]), "nobody hears what was not said");
  }
  require(is_changed || (heard[0] == texts[1] && heard[1] == texts[0]), "everything is heard");
}

// ---- PMI ----------------------------------------------------------------------------------------

// What a worker hears does not depend on the pieces in which it speaks; a barrier ends at once.
void pmi_worker(std::string_view input) {
  cutter parts(input);
  const std::size_t piece = 1 + parts.number(6);
  const std::string_view lines = parts.rest();
  const auto converse = [&](std::size_t size) {
    detail::pmi_session session(std::make_shared<detail::pmi_space>(), 2);
    std::string heard;
    try {
      for (std::size_t at = 0; at < lines.size(); at += size) {
        session.consume(lines.substr(at, size));
        while (session.at() == detail::pmi_session::stage::in_barrier) session.leave_barrier();
        heard += std::exchange(session.output(), {});
        if (const auto complaint = session.take_complaint()) {
          require(!complaint->empty(), "a complaint says something");
        }
      }
    } catch (const error& refusal) {
      require(refusal.code() == errc::protocol_violation, "a refusal is one of the protocol");
      heard += session.output();
    }
    return heard;
  };
  require(converse(lines.size() + 1).size() <= lines.size() * limits::pmi_line_bytes,
          "replies are bounded");
  // Without a barrier nothing waits, so that the replies come at the same places.
  if (lines.find("barrier_in") == std::string_view::npos) {
    require(converse(piece) == converse(1), "replies do not depend on pieces");
  }
}

// Keys that another node tells.
void pmi_news(std::string_view input) {
  detail::pmi_space space;
  space.add_news(input);
  require(space.take_news().empty(), "what another node told is no news of this one");
}

// Where another node's workers are.
void wire_places(std::string_view input) {
  const detail::wire_place place = detail::parse_wire_place(input);
  const detail::wire_place again = detail::parse_wire_place(detail::text_of(place));
  require(again.base_rank == place.base_rank && again.ports == place.ports &&
              again.coordinator_port == place.coordinator_port,
          "a place is read as it is written");
}

// The header of a slot, which a worker can write.
void vault_header(std::string_view input) {
  const std::uint64_t file_bytes = input.size() * 1024;
  const auto header = detail::parse_vault_header(input, file_bytes);
  if (!header) return;
  require(bytes_of(*header) == input, "a header is read as it is written");
  require(limits::vault_header_bytes + header->data_bytes + header->manifest_bytes <= file_bytes,
          "a commit lies in its slot");
}

// A worker's message to the vault.
void vault_request(std::string_view input) { detail::parse_vault_request(input); }

// A node's report about its vault.
void vault_report(std::string_view input) {
  const detail::vault_report report = detail::parse_vault_report(input);
  require(detail::parse_vault_report(text_of(report)) == report,
          "a report is read as it is written");
}

}  // namespace

std::vector<target> protocol_targets() {
  return {
      {"store_in_pieces", store_in_pieces},
      {"store_clients", store_clients},
      {"store_operations", store_operations},
      {"rendezvous_requests", rendezvous_requests},
      {"rendezvous_answers", rendezvous_answers},
      {"node_reports", node_reports},
      {"output_reports", output_reports},
      {"output_requests", output_requests},
      {"output_query", output_query},
      {"output_lines", output_lines},
      {"candidate_requests", candidate_requests},
      {"candidate_answers", candidate_answers},
      {"rendezvous_nodes", rendezvous_nodes},
      {"torch_pickle", torch_pickle},
      {"torch_text", torch_text},
      {"legacy_text", legacy_text},
      {"http_request", http_request},
      {"http_response", http_response},
      {"secure_stranger", secure_stranger},
      {"secure_changed", secure_changed},
      {"pmi_worker", pmi_worker},
      {"pmi_news", pmi_news},
      {"wire_places", wire_places},
      {"vault_header", vault_header},
      {"vault_request", vault_request},
      {"vault_report", vault_report},
  };
}

}  // namespace elastic::fuzz
