// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/silence_warning.hpp>

#include <chrono>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL task<void> warn_of_silence(std::string role, std::string waiting,
                                        std::function<bool()> is_ready,
                                        std::shared_ptr<time_source> time, logger log) {
  const time_point begun = time->now();
  for (std::chrono::seconds silence(30);; silence *= 2) {
    co_await time->sleep_until(begun + silence);
    if (is_ready()) co_return;
    log.warning(
        "role '{}' is not ready: after {} s, not all of its workers have reported progress; role "
        "'{}' waits for it",
        role, silence.count(), waiting);
  }
}

}  // namespace elastic::detail
