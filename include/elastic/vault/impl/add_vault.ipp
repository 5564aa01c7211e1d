// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/add_vault.hpp>

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/vault/detail/vault_part.hpp>

#include <utility>

namespace elastic {

ELASTIC_DECL void add_vault(agent_services& services, vault_terms terms) {
  validate(terms);
  const std::uint64_t limit = vault_limit(terms);
  add_part(services, "vault", [limit](agent_part::context context) {
    return detail::new_shared<detail::vault_part>(limit, std::move(context));
  });
}

}  // namespace elastic
