// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/endpoint.hpp>
#include <elastic/net/free_port.hpp>
#include <elastic/net/host_name.hpp>
