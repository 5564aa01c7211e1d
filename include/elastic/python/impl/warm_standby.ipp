// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/warm_standby.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/error.hpp>
#include <elastic/python/detail/standby_extension.hpp>

#include <memory>
#include <utility>

namespace elastic {

ELASTIC_DECL void add_warm_standbys(agent_services& services, warm_standby terms) {
  validate(terms);
  if (services.extension) {
    throw error(errc::invalid_argument, "the services of an agent take one extension");
  }
  services.extension = [terms = std::move(terms)](agent_extension::context context) {
    return std::make_unique<detail::standby_extension>(terms, std::move(context));
  };
}

}  // namespace elastic
