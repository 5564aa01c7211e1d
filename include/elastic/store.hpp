// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/key_list.hpp>
#include <elastic/store/key_value_list.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/tcp_store.hpp>
#include <elastic/store/tcp_store_generation.hpp>
#include <elastic/store/tcp_store_server.hpp>
#include <elastic/store/versioned_keys.hpp>
#include <elastic/store/versioned_store.hpp>
