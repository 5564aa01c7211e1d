// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/nodes/detail/job_file_record.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic::detail {

/// A store that records the job file with which the roles of a job were started: one key for the
/// whole job, which compare-and-set changes.
///
/// Errors, cancellation, thread-safety: those of `versioned_keys`; `errc::invalid_argument` for a
/// value that is not this job's.
class job_file_registry {
 public:
  struct sight {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    sight() = default;
    std::optional<job_file_record> record;
    std::string version;
  };

  /// @param keys  the keys that all roles of the job share
  job_file_registry(std::shared_ptr<versioned_keys> keys, std::optional<job_secret> secret)
      : keys_(required(std::move(keys), "job_file_registry: the keys")),
        secret_(std::move(secret)) {}

  ELASTIC_DECL task<sight> look();

  /// Stores the record if its version is still `version`. Result: whether it was stored.
  ELASTIC_DECL task<bool> try_put(job_file_record record, std::string version);

 private:
  static constexpr const char* file_key = "job_file";

  std::shared_ptr<versioned_keys> keys_;
  std::optional<job_secret> secret_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/job_file_registry.ipp>
#endif
