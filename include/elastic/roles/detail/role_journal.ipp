// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_journal.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/telemetry/journal_sink.hpp>

#include <utility>

namespace elastic::detail {

inline journal_file::options journal_options(std::string path, logger log) {
  journal_file::options options;
  options.path = std::move(path);
  options.log = std::move(log);
  return options;
}

class role_journal::sink final : public journal_sink {
 public:
  sink(std::shared_ptr<role_journal> journal, std::string role)
      : journal_(std::move(journal)), role_(std::move(role)) {}

  void take(const journal_record& record) override { journal_->take(record, role_); }

 private:
  std::shared_ptr<role_journal> journal_;
  std::string role_;
};

ELASTIC_DECL role_journal::role_journal(std::string path, logger log)
    : file_(journal_options(std::move(path), std::move(log))) {}

ELASTIC_DECL std::shared_ptr<job_journal> role_journal::of_role(const std::string& name,
                                                                std::string node,
                                                                std::shared_ptr<time_source> time,
                                                                logger log) {
  job_journal::options options;
  options.node = std::move(node);
  options.time = std::move(time);
  options.log = std::move(log);
  auto journal = new_shared<job_journal>(std::move(options));
  journal->add(new_shared<sink>(shared_from_this(), name));
  return journal;
}

ELASTIC_DECL void role_journal::take(journal_record record, const std::string& role) {
  record.event.role = role;
  const std::lock_guard lock(mutex_);
  file_.take(record);
}

}  // namespace elastic::detail
