// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/exit_barrier.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
