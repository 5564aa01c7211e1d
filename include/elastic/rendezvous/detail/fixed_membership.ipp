// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/fixed_membership.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL task<rendezvous_change> fixed_membership::wait_for_change() {
  event_flag never(co_await asio::this_coro::executor);
  co_await never.wait();
  co_return rendezvous_change{};
}

ELASTIC_DECL task<rendezvous_change> fixed_membership::report_failure(std::string reason) {
  rendezvous_change change{rendezvous_change::cause::worker_failed, std::move(reason), ++restarts_};
  co_return change;
}

ELASTIC_DECL task<void> fixed_membership::close(rendezvous_handler::job_end, std::string) {
  is_closed_ = true;
  co_return;
}

ELASTIC_DECL void fixed_membership::check_open() const {
  if (is_closed_) {
    throw error(errc::rendezvous_closed, "the rendezvous is closed: the job has ended");
  }
}

}  // namespace elastic::detail
