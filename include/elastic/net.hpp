// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/address_filter.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/endpoint_list.hpp>
#include <elastic/net/free_port.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/net/keep_alive.hpp>
#include <elastic/net/local_address.hpp>
