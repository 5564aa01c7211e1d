// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/backends.hpp>

#include <elastic/etcd.hpp>
#include <elastic/file.hpp>
#include <elastic/torch.hpp>

namespace elasticrun {

std::shared_ptr<const elastic::rendezvous_registry> every_backend() {
  const auto backends = std::make_shared<elastic::rendezvous_registry>();
  elastic::add_etcd_rendezvous(*backends);
  elastic::add_file_rendezvous(*backends);
  elastic::add_torch_rendezvous(*backends);
  return backends;
}

}  // namespace elasticrun
