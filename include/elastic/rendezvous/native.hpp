// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Meeting at a server of elastic's own, which one of the nodes runs: the backend "c10d".

#include <elastic/rendezvous/native/registered_rendezvous.hpp>
