// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The decisions of the vault: what workers restore, and which slot a commit overwrites.

#include <elastic/vault/detail/vault_step.hpp>
#include <support/catch.hpp>
#include <support/scenario.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace vault_step_test {

using detail::next_vault_slot;
using detail::next_vault_step;
using detail::next_vault_vote;
using detail::vault_generation;
using test::integer_of;
using test::scenario_command;

/// "e1:7".
vault_generation generation_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (!text.starts_with("e") || colon == text.npos) {
    throw std::invalid_argument(fmt::format("'{}' is no generation", text));
  }
  return {integer_of(text.substr(1, colon - 1)), integer_of(text.substr(colon + 1))};
}

std::string text_of(const vault_generation& id) {
  return fmt::format("e{}:{}", id.epoch, id.number);
}

class vault_subject : public test::scenario_subject {
 public:
  vault_subject() {
    add_node("a", 2);
    commands["nodes"] = [this](scenario_command& command) {
      view_.nodes.clear();
      for (const std::string& name : command.take_all()) add_node(name, 1);
    };
    commands["former"] = [this](scenario_command& command) {
      view_.former_nodes = command.take_all();
    };
    commands["has"] = [this](scenario_command& command) { hold(command); };
    commands["knows"] = [this](scenario_command& command) {
      detail::vault_report& node = node_named(command.take());
      node.complete = generation_of(command.take());
    };
    commands["damaged"] = [this](scenario_command& command) {
      const vault_generation id = generation_of(command.take());
      for (detail::vault_report& node : view_.nodes) {
        for (auto& commit : node.commits) commit.is_damaged |= commit.id == id;
      }
    };
    commands["restored"] = [this](scenario_command& command) {
      detail::vault_report& node = node_named(command.take_value("node", view_.nodes[0].node));
      node.restores = static_cast<int>(integer_of(command.take_value("times")));
      node.restored = generation_of(command.take());
    };
    commands["vote"] = [this](scenario_command& command) { vote(command); };
    commands["start"] = [this](scenario_command&) { start(); };
    commands["slots"] = [this](scenario_command& command) { lay_out(command); };
    commands["complete"] = [this](scenario_command& command) {
      slots_.complete = generation_of(command.take());
    };
    commands["limit"] = [this](scenario_command& command) {
      slots_.used = static_cast<std::uint64_t>(integer_of(command.take_value("used", "0")));
      slots_.limit = static_cast<std::uint64_t>(integer_of(command.take()));
    };
    commands["commit"] = [this](scenario_command& command) {
      slots_.needed = static_cast<std::uint64_t>(integer_of(command.take()));
      const detail::vault_slot_choice choice = next_vault_slot(slots_);
      outputs.add(choice.refusal.empty()
                      ? fmt::format("slot {}{}", choice.slot, choice.is_new ? ", new" : "")
                      : "skipped: " + choice.refusal);
    };
  }

 private:
  void add_node(const std::string& name, int workers) {
    detail::vault_report node;
    node.node = name;
    for (const detail::vault_report& before : view_.nodes) node.base_rank += before.workers;
    node.workers = workers;
    view_.nodes.push_back(node);
  }

  detail::vault_report& node_named(const std::string& name) {
    for (detail::vault_report& node : view_.nodes) {
      if (node.node == name) return node;
    }
    throw std::invalid_argument(fmt::format("there is no node '{}'", name));
  }

  void hold(scenario_command& command) {
    detail::vault_report& node = node_named(command.take_value("node", view_.nodes[0].node));
    const auto world = static_cast<int>(integer_of(command.take_value("world", "2")));
    const auto rank = static_cast<int>(integer_of(command.take()));
    for (const std::string& text : command.take_all()) {
      node.commits.push_back({rank, world, generation_of(text)});
    }
  }

  /// A worker is the number of its last commit, with + if it has the generation, and ~ while it
  /// writes.
  void vote(scenario_command& command) {
    const std::int64_t number = integer_of(command.take());
    std::vector<detail::vault_committer> workers;
    for (std::string text : command.take_all()) {
      detail::vault_committer worker;
      worker.has_it = text.ends_with("+");
      worker.is_writing = text.ends_with("~");
      if (worker.has_it || worker.is_writing) text.pop_back();
      worker.number = integer_of(text);
      workers.push_back(worker);
    }
    constexpr const char* names[] = {"undecided", "kept", "skipped"};
    const detail::vault_vote vote = next_vault_vote(number, workers);
    outputs.add(names[static_cast<std::size_t>(vote)]);
  }

  void start() {
    const detail::vault_step step = next_vault_step(view_);
    for (const auto& dropped : step.given_up) {
      outputs.add(fmt::format("gives up {}: {}", text_of(dropped.id), dropped.reason));
    }
    outputs.add(step.restore ? "restores " + text_of(*step.restore) : "nothing to restore");
  }

  void lay_out(scenario_command& command) {
    std::size_t next = 0;
    slots_.slots = {};
    for (const std::string& text : command.take_all()) {
      if (text == "pending") {
        slots_.slots.at(next - 1).is_pending = true;
      } else if (text.starts_with("e")) {
        slots_.slots.at(next - 1).id = generation_of(text);
      } else {
        slots_.slots.at(next++).bytes = static_cast<std::uint64_t>(integer_of(text));
      }
    }
  }

  detail::vault_view view_;
  detail::vault_slot_view slots_;
};

TEST_CASE("vault step: scenarios", "[vault]") {
  test::check_scenarios("vault.txt", [] { return std::make_unique<vault_subject>(); });
}

TEST_CASE("vault step: no size of a commit overflows", "[vault]") {
  detail::vault_slot_view view;
  view.limit = std::numeric_limits<std::uint64_t>::max();
  view.needed = std::numeric_limits<std::uint64_t>::max() / 2 + 1;
  CHECK_FALSE(next_vault_slot(view).refusal.empty());
  view.needed = std::numeric_limits<std::uint64_t>::max() / 2;
  CHECK(next_vault_slot(view).refusal.empty());
}

TEST_CASE("vault step: memory is told in units that people read", "[vault]") {
  CHECK(detail::memory_text(0) == "0 bytes");
  CHECK(detail::memory_text(1023) == "1023 bytes");
  CHECK(detail::memory_text(1536) == "1.5 KiB");
  CHECK(detail::memory_text(std::uint64_t{3} << 30) == "3.0 GiB");
  CHECK(detail::memory_text(std::uint64_t{3000} << 40) == "3000.0 TiB");
}

}  // namespace vault_step_test

}  // namespace
}  // namespace elastic
