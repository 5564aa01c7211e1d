// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/console_event_handler.hpp>
#include <elastic/telemetry/console_metric_handler.hpp>
#include <elastic/telemetry/event.hpp>
#include <elastic/telemetry/event_handler.hpp>
#include <elastic/telemetry/job_event.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/journal_file.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/journal_sink.hpp>
#include <elastic/telemetry/metric_handler.hpp>
#include <elastic/telemetry/worker_progress.hpp>
