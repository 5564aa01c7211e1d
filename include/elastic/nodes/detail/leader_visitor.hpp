// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/nodes/detail/candidate_message.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <elastic/store/detail/store_extension.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

namespace elastic::detail {

/// One connection to an agent that leads a job or may lead it later. The client first asks who
/// leads; after that, the connection is a node's conversation with the job's service.
///
/// Thread-safety: that of a server's extensions.
class leader_visitor : public store_extension::conversation {
 public:
  ELASTIC_DECL explicit leader_visitor(store_extension::client& peer);
  ELASTIC_DECL ~leader_visitor() override;
  leader_visitor(const leader_visitor&) = delete;
  leader_visitor& operator=(const leader_visitor&) = delete;

  ELASTIC_DECL void received(std::string_view bytes) final;
  ELASTIC_DECL std::size_t held() const final;

  ELASTIC_DECL void send(const candidate_answer& answer);
  ELASTIC_DECL void say_frame(std::string_view text);

  /// Makes the client a node of the job, whose first message is `message`.
  ELASTIC_DECL void enter(std::shared_ptr<rendezvous_service> service, std::string_view message);

  /// Ends the connection once everything is sent, and ignores what arrives meanwhile.
  ELASTIC_DECL void dismiss();

 protected:
  /// Called for each message before the client enters.
  virtual void greet(std::string_view message) = 0;
  /// Called after the service has received something.
  virtual void noted() = 0;

  void raise_bound(std::size_t bytes) { frames_.raise_bound(bytes); }

  /// Ends the conversation with the service before the objects to which it refers are gone.
  void leave() { node_.reset(); }

 private:
  ELASTIC_DECL void pass_on(std::string_view message);

  store_extension::client& from_;
  frame_reader frames_;
  bool is_dismissed_ = false;
  // It refers to the service.
  std::shared_ptr<rendezvous_service> service_;
  std::unique_ptr<conversation> node_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/leader_visitor.ipp>
#endif
