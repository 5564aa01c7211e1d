// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/random.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/native/detail/vote_machine.hpp>

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

/// A few candidates that choose who of them leads, in a network and with lives that a seed
/// decides, under a clock of its own. What they may never do is judged from outside.
class vote_world {
 public:
  using machine = detail::vote_machine;

  vote_world(std::uint64_t seed, detail::vote_rules rules) : random_(seed), rules_(rules) {
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

  /// Runs to the end. Result: what went wrong first; empty if nothing did.
  std::string run() {
    const time_point calm = now_ + std::chrono::seconds(90);
    const time_point end = calm + 4 * settings_.silence() + std::chrono::seconds(10);
    while (complaint_.empty() && now_ < end) {
      const time_point due = events_.empty() ? end : events_.begin()->first.first;
      const time_point before = now_;
      now_ = std::min({due, now_ < calm ? calm : end, next_deadline()});
      if (before < calm && now_ >= calm) mend();
      if (!events_.empty() && events_.begin()->first.first <= now_) {
        const auto what = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        what();
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
    const auto serves = [](const life& of) { return of.is_alive && of.core->serves(); };
    if (complaint_.empty() && std::none_of(lives_.begin(), lives_.end(), serves)) {
      complain("nobody leads, and nothing prevents it");
    }
    return complaint_;
  }

  int rounds() const { return static_cast<int>(most_rounds_); }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct life {
    std::optional<machine> core;
    bool is_alive = false;
    std::uint64_t number = 0;
    duration offset{};
    std::int64_t drift = 0;
    time_point born;
    time_point paused_until = time_point::min();
    std::deque<std::function<void()>> held;
    // What the judge knows.
    bool acts = false;
    std::optional<time_point> workers_until;
    bool has_met = false;
  };

  /// One connection, from who asks to who answers.
  struct wire {
    bool is_up = false;
    std::uint64_t generation = 0;
    bool is_cut = false;
    std::deque<std::function<void()>> held;
    time_point last_there;
    time_point last_back;
  };

  static duration milliseconds(std::uint64_t count) { return std::chrono::milliseconds(count); }
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  void at(duration after, std::function<void()> what) {
    events_.emplace(std::pair(now_ + after, next_event_++), std::move(what));
  }
  void note(const std::string& what) {
    notes_.push_back(
        fmt::format("{:.4f} {}", std::chrono::duration<double>(now_ - begin_).count(), what));
  }
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what;
    note("WRONG: " + what);
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

  // ---- lives ----------------------------------------------------------------------------------

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
    options.rules = rules_;
    // The time of day is set back now and then.
    const std::int64_t wall = below(10) == 0 ? 0 : now_.time_since_epoch().count() / 1'000'000;
    of.core.emplace(options, clock(of), wall);
    was_there_.insert(place);
    note(fmt::format("{} starts", place));
    for (std::size_t other = 0; other < lives_.size(); ++other) {
      if (other == place) continue;
      connect_later(place, other);
      connect_later(other, place);
    }
  }

  void kill(std::size_t place) {
    life& of = lives_[place];
    if (!of.is_alive) return;
    note(fmt::format("{} dies", place));
    of.is_alive = false;
    of.acts = false;
    of.workers_until.reset();
    for (std::size_t other = 0; other < lives_.size(); ++other) {
      if (other == place) continue;
      end_wire(place, other, true);
      end_wire(other, place, true);
    }
    if (below(3) != 0)
      at(milliseconds(1 + below(below(2) == 0 ? 1000 : 20'000)), [this, place] { start(place); });
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

  // Both ends learn of it, unless one of them is to learn it later.
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
      lives_[from].core->lost(static_cast<int>(to), clock(lives_[from]));
    };
    after_end(to, generation, from, to, {}, there);
    after_end(from, generation, from, to, later, here);
    if (!may_reconnect) return;
    at(later + milliseconds(25) + delay(), [this, from, to] { connect(from, to); });
  }

  void after_end(std::size_t place, std::uint64_t generation, std::size_t from, std::size_t to,
                 duration later, std::function<void()> what) {
    const std::uint64_t number = lives_[place].number;
    at(later + std::chrono::microseconds(below(20'000)), [this, place, number, generation, from, to,
                                                          what] {
      const bool is_newer = between(from, to).is_up && between(from, to).generation != generation;
      if (lives_[place].number == number && !is_newer) tell(place, what);
    });
  }

  // In order, as over TCP.
  void send(std::size_t from, std::size_t to, bool is_question, std::function<void()> what) {
    wire& line = is_question ? between(from, to) : between(to, from);
    if (!line.is_up) return;
    time_point& last = is_question ? line.last_there : line.last_back;
    last = std::max(now_ + delay(), last + std::chrono::nanoseconds(1));
    const std::uint64_t generation = line.generation;
    const std::uint64_t number = lives_[to].number;
    at(last - now_, [this, from, to, is_question, generation, number, what] {
      wire& at_arrival = is_question ? between(from, to) : between(to, from);
      if (at_arrival.generation != generation || !at_arrival.is_up) return;
      if (lives_[to].number != number) return;
      if (between(from, to).is_cut) {
        between(from, to).held.push_back([this, to, what] { tell(to, what); });
      } else {
        tell(to, what);
      }
    });
  }

  void tell(std::size_t place, const std::function<void()>& what) {
    life& of = lives_[place];
    if (!of.is_alive) return;
    if (of.paused_until > now_) {
      of.held.push_back(what);
      return;
    }
    what();
    flush(place);
  }

  void flush(std::size_t place) {
    machine& core = *lives_[place].core;
    for (auto& one : core.take_questions()) {
      const auto to = static_cast<std::size_t>(one.to);
      send(place, to, true, [this, place, to, what = one.what] {
        std::visit([&](const auto& said) { take(place, to, said); }, what);
      });
    }
    for (auto& one : core.take_replies()) {
      const auto to = static_cast<std::size_t>(one.to);
      send(place, to, false, [this, place, to, what = one.what] {
        std::visit([&](const auto& said) { take(place, to, said); }, what);
      });
    }
    for (const std::string& line : core.take_notes()) note(fmt::format("{} {}", place, line));
    work(place);
  }

  template <class Message>
  void take(std::size_t from, std::size_t to, const Message& said) {
    if constexpr (requires(machine& core) { core.received(0, said, time_point()); }) {
      lives_[to].core->received(static_cast<int>(from), said, clock(lives_[to]));
    }
  }

  // ---- troubles -------------------------------------------------------------------------------

  void trouble() {
    const std::size_t place = below(lives_.size());
    const std::size_t other = (place + 1 + below(lives_.size() - 1)) % lives_.size();
    const duration span = milliseconds(1 + below(25'000));
    switch (below(8)) {
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
      default:
        for (std::size_t each = 0; each < lives_.size(); ++each) {
          if (each == place) continue;
          cut(place, each, span);
          cut(each, place, span);
        }
    }
  }

  // Bytes wait, and nobody is told.
  void cut(std::size_t from, std::size_t to, duration span) {
    note(fmt::format("nothing gets from {} to {}", from, to));
    between(from, to).is_cut = true;
    at(span, [this, from, to] { uncut(from, to); });
  }

  void uncut(std::size_t from, std::size_t to) {
    wire& line = between(from, to);
    if (!std::exchange(line.is_cut, false)) return;
    const auto held = std::exchange(line.held, {});
    for (const auto& what : held) what();
  }

  void wake(std::size_t place) {
    life& of = lives_[place];
    if (!of.is_alive || of.paused_until > now_) return;
    of.paused_until = time_point::min();
    // Time first: a process that wakes looks at the clock before it believes what it reads.
    of.core->advance(clock(of));
    flush(place);
    const auto held = std::exchange(of.held, {});
    for (const auto& what : held) tell(place, what);
  }

  void mend() {
    note("the troubles are over");
    for (auto& [ends, line] : wires_) uncut(ends.first, ends.second);
    for (std::size_t place = 0; place < lives_.size(); ++place) {
      if (!lives_[place].is_alive) start(place);
      lives_[place].paused_until = time_point::min();
      wake(place);
    }
  }

  // ---- what a leader does, and the judge --------------------------------------------------------

  // Rounds follow each other as fast as they are kept.
  void work(std::size_t place) {
    life& of = lives_[place];
    machine& core = *of.core;
    if (!core.serves()) {
      of.has_met = false;
      return;
    }
    if (!std::exchange(of.has_met, true) && core.value().round < kept_round_ &&
        !core.value().is_uncertain) {
      complain(fmt::format("{} leads on from round {}, and a majority had kept {}", place,
                           core.value().round, kept_round_));
    }
    if (!core.is_kept() || core.value().is_uncertain) return;
    // Nobody knows it any more, nor does anybody run it.
    const bool is_forgotten = core.value().round < kept_round_;
    if (is_forgotten && now_ - acted_ < settings_.silence() * 97 / 100) {
      complain(fmt::format("{} begins anew at round {}, while round {} may run", place,
                           core.value().round, kept_round_));
    }
    kept_round_ = core.value().round;
    most_rounds_ = std::max(most_rounds_, kept_round_);
    if (is_asked_) return;
    is_asked_ = true;
    at(milliseconds(below(4000)), [this, place, number = of.number] {
      is_asked_ = false;
      life& later = lives_[place];
      if (later.number != number || !later.is_alive || later.paused_until > now_) return;
      detail::round_register next = later.core->value();
      ++next.round;
      later.core->propose(next, clock(later));
      flush(place);
    });
  }

  void judge() {
    for (std::size_t place = 0; place < lives_.size(); ++place) {
      life& of = lives_[place];
      if (!of.is_alive) continue;
      const bool is_awake = of.paused_until <= now_;
      const bool acts = is_awake && of.core->serves() && clock(of) < of.core->lease_end();
      if (acts && of.core->value().round >= kept_round_) acted_ = now_;
      if (acts && !of.acts) {
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
      // Workers of a node that stood still end a moment after it wakes.
      const bool stood_still = of.acts && !is_awake;
      if (of.acts && !acts && !stood_still && is_awake) {
        of.workers_until = now_ + settings_.reconnect_grace / 4;
      }
      of.acts = acts;
    }
  }

  detail::random_source random_;
  detail::vote_rules rules_;
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
  std::int64_t kept_round_ = -1;
  std::int64_t most_rounds_ = 0;
  /// When somebody led who knew the newest round.
  time_point acted_;
  /// Whose each was.
  std::map<std::int64_t, std::uint64_t> terms_;
  std::string complaint_;
  std::vector<std::string> notes_;
};

}  // namespace elastic::test
