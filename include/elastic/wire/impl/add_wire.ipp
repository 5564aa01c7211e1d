// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/wire/add_wire.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/wire/detail/wire_part.hpp>

#include <utility>

namespace elastic {

ELASTIC_DECL void add_wire(agent_services& services, wire_terms terms) {
  validate(terms);
  add_part(services, "wire-ups", [terms = std::move(terms)](agent_part::context context) {
    return detail::new_shared<detail::wire_part>(terms, std::move(context));
  });
}

}  // namespace elastic
