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
/// asks it beside its other work, whose own patience is that of a job.
///
/// Thread-safety: one strand at a time.
class registry_watch {
 public:
  /// @param name  what `ask` reads, with the address of the registry
  /// @param ask   reads it; an error counts as no answer
  registry_watch(std::string name, std::function<task<void>()> ask,
                 std::shared_ptr<time_source> time)
      : name_(std::move(name)), ask_(std::move(ask)), time_(std::move(time)) {}

  /// Asks until it is cancelled.
  /// Errors: none. Cancellation: all types.
  ELASTIC_DECL task<void> run();

  /// "the key 'job' of the etcd at http://host0:2379 could not be read for 4 s (no answer within 3
  /// s)"; empty: the registry answered the last question, or nobody has asked yet.
  ELASTIC_DECL std::string obstacle() const;

 private:
  std::string name_;
  std::function<task<void>()> ask_;
  std::shared_ptr<time_source> time_;
  /// When the first question was asked that it did not answer, and why not.
  std::optional<time_point> silent_since_;
  std::string problem_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/registry_watch.ipp>
#endif
