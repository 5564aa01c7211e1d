// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/exit_barrier.hpp>
#include <elastic/rendezvous/gather.hpp>
#include <elastic/rendezvous/master_keys.hpp>
#include <elastic/rendezvous/native.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/reachable_address.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/rendezvous/round_machine.hpp>
#include <elastic/rendezvous/round_state.hpp>
#include <elastic/rendezvous/solo_rendezvous.hpp>
#include <elastic/rendezvous/static_rendezvous.hpp>
#include <elastic/rendezvous/worker_store_host.hpp>
