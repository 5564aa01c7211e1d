// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/local_stacks.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/inspected_workers.hpp>
#include <elastic/diagnosis/detail/inspection_answer.hpp>
#include <elastic/net/host_name.hpp>

#include <memory>
#include <utility>

namespace elastic {

ELASTIC_DECL task<std::string> local_stacks(
    named<std::vector<agent_part::attempt_worker>> workers) {
  const auto time = detail::new_shared<system_time>();
  detail::inspected_workers inspected(nullptr, time, false);
  task<std::vector<detail::worker_inspection>> inspecting =
      inspected.inspect(workers, time->now() + limits::inspection_time);
  const std::vector<detail::worker_inspection> found = co_await std::move(inspecting);
  detail::node_answer answer;
  answer.node = host_name();
  answer.ranks = detail::ranks_of(found, time->now(), time->wall_now());
  for (detail::inspected_rank& rank : answer.ranks) rank.evidence.node = answer.node;
  co_return detail::report_stacks({detail::to_text(answer, true)}, {}, false).text;
}

}  // namespace elastic
