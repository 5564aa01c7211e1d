// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/status_server.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/http_peer.hpp>
#include <support/journal_story.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/slow_clock.hpp>
#include <support/standing_clock.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace status_server_tests {

using elastic::errc;
using elastic::job_event;
using elastic::job_journal;
using elastic::job_monitor;
using elastic::status_server;
using elastic::test::comes_true;
using elastic::test::contains_text;
using elastic::test::http_peer;
using elastic::test::journal_story;
using namespace std::string_literals;

/// A clock that goes a hundred times as fast, so that seconds are waited for in moments.
class fast_time final : public elastic::time_source {
 public:
  elastic::time_point now() const override {
    return elastic::time_point((clock_.now() - begin_) * rate + std::chrono::hours(1));
  }
  elastic::wall_time wall_now() const override { return clock_.wall_now(); }
  elastic::task<void> sleep_until(elastic::time_point deadline) override {
    if (is_endless_ || deadline == elastic::time_point::max()) {
      return clock_.sleep_until(elastic::time_point::max());
    }
    return clock_.sleep_until(begin_ +
                              (deadline - elastic::time_point(std::chrono::hours(1))) / rate);
  }
  /// Lets no later sleep end.
  void stop_timers() { is_endless_ = true; }

 private:
  static constexpr int rate = 100;
  mutable elastic::system_time clock_;
  elastic::time_point begin_ = clock_.now();
  std::atomic<bool> is_endless_ = false;
};

/// A server on a thread of its own, and the job that it shows.
class stage {
 public:
  explicit stage(std::string address = "0", std::shared_ptr<elastic::time_source> time = {},
                 std::string token = {}, elastic::job_command::handler commands = {}) {
    elastic::job_journal::options options;
    options.node = "node0";
    journal = std::make_shared<job_journal>(options);
    monitor = std::make_shared<job_monitor>();
    journal->add(monitor);
    status_server::options server_options;
    server_options.address = elastic::parse_status_address(address);
    server_options.journal = journal;
    server_options.monitor = monitor;
    elastic::detail::internals::of(server_options).tails = tails;
    server_options.token = std::move(token);
    server_options.commands = std::move(commands);
    server_options.time = std::move(time);
    server.emplace(context_.get_executor(), std::move(server_options));
    thread_ = std::thread([this] { context_.run(); });
  }
  ~stage() { stop(); }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  void begin_stop() {
    if (std::exchange(is_stopping_, true)) return;
    asio::co_spawn(context_, server->stop(), [](std::exception_ptr) {});
  }
  void stop() {
    if (!thread_.joinable()) return;
    begin_stop();
    thread_.join();
  }

  void tell(const journal_story& story) {
    for (const elastic::journal_record& record : story.records) journal->record(record.event);
  }

  std::uint16_t port() const { return server->address().tcp.port; }
  std::string get(std::string_view target, std::string_view headers = {}) const {
    return http_peer(port()).get(target, headers);
  }
  std::string first_line(std::string_view target, std::string_view headers = {}) const {
    const std::string answer = get(target, headers);
    return answer.substr(0, answer.find("\r\n"));
  }

  std::shared_ptr<job_journal> journal;
  std::shared_ptr<job_monitor> monitor;
  std::shared_ptr<elastic::detail::output_tails> tails =
      std::make_shared<elastic::detail::output_tails>();

  asio::any_io_executor executor() { return context_.get_executor(); }

 private:
  asio::io_context context_{1};
  bool is_stopping_ = false;

 public:
  std::optional<status_server> server;

 private:
  std::thread thread_;
};

const std::string ok_line = "HTTP/1.1 200 OK";

/// For a server whose last words count: on a busy machine they may take longer than it waits.
std::shared_ptr<elastic::time_source> unhurried() {
  return std::make_shared<elastic::test::slow_clock>(20);
}

TEST_CASE("status server: the last lines of a worker are text, whatever they are", "[status]") {
  for (const bool may_hang : {false, true}) {
    stage status_stage;
    const std::string target = "/api/v1/ranks/3/output";
    CHECK(status_stage.first_line(target) == "HTTP/1.1 404 Not Found");
    status_stage.tails->open(status_stage.executor(), [may_hang](std::int64_t rank) {
      std::optional<elastic::detail::output_reader> reader;
      if (rank != 3) return reader;
      reader.emplace();
      reader->may_hang = may_hang;
      reader->read = [] {
        const std::string bytes = "</pre>\"\x1b[2J\xff\x00"s + std::string(10'000, 'x');
        return std::vector<elastic::detail::output_tail>{
            {"stderr", "/logs/stderr.log", {bytes, ""}}};
      };
      return reader;
    });
    const std::string answer = status_stage.get(target);
    CHECK_THAT(answer, contains_text("Content-Type: application/json\r\n"));
    const auto output = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
    CHECK(output["rank"] == 3);
    const auto& stream = output["streams"].at(0);
    CHECK(stream["name"] == "stderr");
    CHECK(stream["path"] == "/logs/stderr.log");
    CHECK(stream["lines"].size() == 2);
    CHECK(stream["lines"][0].get<std::string>().starts_with("</pre>\"\x1b[2J\xef\xbf\xbd"));
    CHECK(stream["lines"][0].get<std::string>().size() < 2100);
    CHECK(status_stage.first_line("/api/v1/ranks/4/output") == "HTTP/1.1 404 Not Found");
    status_stage.tails->close();
    CHECK(status_stage.first_line(target) == "HTTP/1.1 404 Not Found");
  }
}

/// Of a job of which nothing is known, at a port of this host.
status_server::options bare_options() {
  status_server::options options;
  options.address = elastic::parse_status_address("0");
  options.journal = std::make_shared<job_journal>(elastic::job_journal::options());
  options.monitor = std::make_shared<job_monitor>();
  return options;
}

/// A clock that can fail, as what takes memory can.
class failing_time final : public elastic::time_source {
 public:
  elastic::time_point now() const override {
    if (fails) throw std::bad_alloc();
    return clock_.now();
  }
  elastic::wall_time wall_now() const override { return clock_.wall_now(); }
  elastic::task<void> sleep_until(elastic::time_point deadline) override {
    return clock_.sleep_until(deadline);
  }

  std::atomic<bool> fails = false;

 private:
  elastic::system_time clock_;
};

TEST_CASE("status server: what fails in it is not a failure of the job", "[status]") {
  const auto time = std::make_shared<failing_time>();
  status_server::options options = bare_options();
  options.time = time;
  asio::io_context context(1);
  status_server server(context.get_executor(), std::move(options));
  const std::uint16_t port = server.address().tcp.port;
  std::thread thread([&] { context.run(); });
  time->fails = true;
  CHECK(http_peer(port).rest().empty());
  time->fails = false;
  http_peer peer(port);
  CHECK_THAT(peer.get("/livez"), contains_text(ok_line));
  time->fails = true;
  std::exception_ptr failure;
  asio::co_spawn(context, server.stop(),
                 [&](std::exception_ptr exception) { failure = exception; });
  thread.join();
  CHECK_FALSE(failure);
}

TEST_CASE("status server: a crowd at its door does not keep the agent from its work", "[status]") {
  asio::io_context context(1);
  status_server server(context.get_executor(), bare_options());
  std::vector<std::unique_ptr<http_peer>> crowd;
  for (int i = 0; i < 4; ++i) {
    crowd.push_back(std::make_unique<http_peer>(server.address().tcp.port));
  }
  std::size_t connections_before = 0;
  while (server.connections() < crowd.size()) {
    REQUIRE(context.run_one() == 1);
    CHECK(server.connections() <= connections_before + 1);
    connections_before = server.connections();
  }
  asio::co_spawn(context, server.stop(), [](std::exception_ptr) {});
  context.run();
}

/// What a server whose clock is fast answers: it may have lost its patience before it was asked.
std::string patient_answer(const stage& status_stage, std::string_view target) {
  std::string answer;
  while (answer.empty()) answer = status_stage.get(target);
  return answer;
}

/// One who follows. A server whose clock is fast may have lost its patience before it was asked.
std::unique_ptr<http_peer> follower_of(const stage& status_stage) {
  for (;;) {
    auto peer = std::make_unique<http_peer>(status_stage.port());
    const std::string head = peer->get("/api/v1/events");
    if (head.empty()) continue;
    CHECK_THAT(head, contains_text("HTTP/1.1 200 OK"));
    CHECK_THAT(head, contains_text("Content-Type: text/event-stream\r\n"));
    return peer;
  }
}

TEST_CASE("status server: probes tell alive from ready", "[status]") {
  stage status_stage;
  CHECK(status_stage.first_line("/livez") == ok_line);
  CHECK(status_stage.first_line("/readyz") == "HTTP/1.1 503 Service Unavailable");
  journal_story story;
  status_stage.tell(story.begin().start(1, 2));
  CHECK(status_stage.first_line("/readyz") == ok_line);
  status_stage.tell(journal_story().tell(journal_story::of(job_event::type::exit_barrier_started)));
  CHECK(status_stage.first_line("/readyz") == "HTTP/1.1 503 Service Unavailable");
  CHECK(status_stage.first_line("/livez") == ok_line);
}

TEST_CASE("status server: one connection asks more than once", "[status]") {
  stage status_stage;
  http_peer peer(status_stage.port());
  CHECK_THAT(peer.get("/livez"), contains_text("\r\n\r\nok\n"));
  CHECK_THAT(peer.get("/api/v1/job"), contains_text("\"state\": \"starting\""));
  peer.send("HEAD /api/v1/job HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK_THAT(peer.answer(false), contains_text("Content-Length: "));
  // Two at once, of which the second is the last.
  peer.send(
      "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  CHECK_THAT(peer.answer(), contains_text("HTTP/1.1 421 "));
  CHECK_THAT(peer.rest(), contains_text("HTTP/1.1 200 OK"));
}

TEST_CASE("status server: what is not a request ends the connection", "[status]") {
  stage status_stage;
  for (const auto& [bytes, status] : std::vector<std::pair<std::string, std::string>>{
           {"\x16\x03\x01\r\n", "400"},
           {"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "501"},
           {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "400"},
           {"GET /" + std::string(9000, 'x'), "431"}}) {
    http_peer peer(status_stage.port());
    peer.send(bytes);
    CHECK_THAT(peer.rest(), contains_text("HTTP/1.1 " + status));
  }
  CHECK(comes_true([&] { return status_stage.server->connections() == 0; }));
}

TEST_CASE("status server: silent clients do not keep a probe out", "[status]") {
  stage status_stage;
  std::vector<std::unique_ptr<http_peer>> silent_clients;
  for (std::size_t i = 0; i < 3 * elastic::limits::status_connections; ++i) {
    silent_clients.push_back(std::make_unique<http_peer>(status_stage.port()));
    silent_clients.back()->send("GET / HT");
  }
  CHECK(status_stage.first_line("/livez") == ok_line);
  CHECK(silent_clients.front()->rest().empty());
  CHECK(status_stage.server->connections() <= elastic::limits::status_connections);
}

TEST_CASE("status server: followers leave room for a probe", "[status]") {
  stage status_stage;
  std::vector<std::unique_ptr<http_peer>> followers;
  for (std::size_t i = 0; i < elastic::limits::status_followers; ++i) {
    followers.push_back(std::make_unique<http_peer>(status_stage.port()));
    CHECK_THAT(followers.back()->get("/api/v1/events"), contains_text(ok_line));
    CHECK(followers.back()->read_to("\n\n") == "retry: 1000\n\n");
  }
  CHECK(status_stage.first_line("/api/v1/events") == "HTTP/1.1 503 Service Unavailable");
  CHECK(status_stage.first_line("/livez") == ok_line);
  followers.pop_back();
  const std::size_t remaining = followers.size();
  CHECK(comes_true([&] { return status_stage.server->connections() == remaining; }));
  CHECK(status_stage.first_line("/api/v1/events") == ok_line);
}

TEST_CASE("status server: a slow client is left, by time", "[status]") {
  stage status_stage("0", std::make_shared<fast_time>());
  http_peer peer(status_stage.port());
  peer.send("GET / HTTP/1.1\r\n");
  CHECK(peer.rest().empty());
  CHECK(comes_true([&] { return status_stage.server->connections() == 0; }));
}

TEST_CASE("status server: who follows hears that the server is there", "[status]") {
  stage status_stage("0", std::make_shared<fast_time>());
  const auto peer = follower_of(status_stage);
  CHECK(peer->read_to("\n\n") == "retry: 1000\n\n");
  CHECK(peer->read_to("\n\n") == ":\n\n");
  CHECK(peer->read_to("\n\n") == ":\n\n");
}

TEST_CASE("status server: who follows and does not read is left", "[status]") {
  stage status_stage("0", std::make_shared<fast_time>());
  const auto peer = follower_of(status_stage);
  const std::string long_text(2000, 'x');
  CHECK(comes_true([&] {
    for (int i = 0; i < 300; ++i) {
      status_stage.journal->record(journal_story::of(job_event::type::worker_ended, long_text));
    }
    return status_stage.server->connections() == 0;
  }));
}

TEST_CASE("status server: events come as they happen, and again from where one was", "[status]") {
  stage status_stage("0", unhurried());
  journal_story story;
  status_stage.tell(story.begin());
  http_peer peer(status_stage.port());
  CHECK_THAT(peer.get("/api/v1/events"), contains_text(ok_line));
  CHECK(peer.read_to("\n\n") == "retry: 1000\n\n");
  const std::int64_t epoch = status_stage.journal->epoch();
  CHECK_THAT(peer.read_to("\n\n"),
             contains_text(fmt::format("id: {}-1\ndata: {{\"seq\": 1, ", epoch)));
  status_stage.journal->record(
      journal_story::of(job_event::type::rendezvous_started, "</script>\nx"));
  const std::string event = peer.read_to("\n\n");
  CHECK_THAT(event, contains_text(fmt::format("id: {}-2\n", epoch)));
  CHECK_THAT(event, contains_text("</script>\\nx"));
  http_peer returning_peer(status_stage.port());
  returning_peer.get("/api/v1/events", fmt::format("Last-Event-ID: {}-1\r\n", epoch));
  CHECK(returning_peer.read_to("\n\n") == "retry: 1000\n\n");
  CHECK(returning_peer.read_to("\n\n") == event);
  http_peer stranger(status_stage.port());
  stranger.get("/api/v1/events", "Last-Event-ID: 1-99\r\n");
  CHECK(stranger.read_to("\n\n") == "retry: 1000\n\n");
  CHECK(stranger.read_to("\n\n") == "event: reset\ndata: {}\n\n");
  CHECK_THAT(stranger.read_to("\n\n"), contains_text(fmt::format("id: {}-1\n", epoch)));
  // The last word still goes out.
  job_event end_event = journal_story::of(job_event::type::agent_ended);
  end_event.state = "succeeded";
  status_stage.journal->record(end_event);
  status_stage.stop();
  CHECK_THAT(peer.rest(), contains_text("agent_ended"));
}

TEST_CASE("status server: the stream ends with the last state of the job", "[status]") {
  stage status_stage("0", unhurried());
  journal_story story;
  status_stage.tell(story.begin().start(1, 2));
  http_peer peer(status_stage.port());
  CHECK_THAT(peer.get("/api/v1/events"), contains_text(ok_line));
  job_event end_event = journal_story::of(job_event::type::agent_ended, "two\nlines");
  end_event.state = "failed";
  status_stage.journal->record(end_event);
  status_stage.stop();
  const std::string text = peer.rest();
  const std::size_t position = text.find("event: ended\ndata: {");
  REQUIRE(position != std::string::npos);
  CHECK(position > text.find("agent_ended"));
  const std::string event = text.substr(position);
  // One line of data, as it is of one event.
  CHECK(event.find("\n\n") == event.size() - 2);
  CHECK(std::count(event.begin(), event.end(), '\n') == 3);
  const auto job = nlohmann::json::parse(event.substr(event.find('{')));
  CHECK(job.at("state") == "failed");
  CHECK(job.at("reason") == "two\nlines");
  CHECK(job.at("workers").size() == 2);
}

elastic::task<elastic::job_command::outcome> echo(elastic::job_command command) {
  if (command.reason.ends_with("fail")) throw elastic::error(errc::invalid_argument, "broken");
  elastic::job_command::outcome outcome;
  outcome.is_done = true;
  outcome.text = fmt::format("{} {}", to_string(command.what), command.reason);
  co_return outcome;
}

/// A command that goes on until the test says so.
struct long_command {
  std::atomic<std::size_t> starts = 0;
  std::atomic<bool> may_end = false;
};

elastic::task<elastic::job_command::outcome> carry_out(std::shared_ptr<long_command> work) {
  elastic::system_time time;
  ++work->starts;
  while (!work->may_end) co_await time.sleep_until(time.now() + std::chrono::milliseconds(1));
  elastic::job_command::outcome outcome;
  outcome.is_done = true;
  outcome.text = "waited";
  co_return outcome;
}

std::string post(http_peer& peer, const std::string& name, const std::string& body) {
  peer.send(
      fmt::format("POST /api/v1/commands/{} HTTP/1.1\r\nHost: localhost\r\n"
                  "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                  name, body.size(), body));
  return peer.answer();
}

TEST_CASE("status server: commands are carried out over a Unix socket", "[status]") {
  const elastic::test::temporary_directory folder;
  const std::string path = folder / "job";
  stage status_stage("unix:" + path, {}, {}, echo);
  http_peer peer(path);
  const std::string user_id = std::to_string(::geteuid());
  CHECK_THAT(post(peer, "drain", R"({"reason": "hot"})"),
             contains_text(
                 fmt::format("{{\"done\": true, \"text\": \"drain by user {}: hot\"}}", user_id)));
  CHECK_THAT(post(peer, "drain", R"({"reason": "fail"})"),
             contains_text("\"done\": false, \"text\": \"broken\""));
  CHECK_THAT(post(peer, "reboot", ""), contains_text("HTTP/1.1 404 "));
  CHECK_THAT(peer.get("/api/v1/commands/drain"), contains_text("HTTP/1.1 405 "));
  CHECK_THAT(peer.get("/livez"), contains_text(ok_line));
}

TEST_CASE("status server: over TCP nothing is commanded, whoever asks", "[status]") {
  stage status_stage("0", {}, {}, echo);
  http_peer peer(status_stage.port());
  const std::string answer = post(peer, "drain", "");
  CHECK_THAT(answer, contains_text("HTTP/1.1 403 "));
  CHECK_THAT(answer, contains_text("only over a Unix socket"));
}

TEST_CASE("status server: a log directory that does not answer costs a few threads, and no more",
          "[status]") {
  const auto clock = std::make_shared<fast_time>();
  stage status_stage("0", clock);
  std::promise<void> reply;
  const std::shared_future<void> reply_future = reply.get_future().share();
  const auto reads = std::make_shared<std::atomic<int>>(0);
  status_stage.tails->open(status_stage.executor(), [reply_future, reads](std::int64_t) {
    elastic::detail::output_reader reader;
    reader.may_hang = true;
    reader.read = [reply_future, reads] {
      ++*reads;
      reply_future.wait();
      return std::vector<elastic::detail::output_tail>{};
    };
    return std::optional(reader);
  });
  for (int i = 0; i < 10; ++i) {
    CHECK_THAT(patient_answer(status_stage, "/api/v1/ranks/3/output"),
               contains_text("HTTP/1.1 503 "));
  }
  CHECK(comes_true([&] { return *reads == 4; }));
  clock->stop_timers();
  reply.set_value();
  CHECK(comes_true(
      [&] { return status_stage.first_line("/api/v1/ranks/3/output") == "HTTP/1.1 200 OK"; }));
  status_stage.tails->close();
}

TEST_CASE("status server: who waits for a command is told what came of it, also at the end",
          "[status]") {
  const elastic::test::temporary_directory folder;
  const std::string path = folder / "job";
  const auto work = std::make_shared<long_command>();
  stage status_stage("unix:" + path, std::make_shared<elastic::test::standing_clock>(), {},
                     [work](elastic::job_command) { return carry_out(work); });
  std::vector<std::unique_ptr<http_peer>> waiting_peers;
  for (std::size_t i = 0; i < elastic::limits::status_commands; ++i) {
    waiting_peers.push_back(std::make_unique<http_peer>(path));
    waiting_peers.back()->send("POST /api/v1/commands/drain HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  CHECK(comes_true([&] { return work->starts == elastic::limits::status_commands; }));
  http_peer extra_peer(path);
  CHECK_THAT(post(extra_peer, "drain", ""), contains_text("HTTP/1.1 503 "));
  CHECK_THAT(extra_peer.get("/livez"), contains_text(ok_line));
  // Who does not wait is let go at once, and nobody else comes.
  status_stage.begin_stop();
  CHECK(extra_peer.rest().empty());
  CHECK(::access(path.c_str(), F_OK) != 0);
  work->may_end = true;
  for (const auto& peer : waiting_peers) {
    CHECK_THAT(peer->answer(), contains_text("\"text\": \"waited\""));
    CHECK(peer->rest().empty());
  }
  status_stage.stop();
}

TEST_CASE("status server: a client that hangs up gives back the place of its command", "[status]") {
  const elastic::test::temporary_directory folder;
  const std::string path = folder / "job";
  const auto work = std::make_shared<long_command>();
  stage status_stage("unix:" + path, std::make_shared<elastic::test::standing_clock>(), {},
                     [work](elastic::job_command) { return carry_out(work); });
  for (std::size_t i = 1; i <= 3 * elastic::limits::status_commands; ++i) {
    http_peer impatient_peer(path);
    impatient_peer.send("POST /api/v1/commands/drain HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(comes_true([&] { return work->starts == i; }));
  }
  work->may_end = true;
}

TEST_CASE("status server: requests that arrive during a command are answered later", "[status]") {
  const elastic::test::temporary_directory folder;
  const std::string path = folder / "job";
  const auto work = std::make_shared<long_command>();
  stage status_stage("unix:" + path, std::make_shared<elastic::test::standing_clock>(), {},
                     [work](elastic::job_command) { return carry_out(work); });
  http_peer peer(path);
  peer.send("POST /api/v1/commands/drain HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(comes_true([&] { return work->starts == 1; }));
  peer.send("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n");
  work->may_end = true;
  CHECK_THAT(peer.answer(), contains_text("\"text\": \"waited\""));
  CHECK_THAT(peer.answer(), contains_text(ok_line));
}

TEST_CASE("status server: progress comes by itself", "[status]") {
  stage status_stage;
  journal_story story;
  status_stage.tell(story.begin().start(1, 2));
  http_peer peer(status_stage.port());
  peer.get("/api/v1/events");
  CHECK(peer.read_to("\n\n") == "retry: 1000\n\n");
  CHECK_THAT(peer.read_to("\n\n"), contains_text("agent_started"));
  elastic::worker_progress progress;
  progress.local_rank = 1;
  progress.step = 5;
  progress.total = 9;
  status_stage.monitor->progressed(progress);
  CHECK_THAT(peer.read_to("event: progress\n"), contains_text("event: progress\n"));
  CHECK_THAT(peer.read_to("\n\n"), contains_text("\"workers\": [[1,5,9,0]]"));
}

TEST_CASE("status server: what other nodes tell comes by itself", "[status]") {
  stage status_stage;
  const auto monitor = elastic::detail::internals::core_of(*status_stage.monitor);
  monitor->begin_serving(&status_stage, {});
  CHECK(monitor->demand() == elastic::detail::report_demand::changes);
  {
    const auto peer = follower_of(status_stage);
    CHECK(
        comes_true([&] { return monitor->demand() == elastic::detail::report_demand::progress; }));
    elastic::detail::job_roster roster;
    roster.nodes = {{1, "host1", "host1_1_0", elastic::detail::node_presence::lost, -1}};
    monitor->listed(roster);
    CHECK_THAT(peer->read_to("event: changed\ndata: {}\n\n"), contains_text("changed"));
  }
  CHECK(comes_true([&] { return monitor->demand() == elastic::detail::report_demand::changes; }));
  CHECK_THAT(status_stage.get("/api/v1/job"), contains_text("\"presence\": \"lost\""));
  // Who looks again and again is told of steps as well.
  CHECK(monitor->demand() == elastic::detail::report_demand::progress);
  monitor->end_serving(&status_stage);
  CHECK_THAT(status_stage.get("/api/v1/job"), contains_text("\"whole\": null"));
}

TEST_CASE("status server: others need the token that it makes", "[status]") {
  stage status_stage("0.0.0.0:0");
  const std::string url = status_stage.server->url();
  const std::size_t token_position = url.find("/?token=");
  REQUIRE(token_position != std::string::npos);
  const std::string token = url.substr(token_position + 8);
  CHECK(token.size() == 32);
  CHECK(status_stage.first_line("/api/v1/job") == "HTTP/1.1 401 Unauthorized");
  CHECK(status_stage.first_line("/livez") == ok_line);
  const std::string redirection = status_stage.get("/?token=" + token);
  CHECK_THAT(redirection, contains_text("HTTP/1.1 303 See Other"));
  const std::string name = fmt::format("elastic_status_{}=", status_stage.port());
  const std::size_t cookie_position = redirection.find("Set-Cookie: " + name);
  REQUIRE(cookie_position != std::string::npos);
  const std::string cookie = redirection.substr(cookie_position + 12, name.size() + 32);
  CHECK(cookie.find(token) == std::string::npos);
  CHECK(status_stage.first_line("/api/v1/job", "Cookie: " + cookie + "\r\n") == ok_line);
  CHECK(stage("0.0.0.0:0").server->url().find(token) == std::string::npos);
}

TEST_CASE("status server: a token that was given is demanded of everybody", "[status]") {
  stage status_stage("0", {}, "a-token-of-16-letters");
  CHECK(status_stage.first_line("/metrics") == "HTTP/1.1 401 Unauthorized");
  CHECK(status_stage.first_line("/metrics", "Authorization: Bearer a-token-of-16-letters\r\n") ==
        ok_line);
  CHECK(status_stage.server->url() == fmt::format("http://127.0.0.1:{}/", status_stage.port()));
  const stage open_stage("127.0.0.1:0", {}, "a-token-of-16-letters");
  CHECK(open_stage.server->url().find("token") == std::string::npos);
  CHECK_THROWS_WITH(stage("0", {}, "short"), contains_text("16 to 256 letters"));
}

TEST_CASE("status server: ports and addresses that cannot be had", "[status]") {
  stage status_stage;
  const std::string taken_address = fmt::format("127.0.0.1:{}", status_stage.port());
  CHECK_THROWS_WITH(stage(taken_address), "cannot listen at " + taken_address + ": it is in use");
  CHECK_THROWS_WITH(stage("192.0.2.1:0"), contains_text("this is not an address of this host"));
}

/// A directory of its own, removed at the end.
class temporary_directory {
 public:
  temporary_directory() { REQUIRE(::mkdtemp(path_.data())); }
  ~temporary_directory() {
    ::unlink(file("socket").c_str());
    ::rmdir(path_.c_str());
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = "/tmp/elastic_status_XXXXXX";
};

TEST_CASE("status server: a Unix socket is this user's alone", "[status]") {
  const temporary_directory directory;
  const std::string path = directory.file("socket");
  struct stat file {};
  {
    stage status_stage("unix:" + path);
    REQUIRE(::stat(path.c_str(), &file) == 0);
    CHECK((file.st_mode & 07777) == 0600);
    CHECK_THAT(http_peer(path).get("/livez"), contains_text(ok_line));
    CHECK(status_stage.server->url() == "unix:" + path);
    CHECK_THROWS_WITH(stage("unix:" + path), contains_text("it is in use, or the file exists"));
    CHECK_THAT(http_peer(path).get("/livez"), contains_text(ok_line));
  }
  CHECK(::stat(path.c_str(), &file) != 0);
  std::ofstream(path) << "mine";
  CHECK_THROWS_WITH(stage("unix:" + path), contains_text("it is in use, or the file exists"));
  CHECK(::stat(path.c_str(), &file) == 0);
  CHECK_THROWS_WITH(stage("unix:" + directory.file(std::string(120, 'x'))),
                    contains_text("1 to 107 are allowed"));
  CHECK_THROWS_WITH(stage("unix:" + directory.file("no/socket")), contains_text("No such file"));
}

/// The launch in what a server says of its job.
nlohmann::json launch_in(const std::string& answer) {
  return nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4)).at("launch");
}

elastic::worker_spec secret_workers() {
  elastic::worker_spec workers;
  workers.program = "./serve";
  workers.arguments = {"--key=s3cret"};
  return workers;
}

TEST_CASE("status server: arguments are shown where output is, up to the last event", "[status]") {
  const std::string token = "a-token-of-16-letters";
  const std::string shown = "Authorization: Bearer " + token + "\r\n";
  stage open("0", unhurried());
  open.monitor->describe(secret_workers());
  CHECK(launch_in(open.get("/api/v1/job"))["script"] == "./serve");
  http_peer follower(open.port());
  follower.get("/api/v1/events");
  CHECK_THAT(open.get("/api/v1/job"), !contains_text("s3cret"));
  open.stop();
  CHECK_THAT(follower.rest(), contains_text("\"script\": \"./serve\"") &&
                                  !contains_text("s3cret"));
  stage closed("0", {}, token);
  closed.monitor->describe(secret_workers());
  CHECK(launch_in(closed.get("/api/v1/job", shown))["arguments"][0] == "--key=s3cret");
  const temporary_directory directory;
  stage local("unix:" + directory.file("socket"), unhurried());
  local.monitor->describe(secret_workers());
  http_peer peer(directory.file("socket"));
  CHECK(launch_in(peer.get("/api/v1/job"))["arguments"][0] == "--key=s3cret");
  peer.get("/api/v1/events");
  local.stop();
  CHECK_THAT(peer.rest(), contains_text("\"shows_output\": true") && contains_text("s3cret"));
}

TEST_CASE("status server: a socket that a killed agent has left is replaced", "[status]") {
  const temporary_directory directory;
  const std::string path = directory.file("socket");
  const int stale_socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  REQUIRE(::bind(stale_socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  ::close(stale_socket);
  stage status_stage("unix:" + path);
  CHECK_THAT(http_peer(path).get("/livez"), contains_text(ok_line));
}

TEST_CASE("status token: from a file that is its owner's alone", "[status]") {
  const temporary_directory directory;
  const std::string path = directory.file("socket");
  const auto problem_with = [&](const std::string& content, mode_t mode) {
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
    std::string problem;
    try {
      return "read " + elastic::read_status_token(path);
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == errc::invalid_argument);
      problem = failure.what();
    }
    const std::size_t position = problem.find(path + "' ");
    return position == std::string::npos ? problem : problem.substr(position + path.size() + 2);
  };
  CHECK(problem_with("0123456789abcdef\n", 0600) == "read 0123456789abcdef");
  CHECK(problem_with("0123456789abcdef", 0640) == "is open to others (mode 0640): chmod 600");
  CHECK_THAT(problem_with("short", 0600), contains_text("is not one: 16 to 256 letters"));
  CHECK_THAT(problem_with("0123456789abcdef; Path=/", 0600), contains_text("is not one"));
  CHECK_THAT(problem_with(std::string(300, 'a'), 0600), contains_text("is not one"));
  ::unlink(path.c_str());
  CHECK_THROWS_WITH(elastic::read_status_token(path), contains_text("cannot be read: No such"));
}

}  // namespace status_server_tests
