// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/etcd/detail/leased_keys.hpp>
#include <elastic/etcd/detail/legacy_lease.hpp>
#include <elastic/etcd/detail/legacy_machine.hpp>
#include <elastic/etcd/detail/legacy_state.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace elastic::detail {

/// One node's access to the state of torchrun's rendezvous "etcd": reads it, and carries out the
/// node's steps on it, each with one compare-and-set.
///
/// Errors: those of the keys; `errc::rendezvous_state`, naming the key, for a malformed state,
/// which then stays unchanged.
/// Thread-safety: one strand at a time.
class legacy_round {
 public:
  struct view {
    std::optional<legacy_state> state;
    /// The version of the key when it was read.
    std::string token;
    /// The names of the keys of living nodes, if the state is complete.
    std::set<std::string> living;
  };

  /// @param path  the path of the keys, as torchrun's nodes name it
  ELASTIC_DECL legacy_round(std::shared_ptr<leased_keys> keys, std::string path,
                            rendezvous_settings settings, std::shared_ptr<time_source> time,
                            std::shared_ptr<legacy_lease> lease);

  const legacy_standing& me() const { return me_; }

  ELASTIC_DECL task<view> look();

  /// Waits until something may have changed since `token`, at most until `deadline`.
  ELASTIC_DECL task<void> wait_for_change(std::string token, time_point deadline);
  ELASTIC_DECL legacy_decision decide(const view& current, time_point deadline) const;

  /// Carries out one step of this node on the state in `current`. If another node has changed the
  /// state since it was read, the step is lost.
  ELASTIC_DECL task<void> carry_out(view current, legacy_action action);

  /// Leaves the version that this node is in, to wait for the next one. Its key stays until it
  /// expires, so that nodes that check every few seconds see that it waits.
  ELASTIC_DECL task<void> leave();

  /// Gives up this node's place, or its wait for one. A version that is being formed cannot
  /// continue without it, so this removes the version, and the others start again at once.
  ELASTIC_DECL task<void> give_up();

  /// Closes the rendezvous, unless it is closed already.
  ELASTIC_DECL task<void> close(job_ending ending);

 private:
  inline static const std::string state_key = "active_version";
  inline static const std::string counter_key = "version_counter";
  static constexpr std::chrono::seconds for_ever{0};

  static std::string directory_of(const std::string& version) { return "v_" + version; }
  ELASTIC_DECL static std::string lease_key(const std::string& version, int rank);
  ELASTIC_DECL task<bool> put(const view& current, std::chrono::seconds ttl);
  ELASTIC_DECL task<void> create(view current);
  ELASTIC_DECL task<void> join(view current);
  ELASTIC_DECL task<void> refresh_call(view current);
  ELASTIC_DECL void schedule_refresh();
  ELASTIC_DECL task<void> freeze(view current);
  ELASTIC_DECL task<void> confirm(view current);
  ELASTIC_DECL task<void> announce(view current);
  ELASTIC_DECL task<void> destroy(view current);
  ELASTIC_DECL task<void> forget();

  const std::shared_ptr<leased_keys> keys_;
  const std::string path_;
  const rendezvous_settings settings_;
  const std::shared_ptr<time_source> time_;
  const std::shared_ptr<legacy_lease> lease_;
  legacy_standing me_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/detail/legacy_round.ipp>
#endif
