// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/fencing.hpp>
#include <elastic/nodes/detail/vote_machine.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace elastic::test {

/// A few candidates that elect a leader, under a simulated clock. A seed decides the network and
/// the lives of the candidates. Forbidden behaviour is detected from outside.
class vote_world {
 public:
  using machine = detail::vote_machine;

  explicit vote_world(std::uint64_t seed) : random_(seed) {
    settings_.keep_alive_interval = std::chrono::seconds(1 + below(5));
    settings_.keep_alive_max_attempt = 2 + static_cast<int>(below(3));
    lives_.resize(below(3) == 0 ? 5 : 3);
    for (std::size_t place = 0; place < lives_.size(); ++place) {
      at(milliseconds(below(3000)), [this, place] { start(place); });
    }
    const std::size_t faults = below(10);
    for (std::size_t fault = 0; fault < faults; ++fault) {
      at(milliseconds(1000 + below(80'000)), [this] { trouble(); });
    }
  }

  /// Runs to the end. Result: the first violation; empty if there is none.
  std::string run() {
    const time_point calm = now_ + std::chrono::seconds(90);
    const time_point end = calm + 4 * settings_.silence() + std::chrono::seconds(10);
    while (complaint_.empty() && now_ < end) {
      const time_point due = events_.empty() ? end : events_.begin()->first.first;
      const time_point before = now_;
      now_ = std::min({due, now_ < calm ? calm : end, next_deadline()});
      if (before < calm && now_ >= calm) mend();
      if (!events_.empty() && events_.begin()->first.first <= now_) {
        const auto event = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        event();
      }
      for (std::size_t place = 0; place < lives_.size(); ++place) {
        life& of = lives_[place];
        if (of.is_alive && of.paused_until <= now_ && of.core->next_deadline() <= clock(of)) {
          of.core->advance(clock(of));
          flush(place);
        }
      }
      judge();
    }
    const auto serves = [this](const life& of) {
      return of.is_alive && of.core->serves() && of.core->term() >= most_term_;
    };
    if (complaint_.empty() && std::none_of(lives_.begin(), lives_.end(), serves)) {
      complain(
          fmt::format("nobody leads whom nodes take that know of term {}, and nothing prevents "
                      "it",
                      most_term_));
    }
    return complaint_;
  }

  int rounds() const { return static_cast<int>(most_rounds_); }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// The workers of a node, in a round that the candidate `maker` made. How long they may run
  /// follows from when the maker became unreachable and when the node learned of an end.
  struct run_of_node {
    std::uint64_t maker;
    std::size_t place;
    std::int64_t round;
    /// Whether its workers end when they are told to, rather than when they are killed.
    bool ends_at_once = true;
    std::optional<time_point> out_since = std::nullopt;
    std::optional<time_point> ended_at = std::nullopt;
    /// Whether the maker itself reported that it no longer leads.
    bool was_told = false;
  };

  struct life {
    std::optional<machine> core;
    bool is_alive = false;
    std::uint64_t number = 0;
    duration offset{};
    std::int64_t drift = 0;
    time_point born;
    time_point paused_until = time_point::min();
    std::deque<std::function<void()>> held;
    // The judge's knowledge.
    bool acts = false;
    std::optional<time_point> workers_until;
    bool has_met = false;
    time_point woken_at = time_point::min();
    // While it leads: since when, by its clock, and the nodes of the next round.
    time_point leads_since;
    std::optional<std::vector<std::uint64_t>> placing;
    /// The run of its node's workers; empty if there are none.
    std::optional<run_of_node> run;
  };

  /// One connection, from the client to the server.
  struct wire {
    bool is_up = false;
    /// Whether the client knows that it is down.
    bool is_known_down = false;
    std::uint64_t generation = 0;
    bool is_cut = false;
    std::deque<std::function<void()>> held;
    time_point last_there;
    time_point last_back;
  };

  static duration milliseconds(std::uint64_t count) { return std::chrono::milliseconds(count); }
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  void at(duration after, std::function<void()> event) {
    events_.emplace(std::pair(now_ + after, next_event_++), std::move(event));
  }
  void note(const std::string& text) {
    notes_.push_back(
        fmt::format("{:.4f} {}", std::chrono::duration<double>(now_ - begin_).count(), text));
  }
  void complain(const std::string& text) {
    if (complaint_.empty()) complaint_ = text;
    note("WRONG: " + text);
  }

  // ---- time -----------------------------------------------------------------------------------

  time_point clock(const life& of) const {
    const auto passed = now_ - of.born;
    return now_ + of.offset + passed / 100'000 * of.drift;
  }
  time_point next_deadline() const {
    time_point next = time_point::max();
    for (const life& of : lives_) {
      if (!of.is_alive || of.core->next_deadline() == time_point::max()) continue;
      const duration wait = of.core->next_deadline() - clock(of);
      const time_point due = now_ + std::max<duration>(wait, std::chrono::microseconds(10));
      next = std::min(next, std::max(due, of.paused_until));
    }
    return next;
  }

  // ---- candidates -----------------------------------------------------------------------------

  void start(std::size_t place) {
    life& of = lives_[place];
    if (of.is_alive) return;
    of = life();
    of.is_alive = true;
    of.number = ++last_number_;
    of.born = now_;
    of.offset = std::chrono::seconds(below(1000));
    of.drift = static_cast<std::int64_t>(below(1801)) - 900;
    machine::options options;
    options.self = static_cast<int>(place);
    options.candidates = static_cast<int>(lives_.size());
    options.settings = settings_;
    options.node = of.number;
    options.has_restarted = was_there_.count(place) != 0;
    options.seed = random_.next();
    // Sometimes sets the time of day back, if a majority knows the newest term.
    const bool is_set_back = below(10) == 0 && (most_term_ == 0 || majority_remembers());
    const std::int64_t wall = is_set_back ? 0 : now_.time_since_epoch().count() / 1'000'000;
    of.core.emplace(options, clock(of), wall);
    was_there_.insert(place);
    note(fmt::format("{} starts", place));
    for (std::size_t other = 0; other < lives_.size(); ++other) {
      if (other == place) continue;
      connect_later(place, other);
      connect_later(other, place);
    }
  }

  bool majority_remembers() const {
    const auto remembers = [](const life& of) {
      return of.core && of.is_alive && !of.core->is_blank();
    };
    const auto count = std::count_if(lives_.begin(), lives_.end(), remembers);
    return static_cast<std::size_t>(count) >= lives_.size() / 2 + 1;
  }

  void kill(std::size_t place) {
    life& of = lives_[place];
    if (!of.is_alive) return;
    note(fmt::format("{} dies", place));
    of.is_alive = false;
    of.acts = false;
    of.workers_until.reset();
    end_wires(place);
    if (below(3) != 0)
      at(milliseconds(1 + below(below(2) == 0 ? 1000 : 20'000)), [this, place] { start(place); });
  }

  // Its agent leaves cleanly, after its workers.
  void retire(std::size_t place) {
    life& of = lives_[place];
    if (!is_awake(place)) return;
    note(fmt::format("{} leaves", place));
    of.run.reset();
    of.core->retire(false, clock(of));
    flush(place);
    of.acts = false;
    const duration last_words = milliseconds(below(200));
    at(last_words, [this, place, number = of.number] {
      if (lives_[place].number == number) kill(place);
    });
  }

  // ---- the network ----------------------------------------------------------------------------

  wire& between(std::size_t from, std::size_t to) { return wires_[{from, to}]; }
  duration delay() { return std::chrono::microseconds(below(below(20) == 0 ? 100'000 : 2'000)); }

  void connect_later(std::size_t from, std::size_t to) {
    at(milliseconds(5) + delay(), [this, from, to] { connect(from, to); });
  }

  void connect(std::size_t from, std::size_t to) {
    wire& line = between(from, to);
    if (line.is_up || !lives_[from].is_alive) return;
    if (!lives_[to].is_alive || line.is_cut || between(to, from).is_cut) {
      at(milliseconds(100) + delay(), [this, from, to] { connect(from, to); });
      return;
    }
    line = wire();
    line.is_up = true;
    line.generation = ++last_generation_;
    const std::uint64_t number = lives_[from].number;
    send(from, to, true, [this, from, to, number] {
      lives_[to].core->entered(static_cast<int>(from), number, clock(lives_[to]));
    });
    tell(from, [this, from, to] {
      lives_[from].core->reached(static_cast<int>(to), clock(lives_[from]));
    });
  }

  // Ends a connection. Both ends learn of it, one of them possibly later.
  void end_wire(std::size_t from, std::size_t to, bool may_reconnect, duration later = {}) {
    wire& line = between(from, to);
    if (!line.is_up) return;
    line.is_up = false;
    line.held.clear();
    const std::uint64_t generation = line.generation;
    const auto there = [this, from, to] {
      lives_[to].core->left(static_cast<int>(from), clock(lives_[to]));
    };
    const auto here = [this, from, to] {
      between(from, to).is_known_down = true;
      lives_[from].core->lost(static_cast<int>(to), clock(lives_[from]));
    };
    after_end(to, generation, from, to, {}, there);
    after_end(from, generation, from, to, later, here);
    if (!may_reconnect) return;
    at(later + milliseconds(25) + delay(), [this, from, to] { connect(from, to); });
  }

  void end_wires(std::size_t place) {
    for (std::size_t other = 0; other < lives_.size(); ++other) {
      if (other == place) continue;
      end_wire(place, other, true);
      end_wire(other, place, true);
    }
  }

  // Isolates a machine that keeps running.
  void end_wires_for(std::size_t place, duration span) {
    for (std::size_t other = 0; other < lives_.size(); ++other) {
      if (other == place) continue;
      end_wire(place, other, false);
      end_wire(other, place, false);
      at(span, [this, place, other] { connect(place, other); });
      at(span, [this, place, other] { connect(other, place); });
    }
  }

  void after_end(std::size_t place, std::uint64_t generation, std::size_t from, std::size_t to,
                 duration later, std::function<void()> message) {
    const std::uint64_t number = lives_[place].number;
    at(later + std::chrono::microseconds(below(20'000)), [this, place, number, generation, from, to,
                                                          message] {
      const bool is_newer = between(from, to).is_up && between(from, to).generation != generation;
      if (lives_[place].number == number && !is_newer) tell(place, message);
    });
  }

  // Sends a message; messages stay in order, as over TCP.
  void send(std::size_t from, std::size_t to, bool is_question, std::function<void()> message) {
    wire& line = is_question ? between(from, to) : between(to, from);
    if (!line.is_up) return;
    time_point& last = is_question ? line.last_there : line.last_back;
    last = std::max(now_ + delay(), last + std::chrono::nanoseconds(1));
    const std::uint64_t generation = line.generation;
    const std::uint64_t number = lives_[to].number;
    at(last - now_, [this, from, to, is_question, generation, number, message] {
      wire& at_arrival = is_question ? between(from, to) : between(to, from);
      if (at_arrival.generation != generation || !at_arrival.is_up) return;
      if (lives_[to].number != number) return;
      if (between(from, to).is_cut) {
        between(from, to).held.push_back([this, to, message] { tell(to, message); });
      } else {
        tell(to, message);
      }
    });
  }

  void tell(std::size_t place, const std::function<void()>& message) {
    life& of = lives_[place];
    if (!of.is_alive) return;
    if (of.paused_until > now_) {
      of.held.push_back(message);
      return;
    }
    message();
    flush(place);
  }

  void flush(std::size_t place) {
    machine& core = *lives_[place].core;
    for (auto& question : core.take_questions()) {
      const auto to = static_cast<std::size_t>(question.to);
      send(place, to, true, [this, place, to, request = question.request] {
        std::visit([&](const auto& message) { take(place, to, message); }, request);
      });
    }
    for (auto& reply : core.take_replies()) {
      const auto to = static_cast<std::size_t>(reply.to);
      send(place, to, false, [this, place, to, answer = reply.answer] {
        std::visit([&](const auto& message) { take(place, to, message); }, answer);
      });
    }
    for (const auto& event : core.take_notes()) note(fmt::format("{} {}", place, event.text));
    work(place);
  }

  template <class Message>
  void take(std::size_t from, std::size_t to, const Message& message) {
    if constexpr (requires(machine& core) { core.received(0, message, time_point()); }) {
      lives_[to].core->received(static_cast<int>(from), message, clock(lives_[to]));
    }
  }

  // ---- faults ---------------------------------------------------------------------------------

  void trouble() {
    const std::size_t place = below(lives_.size());
    const std::size_t other = (place + 1 + below(lives_.size() - 1)) % lives_.size();
    const duration span = milliseconds(1 + below(25'000));
    switch (below(12)) {
      case 10: retire(place); break;
      case 11: retire_but(leader_or(place)); break;
      case 8: seek(); break;
      case 9: end_two_leaders(place, span); break;
      case 0:
      case 1: kill(place); break;
      case 2:
        end_wire(place, other, true);
        end_wire(other, place, true);
        break;
      case 3:
        note(fmt::format("{} stands still", place));
        lives_[place].paused_until = now_ + span;
        at(span, [this, place] { wake(place); });
        break;
      case 4: cut(place, other, span); break;
      case 5:
        note(fmt::format("one end of the connection from {} to {} breaks", place, other));
        end_wire(place, other, true, span);
        break;
      case 6:
        cut(place, other, span);
        cut(other, place, span);
        break;
      default: cut_off(place, span);
    }
  }

  // Cuts off a leader; its successor leads only for a moment.
  void end_two_leaders(std::size_t place, duration span) {
    is_next_cut_ = true;
    cut_off(leader_or(place), span + settings_.silence());
  }

  // Retires all candidates but one, as if the whole job were told to end and this one took longest
  // to save.
  void retire_but(std::size_t last) {
    for (std::size_t place = 0; place < lives_.size(); ++place) {
      if (place == last) continue;
      at(milliseconds(below(3000)), [this, place] { retire(place); });
    }
  }

  std::size_t leader_or(std::size_t other) const {
    const auto acts = [](const life& of) { return of.is_alive && of.acts; };
    const auto leader = std::find_if(lives_.begin(), lives_.end(), acts);
    return leader == lives_.end() ? other : static_cast<std::size_t>(leader - lives_.begin());
  }

  void cut_off(std::size_t place, duration span) {
    for (std::size_t other = 0; other < lives_.size(); ++other) {
      if (other == place) continue;
      cut(place, other, span);
      cut(other, place, span);
    }
  }

  // Delays all bytes of a connection silently.
  void cut(std::size_t from, std::size_t to, duration span) {
    note(fmt::format("nothing gets from {} to {}", from, to));
    between(from, to).is_cut = true;
    at(span, [this, from, to] { uncut(from, to); });
  }

  void uncut(std::size_t from, std::size_t to) {
    wire& line = between(from, to);
    if (!std::exchange(line.is_cut, false)) return;
    const auto held = std::exchange(line.held, {});
    for (const auto& message : held) message();
  }

  // Nodes without a leader ask all candidates.
  void seek() {
    for (std::size_t place = 0; place < lives_.size(); ++place) {
      tell(place,
           [this, place] { lives_[place].core->observe_term(most_term_, clock(lives_[place])); });
    }
  }

  void wake(std::size_t place) {
    life& of = lives_[place];
    if (!of.is_alive || of.paused_until > now_) return;
    of.paused_until = time_point::min();
    of.woken_at = now_;
    // Time first: a process that wakes up checks the clock before it trusts what it reads.
    of.core->advance(clock(of));
    flush(place);
    const auto held = std::exchange(of.held, {});
    for (const auto& message : held) tell(place, message);
  }

  void mend() {
    note("the troubles are over");
    for (auto& [ends, line] : wires_) uncut(ends.first, ends.second);
    for (std::size_t place = 0; place < lives_.size(); ++place) {
      if (!lives_[place].is_alive) start(place);
      lives_[place].paused_until = time_point::min();
      wake(place);
    }
    seek();
  }

  // ---- leaders and the judge --------------------------------------------------------------------

  // Makes the next round as soon as the last one is stored.
  void work(std::size_t place) {
    life& of = lives_[place];
    machine& core = *of.core;
    if (!core.serves()) {
      of.has_met = false;
      of.placing.reset();
      return;
    }
    const bool is_first = !std::exchange(of.has_met, true);
    if (is_first) of.leads_since = clock(of);
    if (is_first && std::exchange(is_next_cut_, false)) {
      at(milliseconds(below(1000)), [this, place] { end_wires_for(place, milliseconds(400)); });
    }
    const bool may_run = now_ - acted_ < settings_.silence() * 97 / 100;
    if (is_first && core.value().round < kept_round_ && !core.value().is_uncertain && may_run) {
      complain(fmt::format("{} leads on from round {}, and a majority had kept {}", place,
                           core.value().round, kept_round_));
    }
    if (!core.is_kept() || core.value().is_uncertain) return;
    // No candidate knows the round any more, and no node runs it.
    const bool is_forgotten = core.value().round < kept_round_;
    if (is_forgotten && may_run) {
      complain(fmt::format("{} begins anew at round {}, while round {} may run", place,
                           core.value().round, kept_round_));
    }
    kept_round_ = core.value().round;
    most_rounds_ = std::max(most_rounds_, kept_round_);
    place_nodes(place);
    meet_after(place, milliseconds(below(below(2) == 0 ? 400 : 4000)));
  }

  void meet_after(std::size_t place, duration delay) {
    if (is_asked_) return;
    is_asked_ = true;
    at(delay, [this, place, number = lives_[place].number] {
      is_asked_ = false;
      if (lives_[place].number == number && is_awake(place)) meet(place);
    });
  }

  // Begins the next round with all reachable nodes, once no node of the last round can have
  // workers.
  void meet(std::size_t place) {
    life& of = lives_[place];
    if (!of.core->serves()) return;
    detail::round_register next = of.core->value();
    std::vector<std::uint64_t> joined;
    for (std::size_t other = 0; other < lives_.size(); ++other) {
      life& node = lives_[other];
      if (!node.is_alive) continue;
      const auto is_it = [&](std::uint64_t member) { return member == node.number; };
      const bool is_member = std::any_of(next.members.begin(), next.members.end(), is_it);
      if (may_join(other, place)) {
        node.run.reset();
        joined.push_back(node.number);
      } else if (is_member && clock(of) < silent_since(node, of) + settings_.silence()) {
        return meet_after(place, milliseconds(200));
      }
    }
    ++next.round;
    next.members = joined;
    next.leader_node = of.number;
    of.placing = joined;
    of.core->propose(next, clock(of));
    flush(place);
  }

  // Since when a node has been silent, as far as the leader can know: in its own rounds, it heard
  // everything until the end.
  time_point silent_since(const life& node, const life& leader) const {
    const bool is_own = node.run && node.run->maker == leader.number && node.run->out_since;
    if (!is_own) return leader.leads_since;
    const duration passed = now_ - *node.run->out_since;
    return clock(leader) - passed - passed / 100'000 * leader.drift;
  }

  bool is_awake(std::size_t place) const {
    return lives_[place].is_alive && lives_[place].paused_until <= now_;
  }

  bool in_reach(std::size_t node, std::size_t leader) {
    if (!is_awake(node) || !is_awake(leader)) return false;
    if (node == leader) return true;
    const wire& line = between(node, leader);
    return line.is_up && !line.is_cut && !between(leader, node).is_cut;
  }

  // Whether a node has joined, which it does once it has given up the leader of its workers.
  bool may_join(std::size_t place, std::size_t leader) {
    if (!in_reach(place, leader)) return false;
    const auto& run = lives_[place].run;
    if (!run || run->maker == lives_[leader].number || run->ended_at) return true;
    const duration notice = detail::fencing::of_silence(settings_.silence()).notice;
    return run->ends_at_once && run->out_since && now_ >= *run->out_since + notice;
  }

  // Starts the workers of a round that a majority has stored.
  void place_nodes(std::size_t place) {
    life& of = lives_[place];
    if (!of.placing) return;
    const auto members = *std::exchange(of.placing, std::nullopt);
    const run_of_node started{of.number, place, of.core->value().round};
    for (const std::uint64_t number : members) {
      for (std::size_t other = 0; other < lives_.size(); ++other) {
        const bool is_it = lives_[other].number == number && in_reach(other, place);
        if (is_it) start_workers(other, started);
      }
    }
  }

  // Whether a node stood still: its workers end a moment after it wakes.
  bool stood_still(const life& of) const {
    return of.paused_until > now_ || now_ < of.woken_at + std::chrono::milliseconds(250);
  }

  void start_workers(std::size_t place, const run_of_node& started) {
    keep_runs();
    for (std::size_t other = 0; other < lives_.size(); ++other) {
      const life& with = lives_[other];
      if (!with.run || stood_still(with)) continue;
      if (with.run->maker == started.maker && with.run->round == started.round) continue;
      complain(fmt::format("{} starts workers of round {} while {} has some of round {}", place,
                           started.round, other, with.run->round));
    }
    lives_[place].run = started;
    lives_[place].run->ends_at_once = started.round % 2 == 0;
  }

  // Checks that workers without a responsible leader end in time.
  void keep_runs() {
    for (std::size_t place = 0; place < lives_.size(); ++place) {
      life& node = lives_[place];
      if (!node.is_alive) node.run.reset();
      if (!node.run) continue;
      run_of_node& run = *node.run;
      const life& maker = lives_[run.place];
      const bool is_there = maker.is_alive && maker.number == run.maker;
      const bool is_reached = is_there && in_reach(place, run.place);
      if (is_reached && maker.acts) {
        run.out_since.reset();
        run.ended_at.reset();
        run.was_told = false;
        continue;
      }
      if (!run.out_since) run.out_since = now_;
      const bool is_own = place == run.place;
      const bool is_hung_up = is_reached && !is_own && !maker.core->serves();
      const bool hears_end = is_hung_up || between(place, run.place).is_known_down;
      if (hears_end && is_awake(place) && !run.ended_at) run.ended_at = now_;
      if (is_hung_up && is_awake(place)) run.was_told = true;
      if (now_ >= last_moment(run, is_own)) node.run.reset();
    }
  }

  // The time by which workers are gone, by the slowest clock.
  time_point last_moment(const run_of_node& run, bool is_own) const {
    const duration grace = settings_.reconnect_grace;
    const auto slowly = [](duration time) { return time / 100 * 101; };
    if (is_own) return *run.out_since + slowly(detail::fencing::of_step_down(grace).kill);
    const duration silent = slowly(detail::fencing::of_silence(settings_.silence()).kill);
    const time_point last = *run.out_since + silent;
    if (!run.ended_at || run.was_told) return last;
    return std::min(last, *run.ended_at + slowly(detail::fencing::of_end(grace).kill));
  }

  void judge() {
    for (std::size_t place = 0; place < lives_.size(); ++place) {
      life& of = lives_[place];
      if (!of.is_alive) continue;
      const bool is_awake = of.paused_until <= now_;
      const bool acts = is_awake && of.core->serves() && clock(of) < of.core->lease_end();
      if (acts && of.core->value().round >= kept_round_) acted_ = now_;
      if (acts && !of.acts) {
        most_term_ = std::max(most_term_, of.core->term());
        if (terms_.emplace(of.core->term(), of.number).first->second != of.number) {
          complain(fmt::format("{} leads in term {}, which was before", place, of.core->term()));
        }
        for (std::size_t other = 0; other < lives_.size(); ++other) {
          const life& with = lives_[other];
          if (other == place || !with.is_alive || with.paused_until > now_) continue;
          if (with.acts) complain(fmt::format("{} and {} lead at once", other, place));
          if (with.workers_until && now_ < *with.workers_until) {
            complain(fmt::format("{} leads while workers of {}, which led, run", place, other));
          }
        }
      }
      if (of.acts && !acts && !stood_still(of)) {
        of.workers_until = now_ + settings_.reconnect_grace / 4;
      }
      of.acts = acts;
    }
    keep_runs();
  }

  detail::random_source random_;
  rendezvous_settings settings_;
  time_point begin_{std::chrono::hours(1)};
  time_point now_ = begin_;
  std::map<std::pair<time_point, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t next_event_ = 0;
  std::vector<life> lives_;
  std::map<std::pair<std::size_t, std::size_t>, wire> wires_;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_generation_ = 0;
  std::set<std::size_t> was_there_;
  bool is_asked_ = false;
  bool is_next_cut_ = false;
  std::int64_t kept_round_ = -1;
  std::int64_t most_rounds_ = 0;
  /// When a leader that knew the newest round last acted.
  time_point acted_;
  /// The leader of each term.
  std::map<std::int64_t, std::uint64_t> terms_;
  /// The highest term that a node can know.
  std::int64_t most_term_ = 0;
  std::string complaint_;
  std::vector<std::string> notes_;
};

}  // namespace elastic::test
