// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/registry_source.hpp>

#include <elastic/base/race.hpp>
#include <elastic/net/local_address.hpp>

#include <optional>

namespace elastic::detail {

ELASTIC_DECL task<std::shared_ptr<message_connector>> registry_source::open(std::uint64_t number) {
  number_ = number;
  connector_ = co_await make_();
  co_return connector_;
}

ELASTIC_DECL void registry_source::attach(std::shared_ptr<rendezvous_link> link) {
  link_ = std::move(link);
  registry_connector::node_state state;
  state.number = number_;
  const std::weak_ptr<rendezvous_link> known = link_;
  state.loss = [known]() -> std::optional<duration> {
    const auto own = known.lock();
    return own ? own->until_leader_is_fenced() : std::nullopt;
  };
  state.skip_rounds_through = [known](std::int64_t last) {
    if (const auto own = known.lock()) own->skip_rounds_through(last);
  };
  connector_->attach(std::move(state));
  // The node's claims depend on it.
  link_->tell_ends();
}

ELASTIC_DECL task<void> registry_source::watch_during(task<void> waiting) {
  co_await race(std::move(waiting), connector_->watch_registry());
}

ELASTIC_DECL std::string registry_source::obstacle() const {
  return connector_ ? connector_->obstacle() : std::string();
}

ELASTIC_DECL meeting_place registry_source::server() const {
  return {connector_->leader().host, connector_->reaches_own_process()};
}

ELASTIC_DECL bool registry_source::is_at_loopback() const {
  return is_loopback(connector_->leader().host);
}

ELASTIC_DECL void registry_source::forget_rounds(const std::string& run_id,
                                                 std::int64_t first_kept) {
  connector_->forget_rounds(run_id, first_kept);
}

ELASTIC_DECL task<void> registry_source::retire(bool is_job_over) {
  if (connector_) co_await connector_->leave(is_job_over);
}

}  // namespace elastic::detail
