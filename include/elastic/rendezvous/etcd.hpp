// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: meeting in etcd, the backends "etcd", "etcd-v2" and "etcd-v3".

#include <elastic/rendezvous/etcd/etcd_rendezvous.hpp>
