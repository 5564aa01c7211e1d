// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: memory of an agent that keeps what its workers commit when they restart.

#include <elastic/vault/add_vault.hpp>
#include <elastic/vault/vault_terms.hpp>
#include <elastic/vault/worker_vault.hpp>
