// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The backend "c10d": nodes meet at a server of this library, which one of them runs.

#include <elastic/rendezvous/native/registered_rendezvous.hpp>
