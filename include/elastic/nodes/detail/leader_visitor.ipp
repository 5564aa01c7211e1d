// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/leader_visitor.hpp>

#include <elastic/base/limits.hpp>

#include <string>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL leader_visitor::leader_visitor(store_extension::client& peer)
    : from_(peer), frames_(limits::first_message_bytes) {}

ELASTIC_DECL leader_visitor::~leader_visitor() = default;

ELASTIC_DECL void leader_visitor::received(std::string_view bytes) {
  frames_.append(bytes);
  while (const auto message = frames_.next()) {
    if (is_dismissed_) return;
    if (node_) {
      pass_on(*message);
    } else {
      greet(*message);
    }
  }
}

ELASTIC_DECL std::size_t leader_visitor::held() const {
  return frames_.held() + (node_ ? node_->held() : 0);
}

ELASTIC_DECL void leader_visitor::send(const candidate_answer& answer) {
  say_frame(candidate_text(answer));
}

ELASTIC_DECL void leader_visitor::say_frame(std::string_view text) {
  std::string frame;
  append_frame(frame, text);
  from_.send(frame);
}

ELASTIC_DECL void leader_visitor::enter(std::shared_ptr<rendezvous_service> service,
                                        std::string_view message) {
  service_ = std::move(service);
  node_ = service_->begin(from_);
  pass_on(message);
}

ELASTIC_DECL void leader_visitor::dismiss() {
  is_dismissed_ = true;
  node_.reset();
  service_.reset();
  from_.hang_up();
}

ELASTIC_DECL void leader_visitor::pass_on(std::string_view message) {
  std::string frame;
  append_frame(frame, message);
  node_->received(frame);
  noted();
}

}  // namespace elastic::detail
