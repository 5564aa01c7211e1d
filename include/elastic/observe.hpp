// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: following what a job does: its journal, and what is made of it.

#include <elastic/observe/job_command.hpp>
#include <elastic/observe/job_document.hpp>
#include <elastic/observe/job_journal.hpp>
#include <elastic/observe/job_metrics.hpp>
#include <elastic/observe/job_monitor.hpp>
#include <elastic/observe/job_view.hpp>
#include <elastic/observe/journal_file.hpp>
#include <elastic/observe/journal_reader.hpp>
#include <elastic/observe/journal_record.hpp>
#include <elastic/observe/journal_sink.hpp>
#include <elastic/observe/output_tails.hpp>
#include <elastic/observe/status_address.hpp>
#include <elastic/observe/status_server.hpp>
#include <elastic/observe/trace_file.hpp>
#include <elastic/observe/viewed_job.hpp>
#include <elastic/observe/viewed_worker.hpp>
