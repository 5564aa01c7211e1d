// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/warm_standby.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/python/detail/standby_part.hpp>

#include <algorithm>
#include <utility>

namespace elastic {

ELASTIC_DECL void add_warm_standbys(agent_services& services, warm_standby terms) {
  validate(terms);
  add_part(services, "standbys", [terms = std::move(terms)](agent_part::context context) {
    return detail::new_shared<detail::standby_part>(terms, std::move(context));
  });
  // Moves the standbys to the front, so that the other parts wrap workers that standbys become,
  // too.
  std::rotate(services.parts.begin(), services.parts.end() - 1, services.parts.end());
}

}  // namespace elastic
