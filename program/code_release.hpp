// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <program/code_pages.hpp>

#include <memory>

namespace elasticrun {

/// Returns the memory of the startup code to the system, once the workers of an attempt have run
/// for a second: a launcher that waits never runs most of its code again. Shorter jobs do not pay
/// for this.
///
/// Thread-safety: that of agent_part.
class code_release final : public elastic::agent_part {
 public:
  /// @param release  returns the memory
  explicit code_release(std::shared_ptr<elastic::time_source> time,
                        void (*release)() = release_code_pages);

  /// Returns the memory, only the first time.
  elastic::task<void> beside_workers(bool may_restart) override;

 private:
  std::shared_ptr<elastic::time_source> time_;
  void (*release_)();
};

}  // namespace elasticrun
