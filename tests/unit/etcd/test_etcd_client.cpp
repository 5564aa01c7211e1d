// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/etcd/detail/etcd_client.hpp>

#include <elastic/etcd/detail/etcd_keys.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/log_recorder.hpp>
#include <support/reserved_port.hpp>
#include <support/scripted_server.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace etcd_client_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::error;
using elastic::task;
using elastic::detail::etcd_client;
using elastic::detail::etcd_keys;
using elastic::detail::etcd_options;
using elastic::test::scripted_server;
using json = nlohmann::json;

std::string answer(const std::string& body, int status = 200) {
  return "HTTP/1.1 " + std::to_string(status) +
         " X\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

std::string refusal(int code, const std::string& text, int status = 400) {
  return answer(R"({"error":")" + text + R"(","message":")" + text + R"(","code":)" +
                    std::to_string(code) + "}",
                status);
}

// The same by the gateway of etcd 3.6 and later.
std::string newer_refusal(int code, const std::string& text, int status = 400) {
  return answer(R"({"code":)" + std::to_string(code) + R"(, "message":")" + text +
                    R"(", "details":[]})",
                status);
}

using refuse = std::string (*)(int, const std::string&, int);

etcd_options options_for(const std::vector<std::uint16_t>& ports) {
  etcd_options options;
  for (const std::uint16_t port : ports) options.members.push_back({"127.0.0.1", port});
  options.first_patience = 20s;
  options.patience = 20s;
  options.answer_timeout = 20s;
  return options;
}

// Options with short time-outs for a server that does not answer.
etcd_options hasty_options_for(const std::vector<std::uint16_t>& ports) {
  etcd_options options = options_for(ports);
  options.first_patience = 300ms;
  options.patience = 300ms;
  return options;
}

std::shared_ptr<etcd_client> client_of(const scripted_server& server) {
  return std::make_shared<etcd_client>(options_for({server.port()}));
}

// What a call says, or what was wrong.
task<std::string> call_outcome(std::shared_ptr<etcd_client> client) {
  json body;
  body["key"] = "aw==";
  const std::string target = "/v3/kv/range";
  try {
    const json reply = co_await client->call(target, std::move(body));
    co_return reply.dump();
  } catch (const error& failure) {
    co_return std::to_string(failure.code().value()) + " " + failure.what();
  }
}

int count_in(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto position = text.find(part); position != text.npos;
       position = text.find(part, position + 1))
    ++count;
  return count;
}

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  const bool is_contained = text.find(part) != std::string::npos;
  CHECK(is_contained);
  return is_contained;
}

CO_TEST("etcd client: says by post what is asked, and returns what is answered", "[store]") {
  scripted_server server({{answer(R"({"a":"1"})"), answer(R"({"b":"2"})")}});
  const auto client = client_of(server);
  const std::string first_reply = co_await call_outcome(client);
  CHECK(first_reply == R"({"a":"1"})");
  const std::string second_reply = co_await call_outcome(client);
  CHECK(second_reply == R"({"b":"2"})");
  contains(server.heard(), "POST /v3/kv/range HTTP/1.1\r\n");
  contains(server.heard(), "\r\n\r\n{\"key\":\"aw==\"}");
}

CO_TEST("etcd client: a connection that was closed meanwhile is made anew", "[store]") {
  scripted_server server({{answer("{}")}});
  const auto client = client_of(server);
  for (int i = 0; i < 3; ++i) {
    const std::string reply = co_await call_outcome(client);
    CHECK(reply == "{}");
  }
}

CO_TEST("etcd client: a member that cannot serve is left for another", "[store]") {
  const std::string bad_answer =
      GENERATE(std::string(), scripted_server::silence, refusal(14, "etcdserver: no leader", 503));
  scripted_server bad_server({{bad_answer}});
  scripted_server good_server({{answer("{}")}});
  const std::uint16_t closed_port = elastic::test::reserved_port();
  etcd_options options = options_for({closed_port, bad_server.port(), good_server.port()});
  if (bad_answer == scripted_server::silence) options.answer_timeout = 200ms;
  const auto client = std::make_shared<etcd_client>(options);
  const std::string reply = co_await call_outcome(client);
  CHECK(reply == "{}");
}

CO_TEST("etcd client: without a member it says what each has said, and then tries once only",
        "[store]") {
  scripted_server server({{refusal(14, "etcdserver: no leader", 503)}});
  const std::uint16_t closed_port = elastic::test::reserved_port();
  const auto client =
      std::make_shared<etcd_client>(hasty_options_for({closed_port, server.port()}));
  elastic::system_time time;
  const auto begin = time.now();
  const std::string problem = co_await call_outcome(client);
  CHECK(time.now() - begin >= 300ms);
  contains(problem, "3 etcd cannot be reached: http://127.0.0.1:");
  contains(problem, ": Connection refused; http://127.0.0.1:");
  contains(problem, "HTTP status 503, '{\"error\":\"etcdserver: no leader\"");
  const int requests = count_in(server.heard(), "POST ");
  CHECK(requests > 1);
  co_await call_outcome(client);
  CHECK(count_in(server.heard(), "POST ") == requests + 1);
}

CO_TEST("etcd client: an absence is told once, at once, and anew after an answer", "[store]") {
  // Each connection has one answer; those without one are absences.
  scripted_server server({{answer("{}")}, {""}, {""}, {answer("{}")}, {""}, {answer("{}")}});
  const auto log = std::make_shared<elastic::test::log_recorder>();
  etcd_options options = options_for({server.port()});
  options.log = log->log();
  const auto client = std::make_shared<etcd_client>(options);
  const auto count_warnings = [&] {
    return log->count("etcd cannot be reached: http://127.0.0.1:", elastic::log_level::warning);
  };
  co_await call_outcome(client);
  CHECK(count_warnings() == 0);
  co_await call_outcome(client);
  INFO(log->text());
  CHECK(count_warnings() == 1);
  CHECK(log->has(" s more", elastic::log_level::warning));
  CHECK(log->count("answers") == 1);
  co_await call_outcome(client);
  CHECK(count_warnings() == 2);
  CHECK(log->count("answers") == 2);
}

CO_TEST("etcd client: one that was never reached is told before it is given up", "[store]") {
  const std::uint16_t closed_port = elastic::test::reserved_port();
  const auto log = std::make_shared<elastic::test::log_recorder>();
  etcd_options options = hasty_options_for({closed_port, closed_port});
  options.log = log->log();
  const auto client = std::make_shared<etcd_client>(options);
  co_await call_outcome(client);
  INFO(log->text());
  CHECK(log->count("Connection refused; http://127.0.0.1:", elastic::log_level::warning) == 1);
  CHECK(log->has(" s more", elastic::log_level::warning));
}

CO_TEST("etcd client: a server that is not etcd is reported at once", "[store]") {
  const auto [server_reply, expected] = GENERATE(table<std::string, std::string>(
      {{"SSH-2.0-OpenSSH_9.2\r\n", "it begins with 'SSH-2.0-OpenSSH_9.2'"},
       {answer("<html>"), "is not etcd: HTTP status 200, '<html>'"},
       {answer("[1]"), "is not etcd"},
       {answer(std::string(100'000, '[')), "is not etcd"},
       {answer("no", 404), "does not offer /v3/kv/range: version 3.4 or later is needed"}}));
  scripted_server server({{server_reply}});
  const auto client = client_of(server);
  const std::string problem = co_await call_outcome(client);
  contains(problem, expected);
  CHECK(problem.size() < 400);
}

CO_TEST("etcd client: a refusal is understood from any gateway", "[store]") {
  const refuse form = GENERATE(&refusal, &newer_refusal);
  const auto [reply, expected] = GENERATE_COPY(table<std::string, std::string>(
      {{form(7, "etcdserver: permission denied", 403), "the user '' may not use these keys"},
       {form(3, "etcdserver: user name is empty", 400), "it requires a user and a password"},
       {form(5, "etcdserver: requested lease not found", 404), "refuses: etcdserver: requested"}}));
  CAPTURE(reply);
  scripted_server server({{reply}});
  const auto client = client_of(server);
  const std::string problem = co_await call_outcome(client);
  contains(problem, expected);
}

CO_TEST("etcd client: a token that has ended is renewed, once", "[store]") {
  etcd_options options;
  const refuse form = GENERATE(&refusal, &newer_refusal);
  const std::string text =
      GENERATE("etcdserver: invalid auth token", "etcdserver: revision of auth store is old");
  const int code = text.ends_with("token") ? 16 : 3;
  const std::string ended = form(code, text, code == 16 ? 401 : 400);
  scripted_server server({{answer(R"({"token":"one"})"), answer(R"({"a":"1"})"), ended,
                           answer(R"({"token":"two"})"), answer(R"({"a":"2"})"), ended,
                           answer(R"({"token":"three"})"), ended}});
  options = options_for({server.port()});
  options.user = "me";
  options.password = "secret";
  const auto client = std::make_shared<etcd_client>(options);
  const std::string first_reply = co_await call_outcome(client);
  CHECK(first_reply == R"({"a":"1"})");
  const std::string second_reply = co_await call_outcome(client);
  CHECK(second_reply == R"({"a":"2"})");
  const std::string third_reply = co_await call_outcome(client);
  contains(third_reply, "refuses: " + text);
  contains(server.heard(), R"({"name":"me","password":"secret"})");
  contains(server.heard(), "Authorization: one\r\n");
  contains(server.heard(), "Authorization: two\r\n");
}

CO_TEST("etcd client: a token that would end the line is not one", "[store]") {
  scripted_server server({{answer(R"({"token":"one\r\nX: y"})")}});
  etcd_options options = options_for({server.port()});
  options.user = "me";
  const auto client = std::make_shared<etcd_client>(options);
  const std::string problem = co_await call_outcome(client);
  contains(problem, "not in its form, at 'token'");
}

CO_TEST("etcd keys: an answer that is not in its form is refused", "[store]") {
  const std::string response = GENERATE(
      R"({"header":{"revision":"x"}})", R"({"header":[]})", R"({"header":{"revision":1.5}})",
      R"({"header":{},"kvs":[1]})", R"({"header":{},"kvs":[{"mod_revision":"1","value":"!"}]})",
      R"({"header":{},"kvs":[{"mod_revision":"99999999999999999999","value":"YQ=="}]})",
      R"({"header":{},"kvs":[{"value":7}]})");
  CAPTURE(response);
  scripted_server server({{answer(response)}});
  etcd_keys keys(client_of(server), "/root/");
  bool is_refused = false;
  try {
    co_await keys.get("k");
  } catch (const error& failure) {
    is_refused = failure.code() == errc::protocol_violation;
  }
  CHECK(is_refused);
}

CO_TEST("etcd client: a watch that etcd refuses is a pause, one that was compacted a change",
        "[store]") {
  const auto [response, is_change] = GENERATE(table<std::string, bool>(
      {{answer("{\"result\":{\"created\":true}}\n{\"result\":{\"events\":[{}]}}\n"), true},
       {answer("{\"result\":{\"canceled\":true,\"compact_revision\":\"5\"}}\n"), true},
       {answer("{\"result\":{\"canceled\":true,\"cancel_reason\":\"no\"}}\n"), false},
       {answer("nonsense\n"), false},
       {answer("{\"result\":{\"created\":true}}\n"), false},
       {refusal(16, "etcdserver: invalid auth token", 401), false},
       {std::string(), false}}));
  CAPTURE(response);
  scripted_server server({{response}});
  const auto log = std::make_shared<elastic::test::log_recorder>();
  etcd_options options = options_for({server.port()});
  options.log = log->log();
  const auto client = std::make_shared<etcd_client>(options);
  json watch;
  watch["key"] = "aw==";
  co_await client->await_event(std::move(watch));
  CHECK(log->has("etcd does not report changes") != is_change);
}

TEST_CASE("etcd keys: the end of a prefix", "[store]") {
  CHECK(elastic::detail::etcd_prefix_end("/a/") == "/a0");
  CHECK(elastic::detail::etcd_prefix_end("a\xff\xff") == "b");
  CHECK(elastic::detail::etcd_prefix_end("\xff") == std::string(1, '\0'));
}

TEST_CASE("etcd keys: the revision after one that was seen", "[store]") {
  CHECK(elastic::detail::etcd_keys::next_revision("") == "1");
  CHECK(elastic::detail::etcd_keys::next_revision("7:41") == "42");
  CHECK(elastic::detail::etcd_keys::next_revision("7:9223372036854775807") ==
        "9223372036854775808");
}

}  // namespace etcd_client_tests
