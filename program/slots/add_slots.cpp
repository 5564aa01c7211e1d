// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/slots/add_slots.hpp>

#include <elastic/agent/agent_part.hpp>
#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/logs_specs.hpp>
#include <elastic/agent/logs_specs_registry.hpp>
#include <elastic/base/log.hpp>
#include <elastic/process/output_sink.hpp>
#include <elastic/process/process_launcher.hpp>
#include <program/slots/task_slots.hpp>

#include <unistd.h>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elasticrun {

namespace {

/// Shows the output of each worker on the streams of its slot, unless lines have a prefix or are
/// JSON.
class slot_logs final : public elastic::logs_specs {
 public:
  slot_logs(std::shared_ptr<task_slots> slots, std::shared_ptr<elastic::logs_specs> inner)
      : slots_(std::move(slots)), inner_(std::move(inner)) {}

  std::vector<worker_output> plan(const attempt_logs& attempt) override {
    std::vector<worker_output> outputs = inner_->plan(attempt);
    for (std::size_t index = 0; index < outputs.size(); ++index) {
      const int place = attempt.workers[index].local_rank;
      if (place == 0 || place >= slots_->plan().count) continue;
      redirect(outputs[index].out, place, STDOUT_FILENO);
      redirect(outputs[index].err, place, STDERR_FILENO);
    }
    return outputs;
  }

 private:
  void redirect(elastic::output_plan& stream, int place, int number) {
    const bool is_plain = stream.prefix.empty() && !stream.json;
    if (stream.kind != elastic::output_plan::how::copy || !is_plain) return;
    std::shared_ptr<elastic::output_sink>& sink = consoles_[{place, number}];
    if (!sink) sink = slots_->console(place, number);
    stream.sink = sink;
  }

  std::shared_ptr<task_slots> slots_;
  std::shared_ptr<elastic::logs_specs> inner_;
  std::map<std::pair<int, int>, std::shared_ptr<elastic::output_sink>> consoles_;
};

/// Gives each worker in a slot the stdout and stderr of that slot. This includes workers that take
/// over a process that already runs, such as a standby.
class slot_streams final : public elastic::process_launcher {
 public:
  slot_streams(std::shared_ptr<task_slots> slots, std::shared_ptr<elastic::process_launcher> inner)
      : slots_(std::move(slots)), inner_(std::move(inner)) {}

  elastic::task<std::unique_ptr<elastic::child>> launch(elastic::process_spec spec) override {
    if (spec.slot > 0 && spec.stdout_fd < 0) {
      spec.stdout_fd = slots_->stream(spec.slot, STDOUT_FILENO);
    }
    if (spec.slot > 0 && spec.stderr_fd < 0) {
      spec.stderr_fd = slots_->stream(spec.slot, STDERR_FILENO);
    }
    return inner_->launch(std::move(spec));
  }

 private:
  std::shared_ptr<task_slots> slots_;
  std::shared_ptr<elastic::process_launcher> inner_;
};

/// Wraps the launchers of all other parts, and compares the ranks of the first round with the
/// scheduler's numbers.
class slots_part final : public elastic::agent_part {
 public:
  slots_part(std::shared_ptr<task_slots> slots, elastic::logger log)
      : slots_(std::move(slots)), log_(std::move(log)) {}

  std::shared_ptr<elastic::process_launcher> wrap(
      std::shared_ptr<elastic::process_launcher> inner) override {
    return std::make_shared<slot_streams>(slots_, std::move(inner));
  }

  elastic::task<void> agree(elastic::rendezvous_round, elastic::assigned_ranks ranks) override {
    if (std::exchange(is_compared_, true)) co_return;
    const std::vector<int>& numbers = slots_->plan().numbers;
    for (std::size_t place = 0; place < numbers.size(); ++place) {
      const int rank = ranks.base_rank + static_cast<int>(place);
      if (numbers[place] == rank) continue;
      log_.warning(
          "ranks differ from the scheduler's numbers of the tasks: task {} has rank {}; ranks are "
          "contiguous on each node",
          numbers[place], rank);
      co_return;
    }
  }

 private:
  std::shared_ptr<task_slots> slots_;
  elastic::logger log_;
  bool is_compared_ = false;
};

}  // namespace

void add_slots(elastic::agent_services& services, std::shared_ptr<task_slots> slots,
               const std::string& logs) {
  if (!logs.empty()) {
    auto inner = services.logs ? services.logs : elastic::logs_specs_registry().make(logs);
    services.logs = std::make_shared<slot_logs>(slots, std::move(inner));
  }
  elastic::add_part(services, "slots",
                    std::make_shared<slots_part>(std::move(slots), services.log));
}

}  // namespace elasticrun
