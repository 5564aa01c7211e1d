// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in module: nodes meet in etcd. Backends "etcd", "etcd-v2" and "etcd-v3".

#include <elastic/etcd/etcd_rendezvous.hpp>
