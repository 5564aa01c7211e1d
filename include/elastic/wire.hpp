// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: workers that find each other through JAX, MPI or TensorFlow instead of torchrun's
// variables.

#include <elastic/wire/add_wire.hpp>
#include <elastic/wire/wire_terms.hpp>
