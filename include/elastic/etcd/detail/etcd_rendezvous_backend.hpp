// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/etcd/etcd_client.hpp>
#include <elastic/etcd/etcd_keys.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/torch/rendezvous_backend.hpp>
#include <elastic/torch/torch_dialect.hpp>
#include <elastic/torch/torch_state.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace elastic::detail {

/// Keeps the state of a rendezvous in etcd, by its v3 API, and a key for each of its nodes, which
/// etcd removes when it has not heard of the node for the time of a lease. So etcd alone measures
/// that time, and whoever watches is told at once that a node is gone.
///
/// Errors: also those of `etcd_client`. Thread-safety: one strand at a time.
class etcd_rendezvous_backend final : public rendezvous_backend {
 public:
  /// @param root   what the keys begin with: "/elastic/job/rendezvous/"
  /// @param lease  how long a node may be silent; etcd may choose more, in whole seconds
  ELASTIC_DECL etcd_rendezvous_backend(std::shared_ptr<etcd_client> client, std::string root,
                                       std::shared_ptr<etcd_marker> marker, duration lease,
                                       torch_dialect dialect = torch_dialect::torch_2_6);
  ELASTIC_DECL task<std::optional<stored_state>> get() override;
  ELASTIC_DECL task<set_outcome> set(torch_state state, std::string token) override;
  ELASTIC_DECL task<void> wait_for_change(std::string token) override;

  bool is_patient() const override { return true; }
  bool watches_over_nodes() const override { return true; }

  ELASTIC_DECL task<void> say_alive(node_id node) override;
  ELASTIC_DECL task<void> say_gone() override;

 private:
  using json = nlohmann::json;

  std::string state_key() const { return root_ + "state"; }
  std::string node_key(const node_id& node) const { return root_ + "node/" + node.key(); }

  ELASTIC_DECL json range_of_nodes() const;

  // False if etcd does not know the lease any more: it was not heard of this node for too long.
  ELASTIC_DECL task<bool> refresh();

  // `place` is that of the state among the responses; the nodes come next.
  ELASTIC_DECL std::optional<stored_state> stored_in(const json& answer, std::size_t index);
  ELASTIC_DECL std::set<node_id> living_in(const json& range, const torch_state& state) const;

  std::shared_ptr<etcd_client> client_;
  std::string root_;
  std::shared_ptr<etcd_marker> marker_;
  std::int64_t lease_seconds_;
  torch_dialect dialect_;
  std::int64_t lease_ = 0;
  /// The version at which no state was seen.
  std::string nothing_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/detail/impl/etcd_rendezvous_backend.ipp>
#endif
