// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include "second.hpp"

#include <utility>

const std::error_category* category_in_second() { return &elastic::error_category(); }

elastic::task<elastic::run_result> launch_in_second(elastic::launch_config config) {
  co_return co_await elastic::launch(config);
}
