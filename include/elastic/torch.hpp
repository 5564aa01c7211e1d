// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: jobs in which nodes of torchrun take part. Backend "c10d".

#include <elastic/torch/torch_rendezvous.hpp>
