// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/c10d_rendezvous.hpp>
#include <elastic/rendezvous/deferred_rendezvous.hpp>
#include <elastic/rendezvous/dynamic_rendezvous.hpp>
#include <elastic/rendezvous/etcd_rendezvous.hpp>
#include <elastic/rendezvous/etcd_rendezvous_backend.hpp>
#include <elastic/rendezvous/exit_barrier.hpp>
#include <elastic/rendezvous/file_rendezvous.hpp>
#include <elastic/rendezvous/gather.hpp>
#include <elastic/rendezvous/keyed_rendezvous_backend.hpp>
#include <elastic/rendezvous/master_keys.hpp>
#include <elastic/rendezvous/mixed_rendezvous.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/rendezvous/reachable_address.hpp>
#include <elastic/rendezvous/rendezvous_backend.hpp>
#include <elastic/rendezvous/rendezvous_coordinator.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_host.hpp>
#include <elastic/rendezvous/rendezvous_message.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/rendezvous/rendezvous_service.hpp>
#include <elastic/rendezvous/rendezvous_settings.hpp>
#include <elastic/rendezvous/round_machine.hpp>
#include <elastic/rendezvous/round_state.hpp>
#include <elastic/rendezvous/solo_rendezvous.hpp>
#include <elastic/rendezvous/static_rendezvous.hpp>
#include <elastic/rendezvous/store_rendezvous_backend.hpp>
#include <elastic/rendezvous/torch_dialect.hpp>
#include <elastic/rendezvous/torch_state.hpp>
#include <elastic/rendezvous/torch_state_clock.hpp>
#include <elastic/rendezvous/torch_state_codec.hpp>
#include <elastic/rendezvous/worker_store_host.hpp>
