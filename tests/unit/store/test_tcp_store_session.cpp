// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/store/detail/tcp_store_budget.hpp>
#include <elastic/store/detail/tcp_store_session.hpp>
#include <elastic/store/store.hpp>

#include <support/catch.hpp>
#include <support/golden_vectors.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {
namespace {

using test::captured;
using test::derived;
using test::from_hex;
using test::to_hex;

// A session whose output is read by the test.
class session_client final : public key_value_engine::listener,
                             public std::enable_shared_from_this<session_client> {
 public:
  using state = tcp_store_session::state;

  static std::shared_ptr<session_client> make(
      std::shared_ptr<key_value_engine> engine,
      tcp_store_legacy_dialect dialect = tcp_store_legacy_dialect::guess,
      tcp_store_bounds bounds = {}) {
    auto client =
        std::shared_ptr<session_client>(new session_client(std::move(engine), dialect, bounds));
    client->session.listen(client);
    return client;
  }

  void on_ready(key_value_engine::wait_id wait) noexcept override { session.ready(wait); }
  void on_change(const key_value_engine::change_pointer& change) noexcept override {
    session.changed(*change);
  }

  std::string take() { return std::exchange(session.output(), {}); }

  // Sends `bytes` and returns what comes back, in hexadecimal.
  std::string reply_to(std::string_view bytes) {
    session.consume(bytes);
    return to_hex(take());
  }

  bool is_closed() const { return session.current() == state::ended; }

  tcp_store_session session;

 private:
  session_client(std::shared_ptr<key_value_engine> engine, tcp_store_legacy_dialect dialect,
                 tcp_store_bounds bounds)
      : session(std::move(engine), bounds, dialect) {}
};

using engine_values = std::vector<std::pair<std::string, std::string>>;

std::shared_ptr<key_value_engine> engine_with(const engine_values& values) {
  auto engine = std::make_shared<key_value_engine>();
  for (const auto& [key, value] : values) engine->set(key, value);
  return engine;
}

// What the others do between the messages of a vector: before each message of the server that is
// no answer.
using outside_change = std::function<void(key_value_engine&, int turn)>;

// Plays a vector to a new session, its messages cut into pieces of `piece` bytes.
void replay(const std::vector<test::golden_message>& messages, const engine_values& initial_values,
            std::size_t piece, const std::string& greeting, const outside_change& act) {
  const auto engine = engine_with(initial_values);
  const auto client = session_client::make(engine);
  client->session.consume(greeting);
  int turn = 0;
  std::string answer;
  for (const auto& message : messages) {
    if (message.sent) {
      CHECK(to_hex(answer) == "");
      for (std::size_t position = 0; position < message.bytes.size(); position += piece) {
        client->session.consume(std::string_view(message.bytes).substr(position, piece));
      }
      answer = client->take();
    } else if (message.is_end) {
      CHECK(client->is_closed());
    } else {
      if (answer.empty() && act) {
        act(*engine, turn++);
        answer += client->take();
      }
      REQUIRE(to_hex(answer.substr(0, message.bytes.size())) == to_hex(message.bytes));
      answer.erase(0, message.bytes.size());
    }
  }
  CHECK(to_hex(answer) == "");
}

void replay_all_ways(const std::vector<test::golden_message>& messages,
                     const engine_values& initial_values, const std::string& greeting = "",
                     const outside_change& act = nullptr) {
  REQUIRE(!messages.empty());
  for (std::size_t piece = 1; piece <= 64; ++piece) {
    INFO("pieces of " << piece << " bytes");
    replay(messages, initial_values, piece, greeting, act);
  }
}

// A protocol that answers each byte with 64 KiB.
class amplifier final : public store_extension {
 public:
  std::string_view greeting() const override { return "amplify"; }
  task<void> run() override { co_return; }
  std::unique_ptr<conversation> begin(client& peer) override {
    return std::make_unique<amplified_conversation>(peer);
  }

  static constexpr std::size_t factor = 64 * 1024;

 private:
  struct amplified_conversation final : conversation {
    explicit amplified_conversation(client& peer) : receiver(peer) {}
    void received(std::string_view bytes) override {
      for (std::size_t i = 0; i < bytes.size(); ++i) receiver.send(std::string(factor, 'x'));
    }
    bool has_begun() const override { return true; }
    std::size_t held() const override { return 0; }
    client& receiver;
  };
};

struct amplified_client final : store_extension::client {
  explicit amplified_client(tcp_store_session& client_session) : session(client_session) {}
  void send(std::string_view bytes) override { session.output().append(bytes); }
  void hang_up() override {}
  asio::ip::tcp::endpoint here() const override { return {}; }
  asio::ip::tcp::endpoint there() const override { return {}; }
  tcp_store_session& session;
};

TEST_CASE("tcp_store_session: an extension is not asked for more while its answers are unsent",
          "[store]") {
  tcp_store_session session(std::make_shared<key_value_engine>(), {},
                            tcp_store_legacy_dialect::guess);
  amplified_client peer(session);
  session.extend(std::make_shared<amplifier>(), peer);
  constexpr std::size_t requests = 5000;
  session.consume("amplify" + std::string(requests, '?'));
  std::size_t sent_bytes = 0;
  while (session.current() == tcp_store_session::state::paused) {
    REQUIRE(session.unsent() <= limits::store_reply_pause_bytes + 256 * amplifier::factor);
    sent_bytes += std::exchange(session.output(), {}).size();
    session.resume();
  }
  CHECK(session.current() == tcp_store_session::state::reading);
  CHECK(sent_bytes + session.unsent() == requests * amplifier::factor);
  session.output().clear();
  CHECK(session.held() == 0);
}

TEST_CASE("tcp_store_session: half a request, waits and watches count as held", "[store]") {
  const auto client = session_client::make(std::make_shared<key_value_engine>(),
                                           tcp_store_legacy_dialect::torch_1_13);
  auto& session = client->session;
  const request_writer write(tcp_store_generation::torch_1_13);
  std::string request;
  write.with_value(request, store_op::set, "/k", std::string(1000, 'x'));
  session.consume(std::string_view(request).substr(0, 500));
  // Beside the bytes, a little for where the key is.
  CHECK(session.held() >= 500);
  CHECK(session.held() < 600);
  session.consume(std::string_view(request).substr(500));
  CHECK(session.held() == 0);
  request.clear();
  const std::vector<std::string> missing_keys = {"/a", "/bc"};
  write.with_keys(request, store_op::wait, missing_keys);
  session.consume(request);
  CHECK(session.held() == 5 + 2 * limits::store_wait_bytes);
  client->session.ready(1);
  client->take();
  CHECK(session.held() == 0);
  session.consume(request);
  CHECK(session.held() > 0);
  session.close();
  CHECK(session.held() == 0);

  const auto watcher = session_client::make(std::make_shared<key_value_engine>(),
                                            tcp_store_legacy_dialect::torch_1_13);
  request.clear();
  write.with_key(request, store_op::watch_key, "/watched");
  watcher->session.consume(request);
  watcher->take();
  CHECK(watcher->session.held() == 8 + limits::store_wait_bytes);
  watcher->session.close();
  CHECK(watcher->session.held() == 0);
}

// A client that only holds.
struct holder final : tcp_store_budget::client {
  void drop(std::string text) override { complaint = std::move(text); }
  std::string complaint;
};

TEST_CASE("tcp_store_budget: above the bound the largest are dropped until it is kept", "[store]") {
  tcp_store_budget budget(1000);
  holder small_holder;
  holder middle_holder;
  holder large_holder;
  budget.set(small_holder, 100);
  budget.set(middle_holder, 300);
  budget.set(large_holder, 600);
  CHECK(budget.held() == 1000);
  CHECK(large_holder.complaint.empty());
  budget.set(small_holder, 101);
  CHECK_FALSE(large_holder.complaint.empty());
  CHECK(middle_holder.complaint.empty());
  CHECK(small_holder.complaint.empty());
  CHECK(budget.held() == 401);
  budget.set(large_holder, 0);
  CHECK(budget.held() == 401);
  budget.set(small_holder, 2000);
  CHECK_FALSE(small_holder.complaint.empty());
  CHECK(middle_holder.complaint.empty());
  CHECK(budget.held() == 300);
  budget.set(middle_holder, 0);
  CHECK(budget.held() == 0);
}

TEST_CASE("tcp_store_session: answers as PyTorch 1.13.1 did, in pieces of any size", "[store]") {
  for (const test::captured_case& row : test::captured_cases()) {
    INFO("vector " << row.name);
    replay_all_ways(captured(row.name), row.before);
  }
  replay_all_ways(captured("wait_timeout_no_cancel"), {});
}

TEST_CASE("tcp_store_session: a blocked wait of PyTorch 1.13.1 ends as there", "[store]") {
  const auto messages = captured("wait_blocked_then_satisfied");
  for (std::size_t piece = 1; piece <= 64; ++piece) {
    const auto engine = engine_with({});
    const auto client = session_client::make(engine);
    for (std::size_t position = 0; position < messages[0].bytes.size(); position += piece) {
      client->session.consume(std::string_view(messages[0].bytes).substr(position, piece));
    }
    CHECK(client->take() == "");
    engine->set("/w1", "x");
    CHECK(client->take() == "");
    engine->set("/w2", "x");
    CHECK(client->take() == messages[1].bytes);
  }
  // The client gave up, the key came, then the client asked for something else.
  replay_all_ways(captured("stale_wakeup_after_timeout"),
                  {{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}}, "",
                  [](key_value_engine& engine, int) { engine.set("/missing", "x"); });
}

TEST_CASE("tcp_store_session: a client of 1.13 that gave up a wait is not sent its end",
          "[store]") {
  const auto engine = engine_with({});
  const auto client = session_client::make(engine);
  const auto messages = captured("stale_wakeup_after_timeout");
  CHECK(client->reply_to(messages[0].bytes) == "");
  CHECK(engine->waiters() == 1);

  SECTION("the key comes after the next request") {
    CHECK(client->reply_to(from_hex("06")) == "0000000000000000");
    CHECK(engine->waiters() == 0);
    engine->set("/missing", "x");
    CHECK(client->take() == "");
  }
  SECTION("the key comes when one byte of the next request is there") {
    CHECK(client->reply_to(from_hex("04")) == "");
    CHECK(engine->waiters() == 0);
    engine->set("/missing", "x");
    CHECK(client->reply_to(from_hex("0000000000000000")) == "00");
  }
}

TEST_CASE("tcp_store_session: the watch of PyTorch 1.13.1", "[store]") {
  const auto act = [](key_value_engine& engine, int turn) {
    switch (turn) {
      case 0: engine.set("/wk", "new"); break;
      case 1: engine.compare_set("/wk", "new", "n2"); break;
      case 2:
        engine.erase("/wk");
        engine.add("/wk", 4);
        break;
      default: engine.erase("/wk"); break;
    }
  };
  auto messages = captured("watch_key");
  replay_all_ways(messages, {}, "", act);
}

TEST_CASE("tcp_store_session: raw probes are answered as PyTorch 1.13.1 did", "[store]") {
  for (const auto& probe : test::load_vectors("tcpstore113_raw_probes.json")) {
    const std::string name = probe.at("name");
    INFO("probe " << name);
    if (!probe.contains("c2s")) continue;
    const std::string request = from_hex(probe.at("c2s").get<std::string>());
    const auto client = session_client::make(engine_with({{"/a", "x"}}));
    const std::string answer = client->reply_to(request);
    if (name == "validate_modern") {
      // That server waits for the rest of a key's length; ours knows the greeting.
      CHECK(client->session.current() == session_client::state::reading);
    } else if (name == "unknown_op_9") {
      // It is MULTI_GET of 2.1 here, and lacks its operands.
      CHECK_FALSE(client->is_closed());
    } else {
      CHECK(answer == probe.at("s2c").get<std::string>());
      CHECK(client->is_closed() == probe.at("closed_by_server").get<bool>());
    }
  }
  const auto old_client =
      session_client::make(engine_with({}), tcp_store_legacy_dialect::torch_1_13);
  old_client->reply_to(from_hex("09"));
  CHECK(old_client->is_closed());
}

TEST_CASE("tcp_store_session: answers clients of 2.2 and later, in pieces of any size", "[store]") {
  const engine_values three_keys = {{"/a", "1"}, {"/b", "22"}, {"/c", "333"}};
  const struct {
    const char* name;
    engine_values initial_values;
  } rows[] = {
      {"wait_for_workers", {}},
      {"set", {}},
      {"get", {{"/k", "v1"}}},
      {"compare_set_missing_empty", {}},
      {"add", {}},
      {"check", {{"/a", "x"}}},
      {"wait_timeout_cancel", {}},
      {"num_keys", three_keys},
      {"delete_key", {{"/k", "x"}}},
      {"append", {}},
      {"multi_get", {{"/a", "1"}, {"/b", "22"}}},
      {"multi_set", {}},
      {"queue_push", {}},
      {"queue_pop_empty_nonblocking", {}},
      {"queue_len", {}},
  };
  const std::string greeting = test::all_sent(derived("connect_2.2-2.4"), true);
  for (const auto& row : rows) {
    INFO("vector " << row.name);
    replay_all_ways(derived(row.name), row.initial_values, greeting);
  }
  replay_all_ways(derived("connect_2.2-2.4"), {});
  replay_all_ways(derived("connect_2.5+"), {});
}

std::shared_ptr<session_client> modern_client(std::shared_ptr<key_value_engine> engine) {
  auto client = session_client::make(std::move(engine));
  client->session.consume(from_hex("00cef7853c"));
  return client;
}

TEST_CASE("tcp_store_session: a cancelled wait of 2.x, before and after its end", "[store]") {
  const auto engine = engine_with({});
  const auto client = modern_client(engine);
  const auto messages = derived("wait_cancel_race");
  CHECK(client->reply_to(messages[0].bytes) == "");
  SECTION("before") {
    CHECK(client->reply_to(from_hex("0c")) == "01");
    engine->set("/x", "v");
    CHECK(client->take() == "");
  }
  SECTION("after") {
    engine->set("/x", "v");
    CHECK(client->reply_to(from_hex("0c")) == "0001");
  }
  SECTION("with none pending") {
    client->reply_to(from_hex("0c"));
    CHECK(client->reply_to(from_hex("0c")) == "01");
  }
  CHECK(engine->waiters() == 0);
}

TEST_CASE("tcp_store_session: queues, key lists and barriers of 2.x", "[store]") {
  const auto engine = engine_with({{"/a", "1"}, {"init/", "1"}});
  const auto first_client = modern_client(engine);
  const auto second_client = modern_client(engine);

  const auto pop = derived("queue_pop_nonempty");
  CHECK(first_client->reply_to(pop[0].bytes) == "");
  CHECK(second_client->reply_to(derived("queue_push")[0].bytes) == "");
  CHECK(first_client->take() == pop[1].bytes);
  CHECK(first_client->reply_to(pop[2].bytes) == to_hex(pop[3].bytes));

  const std::string key_list = from_hex(first_client->reply_to(from_hex("11")));
  CHECK(key_list.size() == derived("list_keys")[1].bytes.size());
  CHECK(key_list.substr(0, 8) == from_hex("0200000000000000"));
  CHECK(key_list.find("/a") != std::string::npos);
  CHECK(key_list.find("init/") != std::string::npos);

  const std::string barrier = derived("barrier_world2_first")[0].bytes;
  CHECK(first_client->reply_to(barrier) == "");
  CHECK(second_client->reply_to(barrier) == "00");
  CHECK(first_client->take() == std::string(1, '\0'));

  CHECK(first_client->reply_to(derived("barrier_world2_first")[0].bytes) == "00");
  CHECK(engine->waiters() == 0);
}

TEST_CASE("tcp_store_session: what 2.1 and 1.13 say by the same bytes", "[store]") {
  const auto engine = engine_with({{"/k", "x"}});
  const std::string op_7 = from_hex("0702000000000000002f6b");
  const std::string op_8 = from_hex("0802000000000000002f6b");
  const std::string append = test::derived_21("append");
  const std::string get = from_hex("0202000000000000002f6b");
  const std::string num_keys = from_hex("06");
  using dialect = tcp_store_legacy_dialect;

  SECTION("7 first is a watch, and so is all that follows it") {
    const auto client = session_client::make(engine);
    CHECK(client->reply_to(op_7) == "03");
    CHECK(client->reply_to(op_7) == "03");
    CHECK(engine->watchers() == 2);
    client->session.close();
    CHECK(engine->watchers() == 0);
  }
  SECTION("one client watches a bounded number of keys") {
    const auto client = session_client::make(engine);
    for (std::size_t i = 0; i < limits::store_watches_per_client; ++i) {
      REQUIRE(client->reply_to(op_7) == "03");
    }
    client->reply_to(op_7);
    CHECK(client->session.complaint() == "watches too many keys");
  }
  SECTION("7 later is an erasure") {
    const auto client = session_client::make(engine);
    CHECK(client->reply_to(num_keys) == "0100000000000000");
    CHECK(client->reply_to(op_7) == "0100000000000000");
    CHECK(client->reply_to(op_7) == "0000000000000000");
  }
  SECTION("8 is an erasure") {
    const auto client = session_client::make(engine);
    CHECK(client->reply_to(op_8) == "0100000000000000");
  }
  SECTION("8 is an append once the client has shown that it is of 2.1") {
    const auto client = session_client::make(engine);
    CHECK(client->reply_to(test::derived_21("cancel_wait")) == "01");
    CHECK(client->reply_to(append + get) == "02000000000000007876");
    CHECK(client->reply_to(test::derived_21("multi_get")) == "02000000000000007876");
    CHECK(client->reply_to(test::derived_21("multi_set") + get) == "010000000000000076");
    CHECK(client->reply_to(op_7) == "0100000000000000");
  }
  SECTION("the server may be told") {
    const auto old_client = session_client::make(engine, dialect::torch_1_13);
    CHECK(old_client->reply_to(num_keys + op_7) == "010000000000000003");
    const auto later_client = session_client::make(engine, dialect::torch_2_1);
    CHECK(later_client->reply_to(append + get) == "02000000000000007876");
    CHECK(later_client->reply_to(op_7) == "0100000000000000");
  }
}

TEST_CASE("tcp_store_session: a second greeting and unknown operations end it", "[store]") {
  const auto twice_greeted_client = modern_client(engine_with({}));
  twice_greeted_client->reply_to(from_hex("00cef7853c"));
  CHECK(twice_greeted_client->is_closed());
  for (int op = 19; op < 256; ++op) {
    const auto client = modern_client(engine_with({}));
    client->reply_to(std::string(1, static_cast<char>(op)));
    CHECK(client->is_closed());
  }
}

TEST_CASE("tcp_store_session: replies before the mistake are sent, nothing after it is done",
          "[store]") {
  const auto engine = engine_with({{"/k", "x"}});
  const auto client = session_client::make(engine);
  const std::string set = captured("set")[0].bytes;
  CHECK(client->reply_to(from_hex("06") + from_hex("47") + set) == "0100000000000000");
  CHECK(client->is_closed());
  CHECK(client->session.complaint() == "unknown operation");
  CHECK(engine->find("/k") == "x");
  CHECK(client->reply_to(set) == "");
  CHECK(engine->find("/k") == "x");
}

TEST_CASE("tcp_store_session: a missing key asked for raw ends 1.13 and is empty for 2.x",
          "[store]") {
  const auto old_client = session_client::make(engine_with({}));
  CHECK(old_client->reply_to(from_hex("0202000000000000002f6b")) == "");
  CHECK(old_client->is_closed());
  const auto later_client = modern_client(engine_with({{"/b", "22"}}));
  CHECK(later_client->reply_to(from_hex("0302000000000000002f6b")) == "0000000000000000");
  CHECK(later_client->reply_to(derived("multi_get")[2].bytes) ==
        "0000000000000000"
        "02000000000000003232");
}

TEST_CASE("tcp_store_session: requests behind a wait of 2.x are served", "[store]") {
  const auto engine = engine_with({});
  const auto client = modern_client(engine);
  const std::string wait_for_k = from_hex("06010000000000000002000000000000002f6b");
  const std::string ping = from_hex("0d01020304");
  CHECK(client->reply_to(wait_for_k + ping) == "01020304");
  CHECK(engine->waiters() == 1);
  // Its own change ends its wait.
  CHECK(client->reply_to(derived("set")[0].bytes + ping) == "0001020304");
  CHECK(engine->waiters() == 0);
}

TEST_CASE("tcp_store_session: the end of a session takes its registrations with it", "[store]") {
  const auto engine = engine_with({});
  auto waiting_client = modern_client(engine);
  waiting_client->reply_to(from_hex("06010000000000000002000000000000002f6b"));
  auto barrier_client = modern_client(engine);
  barrier_client->reply_to(derived("barrier_world2_first")[0].bytes);
  auto watching_client = session_client::make(engine);
  watching_client->reply_to(from_hex("0702000000000000002f6b"));
  CHECK(engine->waiters() == 2);
  CHECK(engine->watchers() == 1);
  waiting_client.reset();
  barrier_client.reset();
  watching_client.reset();
  CHECK(engine->waiters() == 0);
  CHECK(engine->watchers() == 0);
}

TEST_CASE("tcp_store_session: makes no more replies than are taken", "[store]") {
  const std::string large_value(1024 * 1024, 'v');
  const auto engine = engine_with({{"/k", large_value}, {"/a", large_value}, {"/b", large_value}});
  const auto client = modern_client(engine);
  const std::size_t reply = 8 + large_value.size();
  const std::string get = derived("get")[2].bytes;
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += get;

  SECTION("of many requests") {
    client->session.consume(requests);
    for (int i = 0; i < 1000; ++i) {
      REQUIRE(client->session.current() == session_client::state::paused);
      REQUIRE(client->take().size() == reply);
      client->session.resume();
    }
    CHECK(client->session.current() == session_client::state::reading);
    CHECK(client->take() == "");
  }
  SECTION("of one request, and those behind it") {
    const std::string multi_get = derived("multi_get")[2].bytes;
    client->session.consume(multi_get.substr(0, 9));
    client->session.consume(multi_get.substr(9) + get);
    for (int i = 0; i < 3; ++i) {
      // Bytes that arrive meanwhile are kept.
      if (i == 1) client->session.consume(from_hex("07"));
      REQUIRE(client->session.current() == session_client::state::paused);
      REQUIRE(client->take().size() == reply);
      client->session.resume();
    }
    CHECK(to_hex(client->take()) == "0300000000000000");
    CHECK(client->session.current() == session_client::state::reading);
  }
}

TEST_CASE("tcp_store_session: bounds are those that the server was given", "[store]") {
  tcp_store_bounds bounds;
  bounds.key_bytes = 4;
  bounds.value_bytes = 2;
  bounds.keys_per_request = 2;
  const auto complaint_about = [&](const std::string& hex) {
    const auto client =
        session_client::make(engine_with({}), tcp_store_legacy_dialect::guess, bounds);
    client->reply_to(from_hex(hex));
    return client->session.complaint();
  };
  CHECK(complaint_about("00"
                        "0400000000000000"
                        "2f6b6b6b"
                        "0200000000000000"
                        "7676") == "");
  CHECK(complaint_about("00"
                        "0500000000000000") == "a key is too long");
  CHECK(complaint_about("00"
                        "0400000000000000"
                        "2f6b6b6b"
                        "0300000000000000") == "a value is too long");
  CHECK(complaint_about("04"
                        "0300000000000000") == "too many keys");
}

// Random requests, valid and damaged, from several sessions on one table: whatever they say, the
// table stays sound and a well-behaved client is served.
TEST_CASE("tcp_store_session: survives random requests", "[store]") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937 chance(seed);
    const auto engine = engine_with({});
    std::vector<std::shared_ptr<session_client>> clients;
    for (int step = 0; step < 60; ++step) {
      if (clients.size() < 4) {
        clients.push_back(chance() % 2 ? modern_client(engine) : session_client::make(engine));
      }
      auto& client = clients[chance() % clients.size()];
      const request_writer write(chance() % 2 ? tcp_store_generation::torch_2_2
                                              : tcp_store_generation::torch_1_13);
      const std::vector<std::string> keys = {"/k", std::string(1, char('a' + chance() % 3))};
      std::string bytes;
      switch (chance() % 6) {
        case 0: write.with_value(bytes, store_op::set, keys[1], "12"); break;
        case 1: write.with_number(bytes, store_op::add, keys[1], 5); break;
        case 2: write.with_keys(bytes, store_op::wait, keys); break;
        case 3: write.with_key(bytes, store_op::erase, keys[1]); break;
        case 4: write.compare_set(bytes, keys[1], "", "x"); break;
        default:
          for (unsigned i = chance() % 40; i > 0; --i) bytes.push_back(char(chance()));
          break;
      }
      if (!bytes.empty() && chance() % 4 == 0) bytes[chance() % bytes.size()] ^= char(chance());
      client->reply_to(
          bytes.substr(0, chance() % 5 ? bytes.size() : chance() % (bytes.size() + 1)));
      if (client->is_closed() || chance() % 20 == 0) {
        std::swap(client, clients.back());
        clients.pop_back();
      }
    }
    clients.clear();
    REQUIRE(engine->waiters() == 0);
    REQUIRE(engine->watchers() == 0);
    const auto good_client = modern_client(engine);
    engine->set("/good", "7");
    REQUIRE(good_client->reply_to(from_hex("0305000000000000002f676f6f64")) ==
            "010000000000000037");
  }
}

}  // namespace
}  // namespace elastic::detail
