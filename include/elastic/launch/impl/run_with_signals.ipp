// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/run_with_signals.hpp>

#include <elastic/launch/detail/signalled_run.hpp>

namespace elastic {

ELASTIC_DECL task<run_result> run_with_signals(local_agent& agent, named<signal_plan> plan) {
  return detail::run_signalled<run_result>(agent, plan, {});
}

ELASTIC_DECL task<run_result> run_with_signals(local_agent& agent) {
  return detail::run_signalled<run_result>(agent, signal_plan(), {});
}

}  // namespace elastic
