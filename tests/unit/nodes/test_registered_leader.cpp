// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/nodes/detail/registered_leader.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <elastic/nodes/detail/leader_registry.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/testing/manual_clock.hpp>
#include <support/catch.hpp>
#include <support/keys_network.hpp>
#include <support/rendezvous_words.hpp>
#include <support/scenario.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace registered_leader_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::task;
using elastic::detail::leader_registry;
using elastic::detail::registered_leader;
using elastic::test::duration_of;
using elastic::test::integer_of;
using elastic::test::scenario_command;
using elastic::test::text_of;
using elastic::testing::manual_clock;
namespace messages = elastic::detail::rendezvous_messages;

/// The server's end of a node's connection to the leader. Its messages arrive at once in both
/// directions.
class node_connection final : public elastic::detail::store_extension::client {
 public:
  node_connection(registered_leader& leader, std::uint64_t number, const std::string& password)
      : conversation_(leader.begin(*this)) {
    elastic::detail::candidate_messages::seek question;
    question.run_id = "job";
    question.list = password;
    say_text(elastic::detail::candidate_text(elastic::detail::candidate_request(question)));
    messages::hello greeting;
    greeting.run_id = "job";
    greeting.node = {"host", static_cast<std::int64_t>(number), 0, {number, 0}};
    greeting.name = fmt::format("host{}", number);
    greeting.settings.min_nodes = greeting.settings.max_nodes = 2;
    say(greeting);
  }

  void send(std::string_view bytes) override { frames_.append(bytes); }
  void hang_up() override { is_open_ = false; }
  asio::ip::tcp::endpoint here() const override { return {}; }
  asio::ip::tcp::endpoint there() const override { return {}; }

  bool is_open() const { return is_open_; }

  void say(const elastic::detail::rendezvous_request& request) {
    say_text(elastic::detail::to_text(request));
  }

  /// The answers since the last call.
  std::vector<elastic::detail::rendezvous_answer> take_answers() {
    std::vector<elastic::detail::rendezvous_answer> answers;
    while (const auto message = frames_.next()) {
      // The first one names the leader.
      if (std::exchange(is_led_, true))
        answers.push_back(elastic::detail::parse_rendezvous_answer(*message));
    }
    return answers;
  }

 private:
  void say_text(const std::string& text) {
    std::string frame;
    elastic::detail::append_frame(frame, text);
    conversation_->received(frame);
  }

  elastic::detail::frame_reader frames_{elastic::limits::rendezvous_message_bytes};
  bool is_led_ = false;
  bool is_open_ = true;
  std::unique_ptr<elastic::detail::store_extension::conversation> conversation_;
};

/// A registry, the agents that lead a job there, and its nodes. tests/scenarios/leases.txt says
/// what the commands mean.
class lease_subject : public elastic::test::scenario_subject {
 public:
  lease_subject() {
    commands["lead"] = [this](auto& command) { lead(agent_of(command.take())); };
    commands["part"] = [this](auto& command) { network_.part(agent_of(command.take())); };
    commands["mend"] = [this](auto& command) { network_.mend(agent_of(command.take())); };
    commands["retire"] = [this](auto& command) { retire(agent_of(command.take()), false); };
    commands["retire-after-job"] = [this](auto& command) {
      retire(agent_of(command.take()), true);
    };
    commands["pass"] = [this](auto& command) { pass(duration_of(command.take())); };
    commands["record"] = [this](auto&) { outputs.add(record_text()); };
    commands["requests"] = [this](auto&) {
      const std::uint64_t sum = network_.requests();
      outputs.add(fmt::format("{} requests", sum - std::exchange(counted_, sum)));
    };
    add_nodes();
  }

  ~lease_subject() override {
    nodes_.clear();
    for (const auto& [agent, each] : leaders_) each.cancel->emit(asio::cancellation_type::terminal);
    network_.end();
    clock_.run_for(10s);
  }

 private:
  struct leading {
    std::shared_ptr<registered_leader> leader;
    std::unique_ptr<asio::cancellation_signal> cancel;
    bool is_over = false;
  };
  struct job_node {
    std::unique_ptr<node_connection> connection;
    /// The term of its leader.
    std::int64_t term = 0;
  };

  // Node 0 only looks.
  static constexpr int observer = 0;

  static int agent_of(const std::string& text) { return static_cast<int>(integer_of(text)); }

  // ---- commands ---------------------------------------------------------------------------------

  void add_nodes() {
    commands["join"] = [this](auto& command) {
      const int agent = agent_of(command.take());
      for (const std::string& name : command.take_all()) {
        connect(agent, name);
        ask(name, -1);
      }
    };
    commands["rejoin"] = [this](auto& command) {
      for (const std::string& name : command.take_all()) ask(name, 0);
    };
    commands["failed"] = [this](auto& command) {
      const std::string name = command.take();
      say(name, messages::failed{0, command.take()});
    };
    commands["finished"] = [this](auto& command) {
      for (const std::string& name : command.take_all()) say(name, messages::finished{0});
    };
    commands["leave"] = [this](auto& command) {
      for (const std::string& name : command.take_all()) say(name, messages::leave{});
    };
  }

  void lead(int agent) {
    registered_leader::options options;
    options.run_id = "job";
    options.node = static_cast<std::uint64_t>(agent);
    options.lease = 80s;
    options.settings.min_nodes = options.settings.max_nodes = 2;
    options.registry = registry_of(agent);
    options.time = clock_.share();
    leading& added = leaders_[agent];
    added.leader = std::make_shared<registered_leader>(std::move(options));
    added.cancel = std::make_unique<asio::cancellation_signal>();
    asio::co_spawn(
        context_, added.leader->run(),
        asio::bind_cancellation_slot(added.cancel->slot(), [kept = added.leader](auto) {}));
    registered_leader::candidacy own;
    own.address = elastic::parse_endpoint(fmt::format("host{}:1", agent), 0);
    own.former = clock_.run(registry_of(observer)->look());
    if (own.former.record) own.least_term = own.former.record->kept.term + 1;
    added.leader->try_to_lead(std::move(own));
    pass(1s);
  }

  void retire(int agent, bool is_job_over) {
    asio::co_spawn(context_, leaders_.at(agent).leader->retire(is_job_over), asio::detached);
    pass(0s);
  }

  void connect(int agent, const std::string& name) {
    const leader_registry::sight seen = clock_.run(registry_of(observer)->look());
    job_node& added = nodes_[name];
    added.term = seen.record->kept.term;
    added.connection = std::make_unique<node_connection>(
        *leaders_.at(agent).leader, static_cast<std::uint64_t>(name[0]), seen.record->password);
    collect();
  }

  void ask(const std::string& name, std::int64_t after) {
    say(name, messages::join{after, 600s, {name + ".example", 1, true}});
  }

  void say(const std::string& name, const elastic::detail::rendezvous_request& request) {
    nodes_.at(name).connection->say(request);
    collect();
  }

  void pass(duration time) {
    // What happens within a second is told at its end.
    for (duration passed{}; passed < time;) {
      const duration step = std::min<duration>(1s, time - passed);
      clock_.run_for(step);
      passed += step;
      outputs.when = text_of(passed) + " later ";
      collect();
      for (const auto& [name, node] : nodes_) {
        if (node.connection->is_open()) node.connection->say(messages::keep_alive{});
      }
    }
    outputs.when.clear();
  }

  // ---- outputs ----------------------------------------------------------------------------------

  void collect() {
    for (auto& [agent, each] : leaders_) {
      if (each.is_over == each.leader->is_over()) continue;
      each.is_over = true;
      outputs.add(fmt::format("agent {} leads no more", agent));
    }
    for (auto& [name, node] : nodes_) {
      for (const auto& answer : node.connection->take_answers()) {
        if (std::holds_alternative<messages::alive>(answer)) continue;
        outputs.add(std::visit(elastic::test::rendezvous_words(name, node.term), answer));
      }
    }
    const auto ended = [](const auto& entry) { return !entry.second.connection->is_open(); };
    for (const auto& [name, node] : nodes_) {
      if (!node.connection->is_open()) outputs.add({{}, {{name, name}}, ": disconnected"});
    }
    std::erase_if(nodes_, ended);
  }

  std::string record_text() {
    const leader_registry::sight seen = clock_.run(registry_of(observer)->look());
    if (!seen.record) return "no record";
    const auto& kept = seen.record->kept;
    const elastic::wall_time begin{std::chrono::milliseconds(kept.term)};
    std::string text = fmt::format("agent {} leads in the term of {}", seen.record->agent,
                                   text_of(begin - manual_clock::wall_start));
    if (seen.record->address.port == 0) text += ", and left";
    if (kept.round >= 0) text += fmt::format(", round {} of {}", kept.round, kept.members.size());
    if (kept.restarts != 0) text += fmt::format(", restarts {}", kept.restarts);
    if (kept.ending) text += ", closed: " + kept.ending->why;
    return text;
  }

  std::shared_ptr<leader_registry> registry_of(int agent) {
    return std::make_shared<leader_registry>(network_.keys_of(agent), std::nullopt);
  }

  asio::io_context context_;
  manual_clock clock_{context_};
  elastic::detail::random_source random_{1};
  elastic::test::keys_network network_{clock_, random_};
  std::uint64_t counted_ = 0;
  std::map<int, leading> leaders_;
  std::map<std::string, job_node> nodes_;
};

TEST_CASE("registered leader: scenarios", "[rendezvous]") {
  elastic::test::check_scenarios("leases.txt", [] { return std::make_unique<lease_subject>(); });
}

}  // namespace registered_leader_tests
