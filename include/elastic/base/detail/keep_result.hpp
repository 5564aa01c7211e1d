// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>

#include <optional>
#include <utility>

namespace elastic::detail {

template <class T>
task<void> keep_result(task<T> work, std::optional<T>& result) {
  result.emplace(co_await std::move(work));
}

}  // namespace elastic::detail
