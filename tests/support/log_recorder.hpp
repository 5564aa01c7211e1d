// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/testing/log_recorder.hpp>

namespace elastic::test {

using testing::log_recorder;

}  // namespace elastic::test
