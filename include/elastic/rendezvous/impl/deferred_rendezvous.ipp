// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/deferred_rendezvous.hpp>

#include <elastic/base/error.hpp>

#include <utility>

namespace elastic {

ELASTIC_DECL deferred_rendezvous::deferred_rendezvous(std::string backend, std::string run_id,
                                                      maker make)
    : backend_(std::move(backend)), run_id_(std::move(run_id)), make_(std::move(make)) {}

ELASTIC_DECL task<rendezvous_round> deferred_rendezvous::next_round() {
  if (!made_) made_ = co_await make_();
  co_return co_await made_->next_round();
}

ELASTIC_DECL task<rendezvous_change> deferred_rendezvous::report_failure(std::string what) {
  return made().report_failure(std::move(what));
}

ELASTIC_DECL task<int> deferred_rendezvous::num_nodes_waiting() {
  if (!made_) co_return 0;
  co_return co_await made_->num_nodes_waiting();
}

ELASTIC_DECL task<void> deferred_rendezvous::close(job_end how, std::string why) {
  if (made_) co_await made_->close(how, std::move(why));
}

ELASTIC_DECL task<void> deferred_rendezvous::shutdown() {
  if (made_) co_await made_->shutdown();
}

ELASTIC_DECL rendezvous_handler& deferred_rendezvous::made() const {
  if (!made_) throw error(errc::invalid_argument, "this node was in no round yet");
  return *made_;
}

}  // namespace elastic
