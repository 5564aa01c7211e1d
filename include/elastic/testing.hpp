// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: a clock, a network, processes and recorders for tests of code that uses the
// library.

#include <elastic/testing/event_recorder.hpp>
#include <elastic/testing/log_recorder.hpp>
#include <elastic/testing/manual_clock.hpp>
#include <elastic/testing/output_recorder.hpp>
#include <elastic/testing/scripted_launcher.hpp>
#include <elastic/testing/simulated_network.hpp>
