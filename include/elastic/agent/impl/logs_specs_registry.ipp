// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/logs_specs_registry.hpp>

#include <elastic/agent/detail/workers/default_logs_specs.hpp>
#include <elastic/base/detail/new_shared.hpp>

#include <memory>

namespace elastic {

ELASTIC_DECL logs_specs_registry::logs_specs_registry()
    : named_factories("there are no logs specs") {
  add("default", [] { return detail::new_shared<detail::default_logs_specs>(); });
}

}  // namespace elastic
