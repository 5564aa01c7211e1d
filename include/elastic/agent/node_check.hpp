// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <string>

namespace elastic {

/// A command that says whether a node is fit for the job, such as one that asks the driver of its
/// GPUs.
///
/// It is run by `/bin/sh -c` before the node meets the others and before each restart, while no
/// worker runs, with the variables of the worker_spec's `environment`. Exit code 0: the node takes
/// part. Anything else, no end in time included: it leaves the job, which goes on without it as
/// without a node that a worker calls bad. What the command has started is killed when it ends.
/// Its standard input is empty, and the end of its output stands in the reason.
struct node_check {
  /// Empty: none is run.
  std::string command = {};
  /// How long it may take; more than 0, at most `limits::node_check_timeout`.
  duration timeout = std::chrono::seconds(60);
};

/// Checks the bounds of a node_check. Errors: `errc::invalid_argument`, saying what is allowed.
ELASTIC_DECL void validate(const node_check& check);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/node_check.ipp>
#endif
