// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Meeting at a server of elastic's own, which one of the nodes runs: the backend "c10d".

#include <elastic/rendezvous/native/c10d_rendezvous.hpp>
#include <elastic/rendezvous/native/registered_rendezvous.hpp>
#include <elastic/rendezvous/native/rendezvous_coordinator.hpp>
#include <elastic/rendezvous/native/rendezvous_host.hpp>
#include <elastic/rendezvous/native/rendezvous_message.hpp>
#include <elastic/rendezvous/native/rendezvous_service.hpp>
