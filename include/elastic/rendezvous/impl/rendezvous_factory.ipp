// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/rendezvous_factory.hpp>

#include <elastic/base/error.hpp>

namespace elastic {

ELASTIC_DECL rendezvous_factory::rendezvous_factory(std::string backend, std::string run_id,
                                                    chooser choose)
    : backend_(std::move(backend)), run_id_(std::move(run_id)), choose_(std::move(choose)) {}

ELASTIC_DECL task<std::shared_ptr<rendezvous_handler>> rendezvous_factory::make(
    std::shared_ptr<rendezvous_handler>& tried) const {
  if (handler_) co_return handler_;
  if (!choose_) throw error(errc::invalid_argument, "there is no rendezvous");
  task<std::shared_ptr<rendezvous_handler>> choosing = choose_(tried);
  co_return co_await std::move(choosing);
}

}  // namespace elastic
