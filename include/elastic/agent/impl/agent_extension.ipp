// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_extension.hpp>

namespace elastic {

ELASTIC_DECL std::shared_ptr<process_launcher> agent_extension::launcher() { return nullptr; }

ELASTIC_DECL duration agent_extension::join_delay() { return duration::zero(); }

ELASTIC_DECL duration agent_extension::stop_delay(const rendezvous_change&) {
  return duration::zero();
}

ELASTIC_DECL task<void> agent_extension::until_ready() { co_return; }

ELASTIC_DECL task<void> agent_extension::prepare_attempt() { co_return; }

ELASTIC_DECL void agent_extension::begin_attempt() {}

ELASTIC_DECL void agent_extension::begin_replacement() { begin_attempt(); }

ELASTIC_DECL std::optional<worker_starts> agent_extension::starts() const { return std::nullopt; }

ELASTIC_DECL task<void> agent_extension::beside_workers(bool) { co_return; }

ELASTIC_DECL void agent_extension::end_attempt() {}

ELASTIC_DECL task<void> agent_extension::close() { co_return; }

}  // namespace elastic
