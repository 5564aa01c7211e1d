// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/rendezvous_coordinator.hpp>

#include <support/catch.hpp>
#include <support/rendezvous_words.hpp>
#include <support/scenario.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace rendezvous_coordinator_tests {

using namespace std::chrono_literals;
using namespace elastic::detail::rendezvous_messages;
namespace messages = elastic::detail::rendezvous_messages;
using elastic::duration;
using elastic::time_point;
using elastic::detail::rendezvous_coordinator;
using elastic::detail::round_register;
using elastic::test::duration_of;
using elastic::test::integer_of;
using elastic::test::rendezvous_words;
using elastic::test::scenario_command;
using elastic::test::text_of;
// The system and elastic have others of these names.
using messages::keep_alive;
using messages::pause;

using texts = std::vector<std::string>;

/// The term of the server.
constexpr std::int64_t server_term = 1000;

/// A coordinator and its nodes, which are called by letters. tests/scenarios/coordinator.txt says
/// what the commands mean.
class coordinator_subject : public elastic::test::scenario_subject {
 public:
  coordinator_subject() {
    add_settings();
    add_past();
    add_connections();
    add_messages();
    add_others();
  }

 private:
  using connection = rendezvous_coordinator::connection;

  struct owner {
    char node;
    bool is_second;
  };

  static char node_of(const std::string& name) {
    if (name.size() != 1) throw std::invalid_argument(fmt::format("no node is called '{}'", name));
    return name[0];
  }
  /// Agents that are started again on a host are written in large letters.
  static std::string host_of(char name) { return fmt::format("gpu-{}", char(name | 0x20)); }
  static elastic::detail::node_id id_of(char name) {
    const auto number = static_cast<std::uint64_t>(name);
    return {std::string(1, name), 1, 0, {number, number + 100}};
  }

  // ---- commands ---------------------------------------------------------------------------------

  // A command for each of the nodes that it names.
  template <class Act>
  static auto each_node(Act act) {
    return [act](scenario_command& command) {
      for (const std::string& name : command.take_all()) act(node_of(name));
    };
  }

  void add_settings() {
    commands["nodes"] = [this](auto& command) { set_nodes(command.take()); };
    commands["scale-up-delay"] = [this](auto& command) {
      settings_.scale_up_delay = duration_of(command.take());
    };
    commands["keep-alive-interval"] = [this](auto& command) {
      settings_.keep_alive_interval = duration_of(command.take());
    };
    commands["job-file"] = [this](auto& command) { fingerprint_ = command.take(); };
    commands["single-connections"] = [this](auto&) { opens_witnesses_ = false; };
  }

  void add_past() {
    commands["former"] = [this](auto& command) { set_former(command); };
    commands["met-server"] = [this](auto& command) {
      const std::int64_t term = integer_of(command.take());
      terms_[node_of(command.take())] = term;
    };
    commands["excluded-before"] = [this](auto& command) {
      std::string name = command.take();
      const duration remaining = duration_of(command.take());
      excluded_.push_back({std::move(name), remaining, command.take()});
    };
    commands["successor"] = [this](auto& command) { begin_successor(command); };
  }

  void add_connections() {
    commands["connect"] = [this](auto& command) {
      const std::string here = command.take_value("here");
      const std::string there = command.take_value("there", here);
      for (const std::string& name : command.take_all()) {
        connect(node_of(name), {here, there, here == there});
      }
    };
    commands["cut"] = each_node([this](char name) {
      end(links_, name);
      if (witnesses_.count(name) != 0) end(witnesses_, name);
    });
    commands["cut-first"] = each_node([this](char name) { end(links_, name); });
    commands["cut-second"] = each_node([this](char name) { end(witnesses_, name); });
    commands["open-second"] = each_node([this](char name) { open_witness(name); });
  }

  void add_messages() {
    commands["join"] = each_node([this](char name) {
      connect(name, {});
      ask(name, {-1, settings_.join_timeout, {}});
    });
    commands["rejoin"] = each_node(
        [this](char name) { ask(name, {server_->state().round, settings_.join_timeout, {}}); });
    commands["ask"] = [this](auto& command) {
      join request;
      request.after = integer_of(command.take_value("after", "-1"));
      request.timeout = duration_of(command.take_value("timeout", "600s"));
      request.offer.address = command.take_value("at");
      request.addresses = command.take_value("addresses");
      for (const std::string& name : command.take_all()) ask(node_of(name), request);
    };
    commands["keep-alive"] = each_node([this](char name) { say(name, keep_alive{}); });
    commands["failed"] = [this](auto& command) {
      const char name = node_of(command.take());
      const std::int64_t round = integer_of(command.take());
      say(name, failed{round, command.take()});
    };
    commands["finished"] = [this](auto& command) {
      const std::int64_t round = integer_of(command.take_value("round", "0"));
      for (const std::string& name : command.take_all()) say(node_of(name), finished{round});
    };
    commands["pause"] = [this](auto& command) {
      const char name = node_of(command.take());
      say(name, pause{command.take()});
    };
    commands["resume"] = each_node([this](char name) { say(name, resume{}); });
    commands["leave"] = [this](auto& command) {
      const duration keep_out = duration_of(command.take_value("for", "0s"));
      const std::string why = command.take_value("why");
      for (const std::string& name : command.take_all()) say(node_of(name), leave{keep_out, why});
    };
    commands["close"] = [this](auto& command) {
      using job_end = elastic::rendezvous_handler::job_end;
      const char name = node_of(command.take());
      const std::string how = command.take();
      if (how != "succeeded" && how != "failed")
        throw std::invalid_argument(fmt::format("a job does not end by '{}'", how));
      const job_end end = how == "succeeded" ? job_end::succeeded : job_end::failed;
      say(name, close_job{end, command.take()});
    };
    commands["hello-again"] = each_node([this](char name) { say(name, hello{}); });
    commands["word-on-second"] = each_node([this](char name) {
      server_->received(witnesses_.at(name), keep_alive{}, now_);
      collect();
    });
  }

  void add_others() {
    commands["pass"] = [this](auto& command) {
      const std::string silent = command.take_value("silent");
      pass(duration_of(command.take()), silent);
    };
    commands["fence-own-node"] = [this](auto&) { server_->fence_own_node(); };
    commands["suspend"] = [this](auto&) { suspend(true); };
    commands["unsuspend"] = [this](auto&) { suspend(false); };
    commands["deadline"] = [this](auto&) {
      const time_point next = server_->next_deadline();
      outputs.add(next == time_point::max() ? "no deadline"
                                            : "deadline in " + text_of(next - now_));
    };
    commands["idle"] = [this](auto&) { outputs.add(server_->is_idle() ? "idle" : "not idle"); };
    commands["register"] = [this](auto&) { note_register(); };
  }

  // ---- the job and its past ---------------------------------------------------------------------

  // "2:4", or "2,4" for rounds of these numbers of nodes alone.
  void set_nodes(const std::string& text) {
    const auto colon = text.find(':');
    settings_.node_counts.clear();
    if (colon == text.npos) settings_.node_counts = elastic::parse_node_counts(text);
    const bool is_range = settings_.node_counts.empty();
    settings_.min_nodes =
        is_range ? int(integer_of(text.substr(0, colon))) : settings_.node_counts.front();
    settings_.max_nodes =
        is_range ? int(integer_of(text.substr(colon + 1))) : settings_.node_counts.back();
  }

  // Nodes that report a round of a former server, in which they had these ranks. The host has ended
  // with that server; the node of its letter is the present server's own.
  void set_former(scenario_command& command) {
    messages::former_round round;
    const std::string host = command.take_value("host", "-");
    round.round = integer_of(command.take_value("round", "4"));
    round.term = integer_of(command.take_value("term", "900"));
    round.restarts = int(integer_of(command.take_value("restarts", "2")));
    round.until_end = true;
    const std::vector<std::string> names = command.take_all();
    round.world = int(names.size());
    const auto place = std::find(names.begin(), names.end(), host);
    if (place != names.end()) round.host_rank = int(place - names.begin());
    for (const std::string& name : names) {
      if (name != host) former_[node_of(name)] = round;
      ++round.rank;
    }
    host_ = node_of(host);
  }

  // Another server continues the job from the register of the first one. No connection outlives
  // that; its own node ends with it.
  void begin_successor(scenario_command& command) {
    const std::string own = command.take_value("own", "-");
    const duration doubt = duration_of(command.take_value("doubt", "0s"));
    const std::uint64_t own_number = own == "-" ? 0 : id_of(node_of(own)).number.high;
    const bool is_lost = command.take_value("register") == "lost";
    round_register kept = is_lost ? round_register() : server_->content();
    const std::string members = command.take_value("members");
    if (!members.empty()) kept.members.assign(members.begin(), members.end());
    server_ = std::make_unique<rendezvous_coordinator>("job", elastic::logger(),
                                                       server_term);
    server_->inherit(kept, own_number, settings_, now_, now_ + doubt);
    links_.clear();
    witnesses_.clear();
    collect();
  }

  // ---- nodes ------------------------------------------------------------------------------------

  void connect(char name, rendezvous_coordinator::addresses ends) {
    messages::hello greeting;
    greeting.run_id = "job";
    greeting.node = id_of(name);
    greeting.name = host_of(name);
    greeting.settings = settings_;
    greeting.hosts = name == host_;
    greeting.fingerprint = fingerprint_;
    if (former_.count(name) != 0) {
      greeting.former = former_.at(name);
      greeting.highest_term = former_.at(name).term;
      greeting.excluded = excluded_;
    }
    if (terms_.count(name) != 0) greeting.highest_term = terms_.at(name);
    open(links_, name, std::move(ends));
    say(name, greeting);
    if (opens_witnesses_ && server_->knows(greeting.node)) open_witness(name);
  }

  void open_witness(char name) {
    open(witnesses_, name, {});
    const messages::witness word{"job", id_of(name)};
    server_->received(witnesses_.at(name), word, now_);
    collect();
  }

  void ask(char name, messages::join request) {
    if (request.offer.address.empty()) request.offer.address = fmt::format("{}.example", name);
    request.offer.port = 1;
    say(name, std::move(request));
  }

  void say(char name, const elastic::detail::rendezvous_request& request) {
    server_->received(links_.at(name), request, now_);
    collect();
  }

  void open(std::map<char, connection>& kind, char name, rendezvous_coordinator::addresses ends) {
    kind[name] = ++last_;
    owners_[last_] = {name, &kind == &witnesses_};
    server_->connected(last_, std::move(ends));
  }

  void end(std::map<char, connection>& kind, char name) {
    if (kind.count(name) == 0)
      throw std::invalid_argument(fmt::format("'{}' has no such connection", name));
    server_->disconnected(kind.at(name), now_);
    kind.erase(name);
    collect();
  }

  // Who is connected says that it is alive, unless it is one of `silent`.
  void pass(duration time, const std::string& silent) {
    const time_point start = now_;
    const time_point end = now_ + time;
    while (now_ < end) {
      const time_point next = std::min({end, now_ + 4s, server_->next_deadline()});
      now_ = std::max(now_, next);
      outputs.when = text_of(now_ - start) + " later ";
      server_->advance(now_);
      collect();
      for (const auto& [name, link] : std::map(links_)) {
        if (silent.find(name) != silent.npos || dropped_.count(link) != 0) continue;
        server_->received(link, keep_alive{}, now_);
        for (const auto& answer : server_->take_answers()) {
          CHECK(answer.to == link);
          CHECK(std::holds_alternative<messages::alive>(answer.what));
        }
      }
    }
    outputs.when.clear();
  }

  void suspend(bool is_suspended) {
    server_->suspend(is_suspended, now_);
    collect();
  }

  // ---- outputs ----------------------------------------------------------------------------------

  void collect() {
    for (const auto& answer : server_->take_answers()) {
      outputs.add(std::visit(rendezvous_words({owners_.at(answer.to).node}), answer.what));
    }
    std::map<char, std::set<bool>> ended;
    for (const connection id : server_->take_dropped()) {
      dropped_.insert(id);
      ended[owners_.at(id).node].insert(owners_.at(id).is_second);
    }
    for (const auto& [node, seconds] : ended) {
      const char* which = *seconds.begin() ? "second" : "first";
      if (seconds.size() == 2) which = "each";
      const std::string name(1, node);
      outputs.add({{}, {{name, name}}, fmt::format(": {} connection dropped", which)});
    }
    round_register content = server_->content();
    if (content != content_) CHECK(server_->content_version() != content_version_);
    content_ = std::move(content);
    content_version_ = server_->content_version();
  }

  void note_register() {
    const round_register content = server_->content();
    std::string members;
    for (const std::uint64_t member : content.members) members += fmt::format(" {}", char(member));
    std::string text = fmt::format("register: round {} of{}, restarts {}", content.round, members,
                                   content.restarts);
    if (content.leader_node != 0) text += fmt::format(", made by {}", char(content.leader_node));
    if (content.all_finished) text += ", finished";
    if (content.ending) text += ", closed: " + content.ending->why;
    outputs.add(std::move(text));
    for (const elastic::detail::exclusion& each : content.excluded) {
      outputs.add(fmt::format("register: {} is excluded for {}: {}", each.name,
                              text_of(each.remaining), each.why));
    }
  }

  elastic::rendezvous_settings settings_;
  std::string fingerprint_;
  bool opens_witnesses_ = true;
  /// What nodes say of the last server that they were with.
  std::map<char, messages::former_round> former_;
  std::map<char, std::int64_t> terms_;
  std::vector<elastic::detail::exclusion> excluded_;
  /// The node of the server's own agent.
  char host_ = '-';

  time_point now_{12h};
  std::unique_ptr<rendezvous_coordinator> server_ = std::make_unique<rendezvous_coordinator>(
      "job", elastic::logger(), server_term);
  connection last_ = 0;
  std::map<char, connection> links_;
  std::map<char, connection> witnesses_;
  std::map<connection, owner> owners_;
  std::set<connection> dropped_;
  round_register content_;
  std::optional<std::uint64_t> content_version_;
};

TEST_CASE("coordinator: scenarios", "[rendezvous]") {
  elastic::test::check_scenarios("coordinator.txt",
                                 [] { return std::make_unique<coordinator_subject>(); });
}

TEST_CASE("coordinator: scenarios of a successor", "[rendezvous]") {
  elastic::test::check_scenarios("successor.txt",
                                 [] { return std::make_unique<coordinator_subject>(); });
}

TEST_CASE("coordinator: another version of the protocol is refused, both named", "[rendezvous]") {
  rendezvous_coordinator coordinator("job");
  coordinator.connected(1, {});
  hello greeting;
  greeting.version = 1;
  coordinator.received(1, greeting, time_point(1h));
  const auto answers = coordinator.take_answers();
  REQUIRE(answers.size() == 1);
  CHECK(std::visit(rendezvous_words("a"), answers[0].what).text() ==
        "a: refused: this node speaks version 1 of the rendezvous, the server version 3");
}

TEST_CASE("coordinator: every node goes by the keep-alives of the first", "[rendezvous]") {
  rendezvous_coordinator coordinator("job");
  hello greeting;
  for (const std::int64_t pid : {1, 2}) {
    const auto link = static_cast<rendezvous_coordinator::connection>(pid);
    coordinator.connected(link, {});
    greeting.node = {"a", pid, 0, {}};
    greeting.settings.keep_alive_interval = std::chrono::seconds(pid);
    greeting.settings.keep_alive_max_attempt = static_cast<int>(pid) + 1;
    coordinator.received(link, greeting, time_point(1h));
    const auto answers = coordinator.take_answers();
    REQUIRE(answers.size() == 1);
    const auto& settings = std::get<welcome>(answers[0].what).settings;
    CHECK(settings.silence() == 2s);
  }
}

TEST_CASE("coordinator: nodes with a host name and a pid in common are two nodes", "[rendezvous]") {
  rendezvous_coordinator coordinator("job");
  const time_point now(1h);
  hello greeting;
  greeting.node = {"container", 1, 0, {}};
  greeting.settings.min_nodes = 2;
  greeting.settings.max_nodes = 2;
  for (const int link : {1, 2}) {
    coordinator.connected(link, {});
    greeting.node.number = {0, 10 - static_cast<std::uint64_t>(link)};
    coordinator.received(link, greeting, now);
    coordinator.received(link, join{-1, 600s, {"a.example", 1, true}}, now);
  }
  CHECK(coordinator.take_dropped().empty());
  texts placements;
  for (const auto& answer : coordinator.take_answers()) {
    if (std::holds_alternative<placed>(answer.what)) {
      const rendezvous_words words(std::to_string(answer.to));
      placements.push_back(std::visit(words, answer.what).text());
    }
  }
  std::sort(placements.begin(), placements.end());
  CHECK(placements == texts{"round 0 of 2 at a.example in term 1: 1 is 1",
                            "round 0 of 2 at a.example in term 1: 2 is 0"});
  // Who comes with the number takes up its own connection, and no other.
  coordinator.connected(3, {});
  coordinator.received(3, greeting, now);
  CHECK(coordinator.take_dropped() == std::vector<rendezvous_coordinator::connection>{2});
}

TEST_CASE("coordinator: who says anything before hello is dropped", "[rendezvous]") {
  rendezvous_coordinator coordinator("job");
  coordinator.connected(1, {});
  coordinator.received(1, keep_alive{}, time_point(1h));
  CHECK(coordinator.take_dropped() == std::vector<rendezvous_coordinator::connection>{1});
}

TEST_CASE("coordinator: many addresses go in messages that are within their bound",
          "[rendezvous]") {
  constexpr int nodes = 100;
  rendezvous_coordinator coordinator("job");
  hello greeting;
  greeting.settings.min_nodes = nodes;
  greeting.settings.max_nodes = nodes;
  std::string many;
  while (many.size() < 2000) many += "fd00:1111:2222:3333:4444:5555:6666:7777 ";
  for (int i = 1; i <= nodes; ++i) {
    const auto link = static_cast<rendezvous_coordinator::connection>(i);
    coordinator.connected(link, {});
    greeting.node = {"node", i, 0, {}};
    coordinator.received(link, greeting, time_point(1h));
    coordinator.received(link, join{-1, 600s, {"a", 1, true}, many}, time_point(1h));
  }
  std::size_t parts = 0;
  bool is_placed = false;
  for (const auto& answer : coordinator.take_answers()) {
    const bool is_of_first = answer.to == 1;
    is_placed = is_placed || (is_of_first && std::holds_alternative<placed>(answer.what));
    if (!std::holds_alternative<peers>(answer.what)) continue;
    ++parts;
    CHECK(is_of_first);
    CHECK(!is_placed);
    CHECK(elastic::detail::to_text(answer.what).size() < elastic::limits::rendezvous_message_bytes);
  }
  CHECK(parts > 1);
  CHECK(is_placed);
}

// Numbers and texts that a node may make up.

/// What the coordinator answers to a line of commands.
texts outputs_of(coordinator_subject& job, const std::string& line) {
  job.take_outputs();
  job.carry_out(line);
  return job.take_outputs();
}

TEST_CASE("coordinator: who tells of numbers that cannot be is refused, and the others go on",
          "[rendezvous]") {
  constexpr std::int64_t most = elastic::limits::rendezvous_told_number;
  coordinator_subject job;
  job.carry_out(
      fmt::format("nodes 2:2; former x - round={0} term=1; former y - round=1 term={0}", most + 1));
  for (const std::string stranger : {"x", "y"}) {
    const texts answers = outputs_of(job, "connect " + stranger);
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].starts_with(stranger + ": refused: this node reports round "));
  }
  job.carry_out("connect z");
  const auto beyond = std::numeric_limits<std::int64_t>::max() - 1;
  const texts answers = outputs_of(job, fmt::format("ask z after={}", beyond));
  REQUIRE_FALSE(answers.empty());
  CHECK(answers[0] ==
        fmt::format("z: refused: this node reports round {}, which never existed", beyond));
  CHECK(outputs_of(job, "join a b") ==
        texts{"a, b: welcome", "round 0 of 2 at a.example: a is 0, b is 1"});
}

TEST_CASE("coordinator: the largest numbers that can be told are counted on", "[rendezvous]") {
  constexpr std::int64_t most = elastic::limits::rendezvous_told_number;
  constexpr int restarts = elastic::limits::job_restarts;
  const auto placed_in = [restarts](std::int64_t round) {
    return fmt::format("round {} of 1 at a.example after {} restarts in term {}: a is 0", round,
                       restarts, most + 1);
  };
  coordinator_subject job;
  job.carry_out("nodes 1:1");
  const std::string former =
      fmt::format("former a round={0} term={0} restarts={1}", most, restarts);
  CHECK(outputs_of(job, former + "; join a").back() == placed_in(most + 1));
  const std::string failure = fmt::format("failed a {} x; rejoin a", most + 1);
  CHECK(outputs_of(job, failure).back() == placed_in(most + 2));
  // Also by those that tell what this server has told them.
  const std::string told = fmt::format("former b round={} term={}", most + 2, most + 1);
  CHECK(outputs_of(job, told + "; connect b") ==
        texts{fmt::format("b: welcome in term {}", most + 1)});
}

TEST_CASE("coordinator: a job file with a nameless part is refused", "[rendezvous]") {
  coordinator_subject job;
  job.carry_out("nodes 1:2; job-file nodes=1; connect a; job-file \"\n=1 nodes=1\"");
  const texts answers = outputs_of(job, "connect b");
  REQUIRE(answers.size() == 1);
  CHECK_THAT(answers[0], elastic::test::contains_text("they differ in a nameless part; start"));
}

TEST_CASE("coordinator: of the reason for the end as much is kept as a register can hold",
          "[rendezvous]") {
  coordinator_subject job;
  job.carry_out("nodes 1:2; join a b");
  CHECK(outputs_of(job, "close a failed " + std::string(50'000, 'x')) ==
        texts{"a, b: the job failed: " + std::string(elastic::limits::ending_text_bytes, 'x')});
}

}  // namespace rendezvous_coordinator_tests
