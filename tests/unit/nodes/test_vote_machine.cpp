// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/vote_machine.hpp>

#include <support/catch.hpp>
#include <support/scenario.hpp>
#include <support/simulation_seeds.hpp>
#include <support/vote_world.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vote_machine_tests {

using namespace elastic::detail::candidate_messages;
namespace messages = elastic::detail::candidate_messages;
using elastic::duration;
using elastic::time_point;
using elastic::detail::round_register;
using elastic::detail::vote_machine;
using elastic::detail::vote_role;
using elastic::test::duration_of;
using elastic::test::integer_of;
using elastic::test::number_from;
using elastic::test::scenario_command;
using elastic::test::text_of;
using elastic::test::vote_world;

/// A message of a candidate in words.
struct vote_words {
  std::string operator()(const messages::vote& request) const {
    return fmt::format("{} in term {}{}?", request.is_prevote ? "would you vote" : "do you vote",
                       request.term, request.starts_job ? ", which begins the job" : "");
  }
  std::string operator()(const messages::write& request) const {
    return fmt::format("register {}.{}", request.term, request.value.sequence);
  }
  std::string operator()(const resign& request) const {
    return fmt::format("resigns from term {}{}", request.term, request.is_done ? ", done" : "");
  }
  std::string operator()(const retire& request) const {
    return fmt::format("leaves {} after the write of {} in term {}", text_of(request.since_then),
                       text_of(duration(request.stamp)), request.term);
  }
  std::string operator()(const grant& answer) const {
    const std::string word = answer.is_granted ? "yes" : "no";
    return answer.is_prevote ? "would vote: " + word
                             : fmt::format("votes in term {}: {}", answer.term, word);
  }
  std::string operator()(const ack& answer) const {
    if (answer.is_taken) return fmt::format("takes {}.{}", answer.term, answer.sequence);
    return fmt::format("refuses term {}, knows of {}", answer.term, answer.own_term);
  }
  template <class Other>
  std::string operator()(const Other&) const {
    throw std::logic_error("a vote machine does not send this");
  }
};

/// A candidate of three, and what the two others say to it: tests/scenarios/votes.txt says what the
/// commands mean.
class vote_subject : public elastic::test::scenario_subject {
 public:
  vote_subject() {
    begin(0);
    add_connections();
    add_questions();
    add_answers();
    add_others();
  }

 private:
  static int peer_of(const std::string& text) { return static_cast<int>(integer_of(text)); }

  void begin(int self) {
    vote_machine::options chosen;
    chosen.self = self;
    chosen.candidates = 3;
    chosen.node = 50;
    core_.emplace(chosen, now_, 1000);
    for (int peer = 0; peer < 3; ++peer) {
      if (peer == self) continue;
      core_->reached(peer, now_);
      core_->entered(peer, 100 + static_cast<std::uint64_t>(peer), now_);
    }
  }

  // ---- commands ---------------------------------------------------------------------------------

  template <class Act>
  void add(const char* name, Act act) {
    commands[name] = [this, act](scenario_command& command) {
      act(command);
      collect();
    };
  }
  // A command for each of the candidates that it names.
  template <class Act>
  void add_each(const char* name, Act act) {
    add(name, [act](scenario_command& command) {
      for (const std::string& peer : command.take_all()) act(peer_of(peer));
    });
  }

  void add_connections() {
    add("candidate", [this](auto& command) { begin(peer_of(command.take())); });
    add_each("reached", [this](int peer) { core_->reached(peer, now_); });
    add_each("lost", [this](int peer) { core_->lost(peer, now_); });
    add_each("left", [this](int peer) { core_->left(peer, now_); });
    add_each("replaced", [this](int peer) { core_->entered(peer, 999, now_); });
    add_each("replaced-elsewhere", [this](int peer) { core_->entered(peer, 999, now_, false); });
  }

  void add_questions() {
    add_each("asks", [this](int peer) {
      core_->received(peer, messages::vote{1'000'000, true, false}, now_);
    });
    add("runs", [this](auto& command) {
      const messages::vote request{integer_of(command.take_value("term")), false, false};
      core_->received(peer_of(command.take()), request, now_);
    });
    add("writes", [this](auto& command) {
      const round_register value = take_register(command);
      core_->received(peer_of(command.take()), messages::write{value.term, 3, value}, now_);
    });
    add("resigns", [this](auto& command) {
      const resign word{integer_of(command.take_value("term")), false};
      core_->received(peer_of(command.take()), word, now_);
    });
    add("leaves", [this](auto& command) {
      const duration since = duration_of(command.take_value("since"));
      const std::int64_t stamp = taken_at_.time_since_epoch().count();
      core_->received(peer_of(command.take()), retire{core_->term(), stamp, since}, now_);
    });
  }

  void add_answers() {
    add("would-vote", [this](auto& command) { answer(command, true, true); });
    add("would-not-vote", [this](auto& command) { answer(command, true, false); });
    add("votes", [this](auto& command) { answer(command, false, true); });
    add("does-not-vote", [this](auto& command) { answer(command, false, false); });
    add_each("takes", [this](int peer) {
      taken_at_ = now_;
      acknowledge(peer, true, 0);
    });
    add("knows-later-term", [this](auto& command) {
      const int peer = peer_of(command.take());
      acknowledge(peer, false, core_->term() + integer_of(command.take()));
    });
  }

  void add_others() {
    add("pass", [this](auto& command) { pass(duration_of(command.take())); });
    add("try", [this](auto&) {
      while (core_->role() == vote_role::follows) advance(core_->next_deadline());
    });
    commands["lead"] = [this](auto&) {
      carry_out("try; would-not-vote 1 2 blank; votes 1 blank; takes 1");
    };
    add("node-knows", [this](auto& command) {
      core_->observe_term(integer_of(command.take_value("term")), now_);
    });
    add("node-knows-later-term", [this](auto& command) {
      core_->observe_term(core_->term() + integer_of(command.take()), now_);
    });
    add("propose", [this](auto& command) {
      round_register next = core_->value();
      set_round(next, command);
      if (!core_->propose(next, now_)) outputs.add("nothing new");
    });
    add("retire", [this](auto&) { core_->retire(false, now_); });
    add("retire-after-job", [this](auto&) { core_->retire(true, now_); });
    add("state", [this](auto&) { outputs.add(state_text()); });
  }

  // ---- inputs -----------------------------------------------------------------------------------

  // Whether one of the words says so.
  static bool take_word(std::vector<std::string>& words, const std::string& word) {
    return std::erase(words, word) > 0;
  }

  void answer(scenario_command& command, bool is_prevote, bool is_granted) {
    grant word;
    word.term = is_prevote ? 0 : core_->term();
    word.is_prevote = is_prevote;
    word.is_granted = is_granted;
    const std::string term = command.take_value("term");
    if (!term.empty()) {
      word.value = take_register(command);
      word.value->term = integer_of(term);
    }
    std::vector<std::string> peers = command.take_all();
    word.is_blank = take_word(peers, "blank");
    word.has_restarted = take_word(peers, "restarted");
    for (const std::string& peer : peers) core_->received(peer_of(peer), word, now_);
  }

  void acknowledge(int peer, bool is_taken, std::int64_t own_term) {
    const std::int64_t sequence = is_taken ? core_->value().sequence : 0;
    const std::int64_t stamp = is_taken ? now_.time_since_epoch().count() : 0;
    const ack word{core_->term(), is_taken, sequence, stamp, own_term};
    core_->received(peer, word, now_);
  }

  static round_register take_register(scenario_command& command) {
    round_register value;
    value.term = integer_of(command.take_value("term", "0"));
    value.sequence = integer_of(command.take_value("sequence", "1"));
    value.is_uncertain = command.take_value("doubt") == "yes";
    value.leader_node = static_cast<std::uint64_t>(integer_of(command.take_value("maker", "0")));
    set_round(value, command);
    return value;
  }

  static void set_round(round_register& value, scenario_command& command) {
    value.round = integer_of(command.take_value("round", "-1"));
    value.members.clear();
    for (std::string rest = command.take_value("members"); !rest.empty();) {
      const auto comma = std::min(rest.find(','), rest.size());
      value.members.push_back(static_cast<std::uint64_t>(integer_of(rest.substr(0, comma))));
      rest.erase(0, comma + 1);
    }
  }

  void pass(duration time) {
    const time_point start = now_;
    const time_point end = now_ + time;
    while (now_ < end) {
      advance(std::min(end, core_->next_deadline()));
      outputs.when = text_of(now_ - start) + " later ";
      collect();
    }
    outputs.when.clear();
  }

  void advance(time_point when) {
    now_ = std::max(now_, when);
    core_->advance(now_);
  }

  // ---- outputs ----------------------------------------------------------------------------------

  void collect() {
    for (const auto& note : core_->take_notes()) outputs.add(note.text);
    for (const auto& question : core_->take_questions()) {
      add_message(question.to, std::visit(vote_words(), question.request));
    }
    for (const auto& reply : core_->take_replies()) {
      add_message(reply.to, std::visit(vote_words(), reply.answer));
    }
  }

  void add_message(int to, const std::string& words) {
    const std::string name = std::to_string(to);
    outputs.add({"to ", {{name, name}}, ": " + words});
  }

  std::string state_text() const {
    static const char* const roles[] = {"follows", "asks", "runs", "leads"};
    std::string text =
        fmt::format("{} in term {}", roles[static_cast<int>(core_->role())], core_->term());
    if (core_->serves()) text += ", serves";
    if (core_->is_done()) text += ", done";
    if (core_->is_blank()) return text + ", blank";
    const round_register& value = core_->value();
    text += fmt::format("; register {}.{}", value.term, value.sequence);
    if (core_->role() == vote_role::leads && !core_->is_kept()) text += ", not kept";
    if (value.is_uncertain) text += ", in doubt";
    if (core_->uncertain_until() > now_)
      text += fmt::format(" for {}", text_of(core_->uncertain_until() - now_));
    if (value.round >= 0)
      text += fmt::format(": round {} of {}", value.round, fmt::join(value.members, ", "));
    if (value.leader_node != 0) text += fmt::format(", made by {}", value.leader_node);
    return text;
  }

  std::optional<vote_machine> core_;
  time_point now_{std::chrono::hours(1)};
  time_point taken_at_ = now_;
};

TEST_CASE("vote machine: scenarios", "[rendezvous]") {
  elastic::test::check_scenarios("votes.txt", [] { return std::make_unique<vote_subject>(); });
}

TEST_CASE("vote machine: whatever happens, one candidate leads and knows the newest round",
          "[rendezvous]") {
  const std::uint64_t first = number_from("ELASTIC_SIMULATION_FIRST", 1);
  const std::uint64_t seeds = number_from("ELASTIC_SIMULATION_SEEDS", 300);
  std::uint64_t rounds = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    vote_world world(seed);
    const std::string complaint = world.run();
    rounds += static_cast<std::uint64_t>(world.rounds());
    if (complaint.empty()) continue;
    for (const std::string& line : world.notes()) UNSCOPED_INFO(line);
    FAIL("seed " << seed << ": " << complaint);
  }
  CHECK(rounds > 10 * seeds);
}

}  // namespace vote_machine_tests
