// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/nodes/detail/leader_source.hpp>
#include <elastic/nodes/detail/registry_connector.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace elastic::detail {

/// The source of a leader that a registry names.
class registry_source final : public leader_source {
 public:
  /// Makes the connector to the agent that leads; called once, for the first round.
  using maker = std::function<task<std::shared_ptr<registry_connector>>()>;

  /// @param name  the name of the registry in messages
  registry_source(std::string backend, std::string name, maker make)
      : backend_(std::move(backend)), name_(std::move(name)), make_(std::move(make)) {}

  std::string backend() const override { return backend_; }
  std::string name() const override { return name_; }
  ELASTIC_DECL task<std::shared_ptr<message_connector>> open(std::uint64_t number) override;
  ELASTIC_DECL void attach(std::shared_ptr<rendezvous_link> link) override;
  task<void> news() override { return link_->news(); }
  ELASTIC_DECL task<void> watch_during(task<void> waiting) override;
  ELASTIC_DECL std::string obstacle() const override;
  ELASTIC_DECL meeting_place server() const override;
  ELASTIC_DECL bool is_at_loopback() const override;
  task<std::shared_ptr<store>> agents() override { return connector_->agents(); }
  ELASTIC_DECL void forget_rounds(const std::string& run_id, std::int64_t first_kept) override;
  ELASTIC_DECL task<void> retire(bool is_job_over) override;

 private:
  std::string backend_;
  std::string name_;
  maker make_;
  std::uint64_t number_ = 0;
  std::shared_ptr<registry_connector> connector_;
  std::shared_ptr<rendezvous_link> link_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/nodes/detail/registry_source.ipp>
#endif
