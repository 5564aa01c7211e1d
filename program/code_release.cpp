// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/code_release.hpp>

#include <chrono>
#include <utility>

namespace elasticrun {

code_release::code_release(std::shared_ptr<elastic::time_source> time, void (*release)())
    : time_(std::move(time)), release_(release) {}

elastic::task<void> code_release::beside_workers(bool) {
  if (!release_) co_return;
  co_await time_->sleep_until(elastic::deadline_after(time_->now(), std::chrono::seconds(1)));
  // Another agent of this process may have come first.
  if (const auto release = std::exchange(release_, nullptr)) release();
}

}  // namespace elasticrun
