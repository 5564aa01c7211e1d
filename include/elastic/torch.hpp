// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: jobs in which nodes of torchrun take part. Backend "c10d".

#include <elastic/torch/dynamic_rendezvous.hpp>
#include <elastic/torch/keyed_rendezvous_backend.hpp>
#include <elastic/torch/rendezvous_backend.hpp>
#include <elastic/torch/store_rendezvous_backend.hpp>
#include <elastic/torch/torch_dialect.hpp>
#include <elastic/torch/torch_rendezvous.hpp>
#include <elastic/torch/torch_state.hpp>
