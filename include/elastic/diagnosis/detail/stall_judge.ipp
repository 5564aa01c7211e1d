// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/stall_judge.hpp>

#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/stable_order.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/diagnosis/detail/stall_text.hpp>
#include <elastic/diagnosis/detail/user_frame.hpp>
#include <elastic/diagnosis/detail/wait_graph.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

using rank_indices = std::vector<std::size_t>;

/// Applies the rules. Each gives a verdict or none.
class stall_judge {
 public:
  stall_judge(const std::vector<rank_evidence>& evidence, const stall_judge_options& options)
      : evidence_(evidence), graph_(evidence, options.least_wait, options.lacks_ranks) {}

  stall_verdict judge() const {
    for (const auto rule :
         {&stall_judge::of_stopped, &stall_judge::of_uneven_inputs, &stall_judge::of_dead,
          &stall_judge::of_mismatch, &stall_judge::of_behind, &stall_judge::of_circle,
          &stall_judge::of_silent, &stall_judge::of_device, &stall_judge::of_transport,
          &stall_judge::of_stacks}) {
      if (auto verdict = (this->*rule)()) return std::move(*verdict);
    }
    return nobody();
  }

 private:
  using outcome = std::optional<stall_verdict>;

  ELASTIC_DECL outcome of_stopped() const;
  ELASTIC_DECL bool waits_for_ended(const rank_group& group) const;
  ELASTIC_DECL outcome of_dead() const;
  ELASTIC_DECL outcome of_uneven_inputs() const;
  ELASTIC_DECL outcome of_mismatch() const;
  ELASTIC_DECL outcome of_behind() const;
  ELASTIC_DECL outcome of_circle() const;
  ELASTIC_DECL outcome of_silent() const;
  ELASTIC_DECL outcome of_device() const;
  ELASTIC_DECL outcome of_transport() const;
  ELASTIC_DECL outcome of_stacks() const;
  ELASTIC_DECL stall_verdict nobody() const;

  ELASTIC_DECL stall_verdict::kind cause_of(const rank_evidence& rank) const;
  enum class difference { inputs, any };
  ELASTIC_DECL outcome mismatch_of(difference sought) const;
  ELASTIC_DECL outcome mismatch_in(const rank_group& group, difference sought) const;
  ELASTIC_DECL stall_verdict verdict(stall_verdict::kind cause,
                                     stall_verdict::confidence_level confidence,
                                     const rank_indices& ranks, std::string sentence) const;
  ELASTIC_DECL std::vector<std::string> evidence_for(const rank_indices& ranks) const;
  template <class Predicate>
  rank_indices select(Predicate predicate) const {
    rank_indices selected;
    for (std::size_t rank = 0; rank < evidence_.size(); ++rank) {
      if (predicate(rank)) selected.push_back(rank);
    }
    return selected;
  }
  std::string names(const rank_indices& ranks) const { return names_of(evidence_, ranks); }
  const rank_evidence& first(const rank_indices& ranks) const { return evidence_[ranks.front()]; }

  const std::vector<rank_evidence>& evidence_;
  wait_graph graph_;
};

inline bool has_ended(const rank_evidence& rank) {
  return rank.state == process_state::zombie || rank.state == process_state::gone;
}

inline bool is_at_its_end(const rank_evidence& rank) {
  return !rank.failure.empty() || is_in_teardown(rank.stack);
}

/// A stopped process explains the stall if others wait; no further evidence is needed.
ELASTIC_DECL auto stall_judge::of_stopped() const -> outcome {
  const auto ranks = select([&](std::size_t rank) {
    return evidence_[rank].state == process_state::stopped;
  });
  if (ranks.empty()) return {};
  const awaited_operation operation = graph_.most_awaited();
  const bool is_sure = operation.call != nullptr;
  return verdict(
      stall_verdict::kind::stopped,
      is_sure ? stall_verdict::confidence_level::certain : stall_verdict::confidence_level::likely,
      ranks,
      fmt::format("{} {} stopped by a signal or a debugger{}{}", names(ranks), are(ranks),
                  in_frame(first(ranks)), while_others_wait(operation)));
}

/// Whether all running members of a group wait there for a member that has ended. Otherwise they
/// may wait for one that runs.
ELASTIC_DECL bool stall_judge::waits_for_ended(const rank_group& group) const {
  if (!group.is_complete || group.waiting == 0) return false;
  std::int64_t sequence = 0;
  for (const group_member& member : group.members) {
    if (member.wait != nullptr) sequence = member.wait->sequence;
  }
  bool is_one_missing = false;
  for (const group_member& member : group.members) {
    const bool has_entered = member.is_known && member.enqueued >= sequence;
    if (!has_ended(evidence_[member.rank])) {
      if (member.wait == nullptr || member.wait->sequence != sequence) return false;
    } else if (!has_entered) {
      is_one_missing = true;
    }
  }
  return is_one_missing;
}

ELASTIC_DECL auto stall_judge::of_dead() const -> outcome {
  const auto ranks = select([&](std::size_t rank) { return has_ended(evidence_[rank]); });
  if (ranks.empty() || ranks.size() == evidence_.size()) return {};
  const awaited_operation operation = graph_.most_awaited();
  const auto& groups = graph_.groups();
  const bool is_sure = std::any_of(groups.begin(), groups.end(), [&](const rank_group& group) {
    return waits_for_ended(group);
  });
  return verdict(
      stall_verdict::kind::dead,
      is_sure ? stall_verdict::confidence_level::certain : stall_verdict::confidence_level::likely,
      ranks,
      fmt::format("{} {} ended{}{}", names(ranks), have(ranks),
                  failure_in_parentheses(first(ranks)), while_others_wait(operation)));
}

/// Inputs of different sizes make gloo abort some ranks, so this rule precedes the one for ended
/// ranks, which are not to blame then.
ELASTIC_DECL auto stall_judge::of_uneven_inputs() const -> outcome {
  return mismatch_of(difference::inputs);
}

/// Ranks whose peer has ended may go on to another operation, so this rule comes after the one for
/// ended ranks.
ELASTIC_DECL auto stall_judge::of_mismatch() const -> outcome {
  return mismatch_of(difference::any);
}

ELASTIC_DECL auto stall_judge::mismatch_of(difference sought) const -> outcome {
  // Begins with the group in which most ranks wait: others may wait because of it.
  std::vector<const rank_group*> groups;
  for (const rank_group& group : graph_.groups()) {
    const bool tells = sought == difference::inputs && group.is_complete;
    if (group.waiting > 1 || tells) groups.push_back(&group);
  }
  sort_stably(groups, [](const auto* left, const auto* right) {
    return left->waiting > right->waiting;
  });
  for (const rank_group* const group : groups) {
    if (auto found = mismatch_in(*group, sought)) return found;
  }
  return {};
}

inline bool is_same_call(const collective_call& left, const collective_call& right) {
  return left.sequence == right.sequence && left.operation == right.operation &&
         left.sizes == right.sizes && left.types == right.types;
}

/// The collective that a member has entered, however recently; null if it is in none.
inline const collective_call* unfinished_call(const group_member& member) {
  if (member.position == nullptr || !member.position->outstanding) return nullptr;
  const collective_call& call = *member.position->outstanding;
  return call.is_point_to_point ? nullptr : &call;
}

/// Finds members of a group that are in different operations with the same number.
ELASTIC_DECL auto stall_judge::mismatch_in(const rank_group& group, difference sought) const
    -> outcome {
  struct party {
    const collective_call* call = nullptr;
    rank_indices ranks = {};
    bool is_over() const { return call->state == collective_state::completed; }
    std::string_view are() const {
      if (is_over()) return ranks.size() == 1 ? "was" : "were";
      return detail::are(ranks);
    }
  };
  std::map<std::int64_t, std::map<std::string, party>> operations;
  party* last = nullptr;
  const auto add = [&](std::size_t rank, const collective_call& call) {
    // Almost all members are in the same operation, so this is rare.
    if (last == nullptr || !is_same_call(*last->call, call)) {
      last = &operations[call.sequence][signature_of(call)];
      last->call = &call;
    }
    last->ranks.push_back(rank);
  };
  // Sizes differ however short a rank has waited, and even if an error made it leave the operation.
  const bool takes_all = sought == difference::inputs && group.is_complete;
  for (const group_member& member : group.members) {
    const collective_call* const call = takes_all ? unfinished_call(member) : member.wait;
    if (call != nullptr) add(member.rank, *call);
  }
  for (const group_member& member : group.members) {
    if (!group.is_complete) break;
    const bool has_previous = member.position != nullptr && member.position->previous;
    if (!has_previous) continue;
    // With NCCL, a rank may complete an operation while its peers wait in a different one.
    const collective_call& previous = *member.position->previous;
    if (takes_all || operations.contains(previous.sequence)) add(member.rank, previous);
  }
  for (auto& [sequence, parties] : operations) {
    if (parties.size() < 2) continue;
    std::vector<party> sorted;
    for (auto& [signature, each] : parties) {
      std::sort(each.ranks.begin(), each.ranks.end());
      sorted.push_back(std::move(each));
    }
    sort_stably(sorted, [](const party& left, const party& right) {
      return left.ranks.size() < right.ranks.size();
    });
    const party& most = sorted.back();
    const bool is_one_operation =
        std::all_of(sorted.begin(), sorted.end(), [&](const party& each) {
          return each.call->operation == most.call->operation;
        });
    if (sought == difference::inputs && !is_one_operation) continue;
    rank_indices ranks;
    for (std::size_t each = 0; each + 1 < sorted.size(); ++each) {
      ranks.insert(ranks.end(), sorted[each].ranks.begin(), sorted[each].ranks.end());
    }
    // Of two parties of the same size, either may be right.
    const bool is_even = sorted.size() == 2 && ranks.size() == most.ranks.size();
    if (is_even) ranks.insert(ranks.end(), most.ranks.begin(), most.ranks.end());
    const party& least = sorted.front();
    const rank_evidence& suspect = evidence_[least.ranks.front()];
    const auto confidence = group.is_complete && !is_even ? stall_verdict::confidence_level::certain
                                                          : stall_verdict::confidence_level::likely;
    const std::string where = fmt::format(
        "in {} #{} of group {}{}, where {} {} in {}{}; {}", printable_line(least.call->operation),
        sequence, printable_line(group.label), inputs_of(*least.call),
        count_of_others(most.ranks.size()), most.are(), printable_line(most.call->operation),
        inputs_of(*most.call), whereabouts(suspect, stall_verdict::kind::mismatch));
    if (is_at_its_end(suspect) && !least.is_over()) {
      return verdict(
          stall_verdict::kind::left, confidence, ranks,
          fmt::format("{} {} left the work of the others{}, and {} now {}", names(least.ranks),
                      have(least.ranks), by_failure(suspect), are(least.ranks), where));
    }
    return verdict(stall_verdict::kind::mismatch, confidence, ranks,
                   fmt::format("{} {} {}", names(least.ranks), least.are(), where));
  }
  return {};
}

/// The reason why a rank has not entered the operation of the others.
ELASTIC_DECL stall_verdict::kind stall_judge::cause_of(const rank_evidence& rank) const {
  // FUSE and some others wait interruptibly, in state S.
  const bool is_in_kernel = rank.state == process_state::uninterruptible ||
                            (rank.state == process_state::sleeping &&
                             !file_system_of(rank.wait_channel).empty());
  if (is_in_kernel) return stall_verdict::kind::blocked;
  if (is_at_its_end(rank)) return stall_verdict::kind::left;
  return computes(rank) && rank.stack_moved ? stall_verdict::kind::slow
                                            : stall_verdict::kind::behind;
}

ELASTIC_DECL auto stall_judge::of_behind() const -> outcome {
  auto ranks = select([&](std::size_t rank) {
    return graph_.is_awaited(rank) && !graph_.waits(rank);
  });
  if (ranks.empty()) return {};
  // The enumeration orders causes by how much they explain; slow ranks come last.
  sort_stably(ranks, [&](std::size_t left, std::size_t right) {
    return cause_of(evidence_[left]) < cause_of(evidence_[right]);
  });
  const awaited_operation operation = graph_.awaited_from(ranks.front());
  const rank_group& group = *operation.group;
  // A rank that computes may only be slow: during a long computation its line does not change, as
  // in an endless loop. A rank that moves may be slow, too, for example because it reads much from
  // a slow disk. If a rank sleeps in a single sample, nothing can be concluded.
  const bool may_compute = std::any_of(ranks.begin(), ranks.end(), [&](std::size_t rank) {
    const rank_evidence& evidence = evidence_[rank];
    return computes(evidence) || evidence.stack_moved ||
           (!evidence.processor_share && cause_of(evidence) == stall_verdict::kind::behind);
  });
  const bool is_sure = group.is_complete && !group.has_unknown &&
                       ranks.size() <= operation.waiting && !may_compute;
  const stall_verdict::kind cause = cause_of(first(ranks));
  return verdict(
      cause,
      is_sure ? stall_verdict::confidence_level::certain : stall_verdict::confidence_level::likely,
      ranks,
      fmt::format("{} {} not entered {}; {}", names(ranks), have(ranks), to_text(operation),
                  whereabouts(first(ranks), cause)));
}

/// Ranks that wait for each other in a cycle, in operations of different groups.
ELASTIC_DECL auto stall_judge::of_circle() const -> outcome {
  const auto ranks = graph_.circle();
  if (ranks.size() < 2) return {};
  std::string sentence;
  for (std::size_t each = 0; each < ranks.size(); ++each) {
    constexpr std::size_t shown = 4;
    if (each == shown) sentence += fmt::format(", and so on for {} ranks", ranks.size());
    if (each >= shown) break;
    const std::size_t next = ranks[(each + 1) % ranks.size()];
    const awaited_operation operation = graph_.awaited_from(next);
    sentence += fmt::format("{}{} waits in {} #{} of group {} for rank {}", each == 0 ? "" : ", ",
                            name_of(evidence_[ranks[each]]),
                            printable_line(operation.call->operation), operation.call->sequence,
                            printable_line(operation.group->label), evidence_[next].rank);
  }
  return verdict(stall_verdict::kind::elsewhere, stall_verdict::confidence_level::likely, ranks,
                 std::move(sentence));
}

/// Ranks wait in an operation of a group that contains ranks about which nothing is known.
ELASTIC_DECL auto stall_judge::of_silent() const -> outcome {
  const awaited_operation operation = graph_.most_awaited();
  if (operation.call == nullptr || !operation.group->has_unknown) return {};
  rank_indices ranks;
  for (const group_member& member : operation.group->members) {
    if (!member.is_known) ranks.push_back(member.rank);
  }
  // A rank whose stack shows that it waits, too, is not a suspect.
  std::erase_if(ranks, [&](std::size_t rank) { return is_in_collective(evidence_[rank].stack); });
  if (ranks.empty() || ranks.size() > operation.waiting) return {};
  const stall_verdict::kind own = cause_of(first(ranks));
  const bool is_known = own != stall_verdict::kind::behind || !first(ranks).stack.empty();
  const bool is_silent = first(ranks).recorder == recorder_state::silent;
  const stall_verdict::kind cause = is_known ? own : stall_verdict::kind::silent;
  const std::string_view does = ranks.size() == 1 ? "does" : "do";
  return verdict(cause, stall_verdict::confidence_level::likely, ranks,
                 fmt::format("{} {} not {}{}; {}", names(ranks), does,
                             is_silent ? "answer" : "have a recorder that could be asked",
                             while_others_wait(operation), whereabouts(first(ranks), cause)));
}

/// All have entered an operation, but only most devices have begun it.
ELASTIC_DECL auto stall_judge::of_device() const -> outcome {
  const awaited_operation operation = graph_.most_awaited();
  if (operation.call == nullptr) return {};
  rank_indices ranks;
  std::size_t started = 0;
  for (const group_member& member : operation.group->members) {
    if (member.wait == nullptr || member.wait->sequence != operation.call->sequence) continue;
    if (member.wait->state == collective_state::started) ++started;
    if (member.wait->state == collective_state::scheduled) ranks.push_back(member.rank);
  }
  if (started == 0 || ranks.empty() || ranks.size() > started) return {};
  return verdict(stall_verdict::kind::behind, stall_verdict::confidence_level::likely, ranks,
                 fmt::format("{} {} called {} #{} of group {}, but {} {} not begun it, as {} {} "
                             "done; {}",
                             names(ranks), have(ranks), printable_line(operation.call->operation),
                             operation.call->sequence, printable_line(operation.group->label),
                             ranks.size() == 1 ? "its device" : "their devices", have(ranks),
                             count_of_others(started), started == 1 ? "has" : "have",
                             whereabouts(first(ranks), stall_verdict::kind::behind)));
}

/// All members of a group have entered an operation, and it does not end. If one of them entered
/// only just now, it was slow, and the operation is about to end.
ELASTIC_DECL auto stall_judge::of_transport() const -> outcome {
  const auto waiting = select([&](std::size_t rank) {
    return graph_.waits(rank) && !graph_.is_held_up(rank);
  });
  if (waiting.empty()) return {};
  const awaited_operation operation = graph_.most_awaited();
  if (operation.call == nullptr || !operation.group->is_complete || operation.group->has_unknown ||
      operation.group->waiting < operation.group->members.size()) {
    return {};
  }
  return verdict(
      stall_verdict::kind::transport, stall_verdict::confidence_level::likely, {},
      fmt::format("all {} ranks have entered {} #{} of group {}, which has not ended{}: the "
                  "transport is stuck",
                  operation.group->members.size(), printable_line(operation.call->operation),
                  operation.call->sequence, printable_line(operation.group->label),
                  for_time(operation.age)));
}

/// Without recorders: most ranks are in a function of torch.distributed, and a few are not.
ELASTIC_DECL auto stall_judge::of_stacks() const -> outcome {
  const bool is_recorded =
      std::any_of(evidence_.begin(), evidence_.end(), [](const rank_evidence& rank) {
        return rank.recorder == recorder_state::answered;
      });
  if (is_recorded) return {};
  const auto is_known = [&](std::size_t rank) { return !evidence_[rank].stack.empty(); };
  const auto waiting = select([&](std::size_t rank) {
    return is_in_collective(evidence_[rank].stack);
  });
  const auto ranks = select([&](std::size_t rank) {
    return is_known(rank) && !is_in_collective(evidence_[rank].stack);
  });
  const bool is_clear = !ranks.empty() && ranks.size() * 2 <= waiting.size() &&
                        ranks.size() + waiting.size() == evidence_.size();
  if (!is_clear) return {};
  const stall_verdict::kind cause = cause_of(first(ranks));
  const rank_evidence& other = evidence_[waiting.front()];
  return verdict(
      cause, stall_verdict::confidence_level::likely, ranks,
      fmt::format("{} {} not entered {}, in which {} {}{}; {}", names(ranks), have(ranks),
                  collective_in(other.stack), count_of_others(waiting.size()),
                  waiting.size() == 1 ? "waits" : "wait", in_frame(other),
                  whereabouts(first(ranks), cause)));
}

/// The verdict that blames no rank. It counts each rank once: by its operation or, without one, by
/// its use of the processor.
ELASTIC_DECL stall_verdict stall_judge::nobody() const {
  std::size_t computing = 0;
  std::size_t silent = 0;
  for (std::size_t rank = 0; rank < evidence_.size(); ++rank) {
    if (graph_.waits(rank)) continue;
    if (computes(evidence_[rank])) {
      ++computing;
    } else if (evidence_[rank].recorder != recorder_state::answered) {
      ++silent;
    }
  }
  const std::size_t waiting = graph_.waiting();
  std::string sentence =
      fmt::format("the cause is unknown: of {} ranks, {} wait{} in an operation", evidence_.size(),
                  waiting == 0 ? "none" : fmt::format("{}", waiting), waiting > 1 ? "" : "s");
  if (computing > 0) {
    sentence += fmt::format(", {} compute{}", computing, computing == 1 ? "s" : "");
  }
  if (silent > 0) sentence += fmt::format(", {} provided no evidence", silent);
  stall_verdict unknown;
  unknown.sentence = std::move(sentence);
  return unknown;
}

ELASTIC_DECL stall_verdict stall_judge::verdict(stall_verdict::kind cause,
                                                stall_verdict::confidence_level confidence,
                                                const rank_indices& ranks,
                                                std::string sentence) const {
  stall_verdict verdict{cause, confidence, {}, std::move(sentence), evidence_for(ranks)};
  for (const std::size_t rank : ranks) {
    if (verdict.ranks.size() < limits::blamed_ranks) verdict.ranks.push_back(evidence_[rank].rank);
  }
  verdict.sentence = beginning_of(verdict.sentence, limits::verdict_sentence_bytes);
  return verdict;
}

/// Lines about the first blamed ranks, and about ranks that wait.
ELASTIC_DECL std::vector<std::string> stall_judge::evidence_for(const rank_indices& ranks) const {
  constexpr std::size_t shown_ranks = 4;
  std::vector<std::string> lines;
  for (std::size_t each = 0; each < ranks.size() && each < shown_ranks; ++each) {
    const auto own = lines_about(evidence_[ranks[each]]);
    lines.insert(lines.end(), own.begin(), own.end());
  }
  const awaited_operation operation = graph_.most_awaited();
  if (operation.call != nullptr) {
    std::vector<int> waiting;
    for (const group_member& member : operation.group->members) {
      const bool waits =
          member.wait != nullptr && member.wait->sequence == operation.call->sequence;
      if (waits) waiting.push_back(evidence_[member.rank].rank);
    }
    lines.push_back(fmt::format("ranks {} wait in {} #{} of group {}{}{}",
                                rank_set(std::move(waiting)).text(),
                                printable_line(operation.call->operation), operation.call->sequence,
                                printable_line(operation.group->label), inputs_of(*operation.call),
                                for_time(operation.age)));
  }
  if (lines.size() > limits::verdict_evidence_lines) lines.resize(limits::verdict_evidence_lines);
  for (std::string& line : lines) line = beginning_of(line, limits::verdict_evidence_bytes);
  return lines;
}

ELASTIC_DECL stall_verdict judge_stall(const std::vector<rank_evidence>& evidence,
                                       const stall_judge_options& options) {
  return stall_judge(evidence, options).judge();
}

ELASTIC_DECL stall_remedy remedy_for(const stall_verdict& verdict,
                                     const std::vector<rank_evidence>& evidence) {
  const bool is_sure = verdict.confidence == stall_verdict::confidence_level::certain;
  if (!is_sure || verdict.ranks.empty()) return {};
  if (verdict.cause != stall_verdict::kind::dead) return {verdict.ranks.front(), verdict.sentence};
  const auto waits = [](const rank_evidence& rank) {
    const auto is_outstanding = [](const group_position& each) {
      return each.outstanding.has_value();
    };
    return !has_ended(rank) && std::any_of(rank.groups.begin(), rank.groups.end(), is_outstanding);
  };
  const auto first = std::find_if(evidence.begin(), evidence.end(), waits);
  if (first == evidence.end()) return {};
  const std::string reason =
      fmt::format("{} waits for a rank that has ended: {}", name_of(*first), verdict.sentence);
  return {first->rank, std::string(beginning_of(reason, limits::verdict_sentence_bytes))};
}

}  // namespace elastic::detail
