// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <functional>
#include <memory>
#include <string>

namespace elastic::detail {

/// Warns while a role for which others wait does not report progress: after 30 s, and then again
/// each time the wait has doubled.
/// @param role  the name of the role
/// @param waiting   the name of a role that waits for it
/// @param is_ready  called before each warning; true ends the wait
/// Errors: none. Cancellation: all types.
ELASTIC_DECL task<void> warn_of_silence(std::string role, std::string waiting,
                                        std::function<bool()> is_ready,
                                        std::shared_ptr<time_source> time, logger log);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/silence_warning.ipp>
#endif
