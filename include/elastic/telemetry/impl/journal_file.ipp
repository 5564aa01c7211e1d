// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/journal_file.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/telemetry/detail/record_writer.hpp>

#include <utility>

namespace elastic {

namespace detail {

inline record_writer_options writer_options_of(journal_file::options options) {
  record_writer_options made;
  made.kind = "journal";
  made.path = std::move(options.path);
  made.max_size = options.max_size;
  made.max_files = options.max_files;
  return made;
}

}  // namespace detail

ELASTIC_DECL journal_file::journal_file(options settings)
    : path_(settings.path),
      log_(settings.log),
      writer_(detail::new_shared<detail::record_writer>(
          detail::writer_options_of(std::move(settings)))) {}

ELASTIC_DECL journal_file::~journal_file() = default;

ELASTIC_DECL void journal_file::take(const journal_record& record) {
  writer_->add(to_json_line(record) + '\n');
  writer_->log_problem(log_);
}

ELASTIC_DECL task<void> journal_file::finish() { return detail::finish_writing(writer_, log_); }

}  // namespace elastic
