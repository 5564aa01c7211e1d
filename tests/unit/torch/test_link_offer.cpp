// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/torch/detail/link_offer.hpp>

#include <elastic/base/error.hpp>
#include <support/catch.hpp>

#include <string>
#include <vector>

namespace link_offer_tests {

using elastic::detail::link_offer;
using elastic::detail::new_link_password;
using elastic::detail::parse_link_offer;

TEST_CASE("link offer: is read as it was written", "[rendezvous]") {
  for (const std::string host : {"10.0.0.1", "::1", "some-host.example"}) {
    const link_offer offer{{host, 40123}, new_link_password()};
    CHECK(parse_link_offer(to_text(offer)) == offer);
  }
  CHECK(new_link_password() != new_link_password());
  CHECK(new_link_password().size() == link_offer::password_letters);
}

TEST_CASE("link offer: what is none is refused, and no password is shown", "[rendezvous]") {
  const std::string password(link_offer::password_letters, 'a');
  const std::vector<std::string> texts = {
      "",
      password,
      password + " ",
      password + " 10.0.0.1",
      password + " 10.0.0.1:0",
      password + " 10.0.0.1:65536",
      password + "  10.0.0.1:",
      password + "a 10.0.0.1:1",
      password + ":10.0.0.1:1",
      std::string(link_offer::password_letters, 'A') + " 10.0.0.1:1",
      password + " " + std::string(300, 'h') + ":1",
  };
  for (const std::string& text : texts) {
    INFO(text);
    try {
      parse_link_offer(text);
      FAIL("it was taken");
    } catch (const elastic::error& refused) {
      const std::string why = refused.what();
      CHECK(refused.code() == elastic::errc::protocol_violation);
      CHECK(why.size() < 250);
      const bool shows = why.find(password + " ") != std::string::npos;
      CHECK_FALSE(shows);
    }
  }
}

}  // namespace link_offer_tests
