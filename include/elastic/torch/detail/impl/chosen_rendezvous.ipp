// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/chosen_rendezvous.hpp>

#include <elastic/base/error.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL chosen_rendezvous::chosen_rendezvous(std::string backend, std::string run_id,
                                                  maker make)
    : backend_(std::move(backend)), run_id_(std::move(run_id)), make_(std::move(make)) {}

ELASTIC_DECL task<rendezvous_round> chosen_rendezvous::next_round() {
  if (was_in_round_) co_return co_await chosen_->next_round();
  rendezvous_round round = co_await first_round();
  was_in_round_ = true;
  co_return round;
}

ELASTIC_DECL task<rendezvous_change> chosen_rendezvous::report_failure(std::string reason) {
  return chosen().report_failure(std::move(reason));
}

ELASTIC_DECL task<void> chosen_rendezvous::wait_for_fence() {
  return chosen_ ? chosen_->wait_for_fence() : rendezvous_handler::wait_for_fence();
}

ELASTIC_DECL void chosen_rendezvous::pause(std::string why, bool saves_first) {
  chosen().pause(std::move(why), saves_first);
}

ELASTIC_DECL void chosen_rendezvous::resume() {
  if (chosen_) chosen_->resume();
}

ELASTIC_DECL void chosen_rendezvous::keep_out(std::string why) {
  if (chosen_) chosen_->keep_out(std::move(why));
}

ELASTIC_DECL task<int> chosen_rendezvous::num_nodes_waiting() {
  if (!chosen_) co_return 0;
  co_return co_await chosen_->num_nodes_waiting();
}

ELASTIC_DECL task<void> chosen_rendezvous::close(job_end how, std::string why) {
  if (chosen_) co_await chosen_->close(how, std::move(why));
}

ELASTIC_DECL task<void> chosen_rendezvous::shutdown() {
  if (chosen_) co_await chosen_->shutdown();
}

ELASTIC_DECL task<rendezvous_round> chosen_rendezvous::first_round() {
  if (!chosen_) chosen_ = co_await make_();
  co_return co_await chosen_->next_round();
}

ELASTIC_DECL rendezvous_handler& chosen_rendezvous::chosen() const {
  if (!chosen_) throw error(errc::invalid_argument, "this node was in no round yet");
  return *chosen_;
}

}  // namespace elastic::detail
