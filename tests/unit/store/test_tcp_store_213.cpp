// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/store/detail/tcp_store_protocol.hpp>
#include <elastic/store/detail/tcp_store_session.hpp>

#include <support/catch.hpp>
#include <support/golden_vectors.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The messages between real clients of PyTorch 2.13.0 and their server
// (tests/vectors/record_tcp_store.py), replayed in the order in which it was recorded.
namespace elastic::detail {
namespace {

// A session whose output is read by the test.
class session_of_213 final : public key_value_engine::listener,
                             public std::enable_shared_from_this<session_of_213> {
 public:
  static std::shared_ptr<session_of_213> make(std::shared_ptr<key_value_engine> engine) {
    auto client = std::shared_ptr<session_of_213>(new session_of_213(std::move(engine)));
    client->session_.listen(client);
    return client;
  }

  void on_ready(key_value_engine::wait_id wait) noexcept override { session_.ready(wait); }
  void on_change(const key_value_engine::change_pointer& change) noexcept override {
    session_.changed(*change);
  }

  void consume(std::string_view bytes, std::size_t piece) {
    for (std::size_t offset = 0; offset < bytes.size(); offset += piece) {
      session_.consume(bytes.substr(offset, piece));
    }
  }
  std::string take() { return std::exchange(session_.output(), {}); }
  bool has_ended() const { return session_.current() == tcp_store_session::state::ended; }

 private:
  explicit session_of_213(std::shared_ptr<key_value_engine> engine)
      : session_(std::move(engine), {}, tcp_store_legacy_dialect::guess) {}

  tcp_store_session session_;
};

// The texts of a reply to LIST_KEYS, in order.
std::vector<std::string> listed_keys(std::string_view reply) {
  std::vector<std::string> keys;
  std::size_t offset = sizeof(std::uint64_t);
  for (auto count = load_integer<std::uint64_t>(reply.data()); count > 0; --count) {
    const auto size = load_integer<std::uint64_t>(reply.data() + offset);
    keys.emplace_back(reply.substr(offset + sizeof size, size));
    offset += sizeof size + size;
  }
  CHECK(offset == reply.size());
  std::sort(keys.begin(), keys.end());
  return keys;
}

struct conversation {
  const char* name;
  // What other clients do while this one waits.
  std::function<void(key_value_engine&)> action = nullptr;
  // What they did before.
  std::function<void(key_value_engine&)> preparation = nullptr;
};

void push(key_value_engine& engine, std::string item) {
  const auto client =
      session_of_213::make(std::shared_ptr<key_value_engine>(&engine, [](auto*) {}));
  std::string request = test::from_hex("00cef7853c0e02000000000000002f71");
  append_text(request, item);
  client->consume(request, request.size());
}

// The other one at the barrier stays until the test ends.
void enter_barrier(key_value_engine& engine, const std::string& key,
                   std::vector<std::shared_ptr<session_of_213>>& barrier_clients) {
  barrier_clients.push_back(
      session_of_213::make(std::shared_ptr<key_value_engine>(&engine, [](auto*) {})));
  std::string request = test::from_hex("00cef7853c12");
  append_text(request, key);
  append_integer<std::int64_t>(request, 2);
  barrier_clients.back()->consume(request, request.size());
}

void replay(session_of_213& client, key_value_engine& engine, const conversation& script,
            std::size_t piece) {
  INFO("conversation " << script.name << " in pieces of " << piece << " bytes");
  if (script.preparation) script.preparation(engine);
  bool has_acted = false;
  std::string reply;
  for (const auto& message : test::captured_213(script.name)) {
    if (message.sent) {
      CHECK(test::to_hex(reply) == "");
      client.consume(message.bytes, message.bytes.size() > 20'000 ? 4099 : piece);
      reply = client.take();
      continue;
    }
    if (message.is_end) {
      CHECK(client.has_ended());
      continue;
    }
    if (reply.empty() && script.action && !has_acted) {
      has_acted = true;
      script.action(engine);
      reply = client.take();
    }
    if (std::string_view(script.name).starts_with("list_keys")) {
      CHECK(listed_keys(reply) == listed_keys(message.bytes));
    } else {
      CHECK(test::to_hex(reply) == test::to_hex(message.bytes));
    }
    reply.clear();
  }
  CHECK(test::to_hex(reply) == "");
}

TEST_CASE("tcp_store_session: answers clients of PyTorch 2.13 as its own server does", "[store]") {
  for (const std::size_t piece : {1, 2, 3, 5, 8, 9, 13, 64, 4096}) {
    const auto engine = std::make_shared<key_value_engine>();
    std::vector<std::shared_ptr<session_of_213>> barrier_clients;
    const std::vector<conversation> rows = {
        {"connect"},
        {"set"},
        {"set_empty_value"},
        {"get"},
        {"get_empty_value"},
        {"add_new_key"},
        {"add_negative"},
        {"get_counter"},
        {"add_numeric_prefix", nullptr, [](auto& store) { store.set("/pn", "12abc"); }},
        {"compare_set_missing_key_empty_expected"},
        {"compare_set_match"},
        {"compare_set_mismatch"},
        {"compare_set_missing_key_nonempty_expected"},
        {"check_ready"},
        {"check_not_ready"},
        {"check_zero_keys"},
        {"wait_satisfied"},
        {"wait_blocked_then_satisfied",
         [](auto& store) {
           store.set("/w1", "1");
           store.set("/w2", "2");
         }},
        {"wait_timeout"},
        {"get_after_timeout"},
        {"get_timeout"},
        {"append_new_key"},
        {"append_existing_key"},
        {"get_appended"},
        {"multi_set"},
        {"multi_get"},
        {"queue_push"},
        {"queue_len"},
        {"queue_pop"},
        {"queue_len_empty"},
        {"queue_pop_empty_nonblocking"},
        {"queue_pop_blocked_then_pushed", [](auto& store) { push(store, "late"); }},
        {"queue_pop_timeout"},
        {"delete_key_present"},
        {"delete_key_absent"},
        {"num_keys"},
        {"list_keys"},
        {"barrier_blocked_then_last",
         [&](auto& store) { enter_barrier(store, "/b1", barrier_clients); }},
        {"barrier_last", nullptr,
         [&](auto& store) { enter_barrier(store, "/b2", barrier_clients); }},
        {"barrier_after_last"},
        {"barrier_timeout"},
        {"list_keys_after_barriers"},
        {"prefix_store_nested"},
        {"large_set"},
        {"large_get"},
        {"long_key"},
    };
    const auto client = session_of_213::make(engine);
    for (const conversation& row : rows) replay(*client, *engine, row, piece);
    const auto clone = session_of_213::make(engine);
    for (const char* name : {"clone", "clone_get"}) replay(*clone, *engine, {name}, piece);
    const auto group_client = session_of_213::make(engine);
    for (const char* name : {"wait_for_workers", "add_non_number"}) {
      replay(*group_client, *engine, {name}, piece);
    }
  }
}

TEST_CASE("tcp_store_protocol: writes the requests of PyTorch 2.13", "[store]") {
  const request_writer writer(tcp_store_generation::torch_2_2);
  const auto bytes_of = [&](const auto& write) {
    std::string bytes;
    write(bytes);
    return bytes;
  };
  const auto check = [&](const char* name, const auto& write) {
    INFO("conversation " << name);
    CHECK(test::to_hex(bytes_of(write)) ==
          test::to_hex(test::all_sent(test::captured_213(name), true)));
  };
  const std::vector<std::string> k = {"/k"};
  const std::vector<std::string> q = {"/q"};
  const std::vector<std::string> a_and_b = {"/a", "/b"};
  check("set", [&](auto& out) { writer.with_value(out, store_op::set, "/k", "v1"); });
  check("get", [&](auto& out) {
    writer.with_keys(out, store_op::wait, k);
    writer.with_key(out, store_op::get, "/k");
  });
  check("add_negative", [&](auto& out) { writer.with_number(out, store_op::add, "/cnt", -7); });
  check("compare_set_match", [&](auto& out) { writer.compare_set(out, "/cs", "first", "second"); });
  check("append_new_key",
        [&](auto& out) { writer.with_value(out, store_op::append, "/ap", "one"); });
  check("multi_get", [&](auto& out) {
    writer.with_keys(out, store_op::wait, a_and_b);
    writer.with_keys(out, store_op::multi_get, a_and_b);
  });
  check("queue_push",
        [&](auto& out) { writer.with_value(out, store_op::queue_push, "/q", "item"); });
  check("queue_len", [&](auto& out) { writer.with_key(out, store_op::queue_length, "/q"); });
  check("queue_pop", [&](auto& out) {
    writer.with_keys(out, store_op::wait, q);
    writer.with_key(out, store_op::queue_pop, "/q");
  });
  check("queue_pop_timeout", [&](auto& out) {
    writer.with_keys(out, store_op::wait, q);
    writer.operation(out, store_op::cancel_wait);
  });
  check("delete_key_present", [&](auto& out) { writer.with_key(out, store_op::erase, "/k2"); });
  check("num_keys", [&](auto& out) { writer.operation(out, store_op::num_keys); });
  check("list_keys", [&](auto& out) { writer.operation(out, store_op::list_keys); });
  check("barrier_last", [&](auto& out) { writer.with_number(out, store_op::barrier, "/b2", 2); });
}

}  // namespace
}  // namespace elastic::detail
