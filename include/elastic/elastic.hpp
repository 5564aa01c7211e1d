// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent.hpp>
#include <elastic/base.hpp>
#include <elastic/contract.hpp>
#include <elastic/control.hpp>
#include <elastic/launch.hpp>
#include <elastic/net.hpp>
#include <elastic/process.hpp>
#include <elastic/rendezvous.hpp>
#include <elastic/store.hpp>
#include <elastic/telemetry.hpp>
#include <elastic/worker.hpp>
