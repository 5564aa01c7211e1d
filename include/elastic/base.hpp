// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/as_error_code.hpp>
#include <elastic/base/assert.hpp>
#include <elastic/base/async_run.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/named.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/base/version.hpp>
#include <elastic/base/when_all.hpp>
