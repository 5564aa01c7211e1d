// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Every header of the library, opt-in modules included, in a program that uses little of it.

#include <elastic/cli.hpp>
#include <elastic/diagnosis.hpp>
#include <elastic/elastic.hpp>
#include <elastic/etcd.hpp>
#include <elastic/file.hpp>
#include <elastic/functions.hpp>
#include <elastic/nodes.hpp>
#include <elastic/python.hpp>
#include <elastic/roles.hpp>
#include <elastic/status.hpp>
#include <elastic/testing.hpp>
#include <elastic/torch.hpp>
#include <elastic/vault.hpp>
#include <elastic/wire.hpp>

int main() {
  elastic::rendezvous_registry backends;
  elastic::add_file_rendezvous(backends);
  return backends.contains("file") ? 0 : 1;
}
