// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/node_contact.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace node_contact_tests {

using namespace std::chrono_literals;

using elastic::duration;
using elastic::rendezvous_settings;
using elastic::time_point;
using elastic::detail::node_contact;

/// Silent for at most 15 s, and without connections for at most 1 s.
rendezvous_settings settings() {
  rendezvous_settings value;
  value.keep_alive_interval = 5s;
  value.keep_alive_max_attempt = 3;
  value.reconnect_grace = 1s;
  return value;
}

TEST_CASE("node contact: when a node is lost whose connections end", "[rendezvous]") {
  struct row {
    const char* what;
    std::optional<duration> link_end;
    std::optional<duration> witness_end;
    duration lost_after;
  };
  const row rows[] = {
      {"both stay", {}, {}, 15s},
      {"only the witness ends: the network failed one way", {}, 2s, 15s},
      {"only the link ends", 2s, {}, 15s},
      {"both end at once: the process is gone", 2s, 2s, 3s},
      {"the witness ends within the grace", 2s, 2900ms, 3900ms},
      {"the link ends within the grace", 3s, 2s, 4s},
      {"they end far apart: the network failed", 2s, 3100ms, 15s},
  };
  const time_point start = time_point() + 100s;
  for (const row& each : rows) {
    CAPTURE(each.what);
    node_contact contact;
    contact.begin(1, start);
    contact.begin_witness(2);
    if (each.link_end) contact.end_link(start + *each.link_end);
    if (each.witness_end) contact.end_witness(start + *each.witness_end);
    CHECK(contact.lost_at(settings()) == start + each.lost_after);
  }
}

TEST_CASE("node contact: the end of a witness that is still to come proves nothing",
          "[rendezvous]") {
  const time_point start = time_point() + 100s;
  node_contact contact;
  contact.begin(1, start);
  contact.end_link(start + 2s);
  CHECK(contact.lost_at(settings()) == start + 15s);
  CHECK(contact.last_end() == start + 2s);
}

TEST_CASE("node contact: a new link leaves nothing of the former connections", "[rendezvous]") {
  const time_point start = time_point() + 100s;
  node_contact contact;
  contact.begin(1, start);
  contact.begin_witness(2);
  CHECK(contact.connections() == std::vector<node_contact::connection>{1, 2});
  contact.end_link(start + 1s);
  contact.end_witness(start + 2s);
  CHECK(contact.connections().empty());
  CHECK(contact.last_end() == start + 2s);
  contact.begin(3, start + 3s);
  CHECK(contact.connections() == std::vector<node_contact::connection>{3});
  CHECK(contact.lost_at(settings()) == start + 18s);
}

TEST_CASE("node contact: whatever is heard extends its life", "[rendezvous]") {
  const time_point start = time_point() + 100s;
  node_contact contact;
  contact.begin(1, start);
  contact.heard = start + 4s;
  CHECK(contact.lost_at(settings()) == start + 19s);
}

}  // namespace node_contact_tests
