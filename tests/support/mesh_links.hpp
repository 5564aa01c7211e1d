// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/endpoint.hpp>
#include <elastic/torch/detail/link_network.hpp>
#include <support/simulated_mesh.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace elastic::test {

/// The way of one node's agent to those of others, over a simulated_mesh.
class mesh_links final : public elastic::detail::link_network {
 public:
  /// @param last_place  the place at which a node has served last, of all nodes
  mesh_links(simulated_mesh& over, int node, std::shared_ptr<std::uint16_t> last_place)
      : mesh_(over), node_(node), last_place_(std::move(last_place)) {}

  task<endpoint> serve(std::shared_ptr<store_extension> extension) override {
    place_ = ++*last_place_;
    mesh_.serve(place_, node_, std::move(extension));
    endpoint at;
    at.host = "node" + std::to_string(node_);
    at.port = place_;
    co_return at;
  }
  task<void> stop() override {
    mesh_.close(place_);
    co_return;
  }
  std::shared_ptr<message_connector> connector_to(endpoint at) override {
    return mesh_.connector_of(node_, at.port);
  }
  std::string address() const override { return "node" + std::to_string(node_); }

 private:
  simulated_mesh& mesh_;
  int node_;
  std::shared_ptr<std::uint16_t> last_place_;
  std::uint16_t place_ = 0;
};

}  // namespace elastic::test
