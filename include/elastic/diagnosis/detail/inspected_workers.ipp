// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/inspected_workers.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/diagnosis/detail/embedded.hpp>
#include <elastic/diagnosis/detail/recorder_client.hpp>

#include <charconv>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Whether a program's name says that it is Python: python3, python3.11, pypy3 …
inline bool is_python(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name.starts_with("python") || name.starts_with("pypy");
}

ELASTIC_DECL inspected_workers::inspected_workers(std::shared_ptr<process_launcher> next,
                                                  std::shared_ptr<time_source> time, bool hooks)
    : next_(std::move(next)), time_(std::move(time)) {
  if (!hooks) return;
  hook_.emplace(inspection_hook_py);
  folder_.emplace();
}

ELASTIC_DECL auto inspected_workers::place_of(const process_spec& spec) -> std::shared_ptr<place> {
  const auto slot = find_variable(environment_from(spec.environment), "LOCAL_RANK");
  if (!hook_ || !hook_->exists() || folder_->path().empty()) return nullptr;
  if (!slot || !is_python(spec.program)) return nullptr;
  std::shared_ptr<place>& known = places_[*slot];
  if (!known) known = new_shared<place>();
  return known->pipe.path().empty() ? nullptr : known;
}

ELASTIC_DECL process_spec inspected_workers::hooked(process_spec spec, const place& entry) const {
  spec = hook_->hooked(std::move(spec), "ELASTIC_INSPECTION",
                       fmt::format("{}:{}", entry.pipe.path(), folder_->path()));
  if (!find_variable(environment_from(spec.environment), "TORCH_FR_BUFFER_SIZE")) {
    spec.environment.push_back(fmt::format("TORCH_FR_BUFFER_SIZE={}", limits::recorded_operations));
  }
  return spec;
}

ELASTIC_DECL task<std::unique_ptr<child>> inspected_workers::launch(process_spec spec) {
  const std::shared_ptr<place> entry = place_of(spec);
  if (entry) {
    describe(spec, *entry);
    spec = hooked(std::move(spec), *entry);
  }
  std::unique_ptr<child> process = co_await next_->launch(std::move(spec));
  if (entry) entry->process = new_shared<process_handle>(process->pid());
  co_return process;
}

/// Reads the facts from the environment that every worker has.
ELASTIC_DECL void inspected_workers::describe(const process_spec& spec, place& entry) {
  const environment_map environment = environment_from(spec.environment);
  const auto size = find_variable(environment, "WORLD_SIZE");
  entry.world_size = 1;
  if (size) std::from_chars(size->data(), size->data() + size->size(), entry.world_size);
  // FOLDER/LOCAL_RANK/error.json
  const auto error_file = find_variable(environment, "TORCHELASTIC_ERROR_FILE");
  const std::filesystem::path path(error_file.value_or(""));
  entry.log_folder = path.parent_path().parent_path();
}

ELASTIC_DECL void inspected_workers::begin_attempt() {
  for (auto& [slot, at] : places_) at->process.reset();
  if (folder_) folder_->remove_ended();
}

ELASTIC_DECL task<std::vector<worker_inspection>> inspected_workers::inspect(
    std::vector<agent_part::attempt_worker> workers, time_point deadline) {
  std::vector<worker_inspection> found(workers.size());
  std::vector<task<void>> inspections;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    found[i].worker = workers[i];
    inspections.push_back(inspect_one(found[i], deadline));
  }
  // Runs on a separate thread, since there are many files: one or more for each thread of each
  // worker.
  std::function<std::vector<std::optional<process_facts>>()> work = [workers] {
    std::vector<std::optional<process_facts>> facts;
    for (const agent_part::attempt_worker& each : workers) {
      facts.push_back(read_process_facts(each.pid, limits::inspected_threads));
    }
    return facts;
  };
  using all_facts = std::vector<std::optional<process_facts>>;
  task<all_facts> reading = run_blocking<all_facts>(std::move(work));
  const all_facts facts = co_await std::move(reading);
  co_await when_all(std::move(inspections));
  for (std::size_t i = 0; i < workers.size(); ++i) found[i].facts = facts[i];
  co_return found;
}

ELASTIC_DECL task<void> inspected_workers::inspect_one(worker_inspection& found,
                                                       time_point deadline) {
  const auto known = places_.find(std::to_string(found.worker.local_rank));
  if (known == places_.end()) co_return;
  const std::shared_ptr<place> entry = known->second;
  const bool is_known = entry->process && entry->process->pid() == found.worker.pid;
  found.is_hooked = is_known;
  found.world_size = entry->world_size;
  found.log_folder = entry->log_folder;
  // Two concurrent inspections would read each other's stacks.
  if (!found.is_hooked || std::exchange(entry->is_busy, true)) co_return;
  const struct freeing {
    place& used;
    ~freeing() { used.is_busy = false; }
  } guard{*entry};
  std::vector<task<void>> asking;
  asking.push_back(ask_server(found, deadline));
  asking.push_back(ask_python(found, entry, deadline));
  co_await when_all(std::move(asking));
}

/// Asks the recorder's server. Its thread answers even while Python is blocked.
ELASTIC_DECL task<void> inspected_workers::ask_server(worker_inspection& found,
                                                      time_point deadline) {
  const std::string socket = folder_->socket_of(found.worker.pid);
  try {
    task<std::vector<std::string>> reading = read_recorders(socket);
    const auto recorders = co_await with_deadline(*time_, deadline, std::move(reading));
    found.is_silent = !recorders;
    if (recorders) found.recorders = *recorders;
  } catch (const error&) {
    // PyTorch is not imported or too old, or its server does not answer as expected or has ended.
  }
  if (!found.recorders.empty()) co_return;
  std::function<std::vector<std::string>()> work = [socket] { return read_left_recorders(socket); };
  task<std::vector<std::string>> reading = run_blocking<std::vector<std::string>>(std::move(work));
  found.recorders = co_await std::move(reading);
  if (!found.recorders.empty()) found.is_silent = false;
}

ELASTIC_DECL task<void> inspected_workers::ask_python(worker_inspection& found,
                                                      std::shared_ptr<place> entry,
                                                      time_point deadline) {
  task<std::string> asking = entry->pipe.ask(entry->process, time_);
  const auto stacks = co_await with_deadline(*time_, deadline, std::move(asking));
  if (stacks) found.stacks = *stacks;
}

}  // namespace elastic::detail
