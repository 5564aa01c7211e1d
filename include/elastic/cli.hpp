// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: the command line of torchrun and elasticrun, for launchers of one's own.

#include <elastic/cli/command_line.hpp>
#include <elastic/cli/default_python.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/cli/io_choice.hpp>
#include <elastic/cli/machine.hpp>
#include <elastic/cli/program_config.hpp>
