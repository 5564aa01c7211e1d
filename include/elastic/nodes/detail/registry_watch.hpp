// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic::detail {

/// Notices within a few seconds that a registry no longer answers. A node that waits for a round
/// polls it separately, because the other requests of the job wait much longer for an answer.
///
/// Thread-safety: one strand at a time.
class registry_watch {
 public:
  /// @param name  the name of the value that `ask` reads, with the address of the registry
  /// @param ask  reads the value; an error counts as no answer
  registry_watch(std::string name, std::function<task<void>()> ask,
                 std::shared_ptr<time_source> time)
      : name_(std::move(name)), ask_(std::move(ask)), time_(std::move(time)) {}

  /// Polls the registry until it is cancelled.
  /// Errors: none. Cancellation: all types.
  ELASTIC_DECL task<void> run();

  /// A message such as "the key 'job' of the etcd at http://host0:2379 could not be read for 4 s
  /// (no answer within 3 s)"; empty: the registry answered the last request, or none was made.
  ELASTIC_DECL std::string obstacle() const;

 private:
  std::string name_;
  std::function<task<void>()> ask_;
  std::shared_ptr<time_source> time_;
  /// The time of the first request in a row without an answer, and the last problem.
  std::optional<time_point> silent_since_;
  std::string problem_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/registry_watch.ipp>
#endif
