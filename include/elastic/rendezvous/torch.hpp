// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: meeting with nodes of torchrun, the backend "c10d" in jobs with both.

#include <elastic/rendezvous/torch/dynamic_rendezvous.hpp>
#include <elastic/rendezvous/torch/keyed_rendezvous_backend.hpp>
#include <elastic/rendezvous/torch/rendezvous_backend.hpp>
#include <elastic/rendezvous/torch/store_rendezvous_backend.hpp>
#include <elastic/rendezvous/torch/torch_dialect.hpp>
#include <elastic/rendezvous/torch/torch_rendezvous.hpp>
#include <elastic/rendezvous/torch/torch_state.hpp>
