// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/roles/role_trace.hpp>

#include <elastic/launch/detail/node_journal.hpp>
#include <elastic/status/trace_file.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <elastic/telemetry/journal_sink.hpp>

#include <mutex>
#include <utility>

namespace elasticrun {

/// The trace file. A mutex protects it, because the roles record on different strands.
class role_trace::shared_file {
 public:
  shared_file(std::string path, elastic::logger log) : file_(std::move(path), std::move(log)) {}

  void take(const elastic::journal_record& record) {
    const std::lock_guard lock(mutex_);
    file_.take(record);
  }

  elastic::task<void> finish() { return file_.finish(); }

 private:
  std::mutex mutex_;
  elastic::trace_file file_;
};

/// Adds the name of the role to the records of one role.
class role_trace::sink final : public elastic::journal_sink {
 public:
  sink(std::shared_ptr<shared_file> file, std::string role)
      : file_(std::move(file)), role_(std::move(role)) {}

  void take(const elastic::journal_record& record) override {
    elastic::journal_record named = record;
    named.event.role = role_;
    file_->take(named);
  }

 private:
  std::shared_ptr<shared_file> file_;
  std::string role_;
};

role_trace::role_trace(std::vector<elastic::role> roles, std::string path, elastic::logger log)
    : roles_(std::move(roles)),
      file_(std::make_shared<shared_file>(std::move(path), std::move(log))) {}

role_trace::~role_trace() = default;

void role_trace::complete(std::size_t role, elastic::agent_services& services) {
  elastic::detail::add_journal(services, roles_[role].config.rendezvous);
  services.journal->add(std::make_shared<sink>(file_, roles_[role].name));
}

elastic::task<void> role_trace::close() {
  elastic::task<void> finishing = file_->finish();
  co_await std::move(finishing);
}

}  // namespace elasticrun
