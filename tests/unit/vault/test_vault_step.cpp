// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The decisions of the vault: what workers restore, and which slot a commit overwrites.

#include <elastic/vault/detail/vault_step.hpp>
#include <support/catch.hpp>
#include <support/scenario.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace vault_step_test {

using detail::next_vault_slot;
using detail::next_vault_step;
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
    view_.world_size = 2;
    commands["has"] = [this](scenario_command& command) { hold(command); };
    commands["damaged"] = [this](scenario_command& command) {
      view_.damaged.push_back(generation_of(command.take()));
    };
    commands["restored"] = [this](scenario_command& command) {
      view_.restores = static_cast<int>(integer_of(command.take_value("times")));
      view_.restored = generation_of(command.take());
    };
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
  void hold(scenario_command& command) {
    const auto world = static_cast<int>(integer_of(command.take_value("world", "2")));
    const auto rank = static_cast<int>(integer_of(command.take()));
    for (const std::string& text : command.take_all()) {
      view_.commits.push_back({rank, world, generation_of(text)});
    }
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
