// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/worker/record.hpp>
#include <elastic/worker/worker_channel.hpp>
#include <elastic/worker/worker_context.hpp>
#include <elastic/worker/worker_store.hpp>
