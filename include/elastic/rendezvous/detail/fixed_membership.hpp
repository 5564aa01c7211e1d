// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <string>

namespace elastic::detail {

/// The common base of rendezvous whose nodes are given at the start: no node joins or is missed,
/// and each node counts its own restarts.
///
/// Thread-safety: one strand at a time.
class fixed_membership : public rendezvous_handler {
 public:
  ELASTIC_DECL task<rendezvous_change> wait_for_change() override;
  ELASTIC_DECL task<rendezvous_change> report_failure(std::string reason) override;
  ELASTIC_DECL task<void> close(rendezvous_handler::job_end, std::string) override;

 protected:
  /// Errors: `errc::rendezvous_closed` after `close`.
  ELASTIC_DECL void check_open() const;

  int restarts() const { return restarts_; }

 private:
  int restarts_ = 0;
  bool is_closed_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/detail/fixed_membership.ipp>
#endif
