// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/nodes/detail/leader_record.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace leader_record_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::job_secret;
using elastic::detail::leader_record;
using elastic::detail::loss_claim;
using elastic::detail::parse_leader_record;
using elastic::detail::parse_loss_claim;
using elastic::detail::registry_text;

const std::string place = "the key 'leader'";

leader_record full_record() {
  leader_record record;
  record.address = {"10.0.0.7", 40123};
  record.password = "abcdefghijkl";
  record.agent = 0xfedcba9876543210;
  record.silence = 15s;
  record.lease = 80s;
  record.kept.term = 7;
  record.kept.sequence = 3;
  record.kept.round = 12;
  record.kept.members = {1, 0xfedcba9876543210};
  record.kept.leader_node = 0xfedcba9876543210;
  record.kept.restarts = 2;
  return record;
}

errc code_of(std::string_view text, const std::optional<job_secret>& secret = std::nullopt) {
  try {
    parse_leader_record(text, place, secret);
  } catch (const elastic::error& failure) {
    CHECK(std::string(failure.what()).find(place) != std::string::npos);
    return static_cast<errc>(failure.code().value());
  }
  FAIL("it was taken");
  return errc::invalid_argument;
}

TEST_CASE("leader record: other releases read the same bytes", "[rendezvous]") {
  const leader_record record = full_record();
  const std::string text =
      R"({"host": "10.0.0.7", "port": 40123, "password": "abcdefghijkl", )"
      R"("agent": "fedcba9876543210", "silence_ms": 15000, "lease_ms": 80000, "written_in": 7, )"
      R"("sequence": 3, "round": 12, "members": "0000000000000001fedcba9876543210", )"
      R"("leader_node": "fedcba9876543210", "restarts": 2, "uncertain": false, )"
      R"("all_finished": false})";
  CHECK(registry_text(record, std::nullopt) == text);
  const leader_record read = parse_leader_record(text, place, std::nullopt);
  CHECK(read.address == record.address);
  CHECK(read.password == record.password);
  CHECK(read.agent == record.agent);
  CHECK(read.silence == record.silence);
  CHECK(read.lease == record.lease);
  CHECK(read.kept == record.kept);
  const loss_claim claim{7, 12, 350ms};
  CHECK(registry_text(claim, std::nullopt) == R"({"term": 7, "round": 12, "wait_ms": 350})");
}

TEST_CASE("leader record: what is of another form is refused, with its place", "[rendezvous]") {
  const std::string good = registry_text(full_record(), std::nullopt);
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("cos\nsystem"), good.substr(0, 40),
        std::string(400'000, 'x')}) {
    CHECK(code_of(text) == errc::invalid_argument);
  }
  std::string other_port = good;
  other_port.replace(other_port.find("40123"), 5, "65536");
  CHECK(code_of(other_port) == errc::invalid_argument);
}

#if defined(ELASTIC_HAS_TLS)
TEST_CASE("leader record: with a secret, only who holds it can write one", "[rendezvous]") {
  const std::optional<job_secret> secret(job_secret("0123456789abcdef0123456789abcdef"));
  const std::optional<job_secret> other(job_secret("fedcba9876543210fedcba9876543210"));
  const std::string text = registry_text(full_record(), secret);
  CHECK(parse_leader_record(text, place, secret).kept == full_record().kept);
  CHECK(code_of(text, other) == errc::invalid_argument);
  CHECK(code_of(text) == errc::invalid_argument);
  CHECK(code_of(registry_text(full_record(), std::nullopt), secret) == errc::invalid_argument);
  std::string forged = text;
  forged.replace(forged.find("10.0.0.7"), 8, "10.0.0.8");
  CHECK(code_of(forged, secret) == errc::invalid_argument);
  const std::string claim = registry_text(loss_claim{1, 2, 3ms}, secret);
  CHECK(parse_loss_claim(claim, place, secret).round == 2);
  CHECK_THROWS_AS(parse_loss_claim(claim, place, other), elastic::error);
}
#endif

}  // namespace leader_record_tests
