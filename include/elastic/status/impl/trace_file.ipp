// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/trace_file.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/telemetry/detail/record_writer.hpp>
#include <elastic/status/detail/trace_events.hpp>

#include <utility>

namespace elastic {

namespace detail {

inline record_writer_options trace_writer_options(std::string path) {
  record_writer_options options;
  options.kind = "trace";
  options.path = std::move(path);
  options.head = "[\n";
  options.is_anew = true;
  return options;
}

}  // namespace detail

ELASTIC_DECL trace_file::trace_file(std::string path, logger log)
    : log_(std::move(log)),
      writer_(
          detail::new_shared<detail::record_writer>(detail::trace_writer_options(std::move(path)))),
      events_(std::make_unique<detail::trace_events>(1)) {}

ELASTIC_DECL trace_file::~trace_file() = default;

ELASTIC_DECL void trace_file::take(const journal_record& record) {
  for (const std::string& event : events_->take(record)) writer_->add(event + ",\n");
  writer_->log_problem(log_);
}

ELASTIC_DECL task<void> trace_file::finish() { return detail::finish_writing(writer_, log_); }

}  // namespace elastic
