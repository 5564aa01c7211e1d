// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: jobs of several nodes. Backends "c10d" and "static", and rendezvous at the agent
// that a registry of one's own names.

#include <elastic/nodes/backends.hpp>
#include <elastic/nodes/registered_rendezvous.hpp>
