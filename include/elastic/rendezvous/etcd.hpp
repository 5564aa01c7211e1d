// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: meeting in etcd, the backends "etcd", "etcd-v2" and "etcd-v3".

#include <elastic/rendezvous/etcd/etcd_rendezvous.hpp>
#include <elastic/rendezvous/etcd/etcd_rendezvous_backend.hpp>
#include <elastic/rendezvous/etcd/legacy_machine.hpp>
#include <elastic/rendezvous/etcd/legacy_rendezvous.hpp>
#include <elastic/rendezvous/etcd/legacy_state.hpp>
