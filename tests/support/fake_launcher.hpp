// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/testing/scripted_launcher.hpp>

#include <string>
#include <vector>

namespace elastic::test {

using fake_launcher = testing::scripted_launcher;
using fake_process = testing::scripted_launcher::process;
/// The events of several fakes, in order: "start 0", "end 0: SIGTERM", "gone 0".
using journal = std::vector<std::string>;

}  // namespace elastic::test
