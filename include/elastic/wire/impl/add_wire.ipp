// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/wire/add_wire.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/wire/detail/wire_extension.hpp>

#include <memory>
#include <utility>

namespace elastic {

ELASTIC_DECL void add_wire(agent_services& services, wire_terms terms) {
  validate(terms);
  services.extension = [terms = std::move(terms),
                        inner = std::move(services.extension)](agent_extension::context context) {
    auto made = inner ? inner(context) : std::make_unique<agent_extension>();
    return std::make_unique<detail::wire_extension>(terms, std::move(context), std::move(made));
  };
}

}  // namespace elastic
