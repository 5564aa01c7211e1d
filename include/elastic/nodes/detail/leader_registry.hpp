// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/nodes/detail/leader_record.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic::detail {

/// A store that only names the leader of a job and keeps the register: one key that compare-and-set
/// changes, and a key for each node that has lost the leader.
///
/// Errors, cancellation, thread-safety: those of `versioned_keys`; `errc::invalid_argument` for a
/// value that is not this job's.
class leader_registry {
 public:
  struct sight {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    sight() = default;
    std::optional<leader_record> record;
    std::string version;
  };

  /// @param keys  the keys of this job alone
  leader_registry(std::shared_ptr<versioned_keys> keys, std::optional<job_secret> secret)
      : keys_(required(std::move(keys), "leader_registry: the keys")), secret_(std::move(secret)) {}

  /// The name of the record in messages.
  std::string name() const { return keys_->place_of(leader_key); }

  ELASTIC_DECL task<sight> look();

  /// Stores the record if its version is still `version`. `look` shows whether it did: another
  /// agent may have been faster, or the answer of an earlier attempt may have been lost.
  ELASTIC_DECL task<void> try_put(leader_record record, std::string version);

  /// As `versioned_keys::wait_for_change`.
  ELASTIC_DECL task<void> wait_for_change(std::string version);

  ELASTIC_DECL task<void> claim(std::uint64_t member, loss_claim claim);
  ELASTIC_DECL task<std::optional<loss_claim>> claim_of(std::uint64_t member);

 private:
  static constexpr const char* leader_key = "leader";
  ELASTIC_DECL static std::string claim_key(std::uint64_t member);

  std::shared_ptr<versioned_keys> keys_;
  std::optional<job_secret> secret_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/leader_registry.ipp>
#endif
