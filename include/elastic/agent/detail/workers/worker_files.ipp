// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/worker_files.hpp>

#include <elastic/agent/detail/workers/default_logs_specs.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/quantity.hpp>
#include <elastic/contract/stream_selection.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/stdio.hpp>

#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// The plan without its file: the output that was meant for it is shown.
inline output_plan without_file(output_plan plan) {
  if (plan.file.empty()) return plan;
  plan.file.clear();
  plan.kind = output_plan::how::copy;
  plan.console = true;
  return plan;
}

ELASTIC_DECL worker_files::worker_files(const worker_spec& spec, log_layout& layout,
                                        std::shared_ptr<logs_specs> logs, logger log)
    : spec_(spec),
      layout_(layout),
      logs_(logs ? std::move(logs) : new_shared<default_logs_specs>()),
      log_(std::move(log)) {}

ELASTIC_DECL task<void> worker_files::start_attempt(int restart_count) {
  std::vector<std::size_t> all(static_cast<std::size_t>(spec_.nproc_per_node));
  std::iota(all.begin(), all.end(), std::size_t{0});
  return make(restart_count, std::move(all),
              [restart_count, count = spec_.nproc_per_node](log_layout& layout) {
                layout.start_attempt(restart_count, count);
              });
}

ELASTIC_DECL task<void> worker_files::add_workers(int restart_count, std::vector<std::size_t> slots,
                                                  std::int64_t epoch) {
  return make(restart_count, slots, [restart_count, slots, epoch](log_layout& layout) {
    for (const std::size_t slot : slots) {
      layout.add_worker(restart_count, static_cast<int>(slot), epoch);
    }
  });
}

ELASTIC_DECL task<void> worker_files::make(int restart_count, std::vector<std::size_t> slots,
                                           std::function<void(log_layout&)> change) {
  try {
    co_await change_layout(std::move(change));
    co_return;
  } catch (const error& failure) {
    if (!can_do_without(failure)) throw;
    go_without(failure.what(), restart_count, slots);
  }
}

ELASTIC_DECL task<void> worker_files::change_layout(std::function<void(log_layout&)> change) {
  if (!layout_.may_hang()) {
    change(layout_);
    co_return;
  }
  std::function<log_layout()> work = [layout = layout_, change = std::move(change)]() mutable {
    change(layout);
    return layout;
  };
  log_layout made = co_await run_blocking<log_layout>(std::move(work));
  layout_ = std::move(made);
}

ELASTIC_DECL std::vector<logs_specs::worker_output> worker_files::plan(
    const std::vector<worker_identity>& identities, int restart_count,
    const std::vector<std::size_t>& slots) {
  const logs_specs::attempt_logs logs{spec_, identities, layout_, host_name()};
  std::vector<logs_specs::worker_output> outputs;
  try {
    outputs = logs_->plan(logs);
  } catch (const error& failure) {
    if (!can_do_without(failure)) throw;
    go_without(failure.what(), restart_count, slots);
    outputs = logs_->plan(logs);
  }
  if (outputs.size() != identities.size()) {
    throw error(errc::invalid_argument,
                fmt::format("the logs specs plan the output of {} workers, and there are {}",
                            outputs.size(), identities.size()));
  }
  warn_of_discarded_output(outputs);
  return outputs;
}

ELASTIC_DECL auto worker_files::files_of(const process_set::process& process) const -> output {
  const auto path_in_layout = [this](const std::string& path) {
    return layout_.is_enabled() && path.starts_with(layout_.root()) ? path : std::string();
  };
  return {path_in_layout(process.out.file), path_in_layout(process.err.file)};
}

ELASTIC_DECL bool worker_files::drop_files(const error& failure, std::size_t slot,
                                           int restart_count, process_set::process& process) {
  const bool has_files = !process.out.file.empty() || !process.err.file.empty();
  if (!has_files || !can_do_without(failure)) return false;
  go_without(failure.what(), restart_count, {slot});
  process.out = without_file(std::move(process.out));
  process.err = without_file(std::move(process.err));
  return true;
}

ELASTIC_DECL bool worker_files::can_do_without(const error& failure) const {
  return are_optional_ && layout_.is_enabled() && failure.code() == errc::file_access;
}

ELASTIC_DECL void worker_files::go_without(const std::string& problem, int restart_count,
                                           const std::vector<std::size_t>& slots) {
  log_.warning("{}; attempt {} has no log files for {}, whose output is shown", problem,
               restart_count, quantity(slots.size(), "worker"));
  for (const std::size_t slot : slots) {
    layout_.go_without_files(restart_count, static_cast<int>(slot));
  }
}

ELASTIC_DECL void worker_files::warn_of_discarded_output(
    const std::vector<logs_specs::worker_output>& outputs) {
  if (std::exchange(has_warned_, true)) return;
  const auto is_lost = [](std_streams redirected, std_streams stream, const output_plan& plan) {
    return contains(redirected, stream) && plan.kind == output_plan::how::null;
  };
  std::size_t workers = 0;
  for (std::size_t slot = 0; slot < outputs.size(); ++slot) {
    const std_streams redirected = spec_.redirects.of(static_cast<int>(slot));
    if (is_lost(redirected, std_streams::out, outputs[slot].out) ||
        is_lost(redirected, std_streams::err, outputs[slot].err)) {
      ++workers;
    }
  }
  if (workers == 0) return;
  log_.warning("the output of {} that {} names is discarded: {} '{}' has no files",
               quantity(workers, "worker"), spec_.name_of("redirects"), spec_.name_of("log_dir"),
               spec_.log_dir);
}

}  // namespace elastic::detail
