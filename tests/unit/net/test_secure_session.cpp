// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/secure_session.hpp>
#include <elastic/net/job_secret.hpp>
#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace secure_session_tests {

using elastic::errc;
using elastic::job_secret;
using elastic::detail::secure_session;
using elastic::detail::session_role;

const std::string bytes_of_a = "0123456789abcdef0123456789abcdef";
const std::string bytes_of_b = "fedcba9876543210fedcba9876543210";

/// What `session` makes of bytes: the plain text, or the error.
struct outcome {
  std::string plain_text;
  std::optional<errc> failure;
  std::string reason;
};

outcome take(secure_session& session, std::string_view bytes) {
  outcome result;
  try {
    session.received(bytes, result.plain_text);
  } catch (const elastic::error& failure) {
    result.failure = static_cast<errc>(failure.code().value());
    result.reason = failure.what();
  }
  return result;
}

/// Two ends, and everything that goes between them until neither has anything to say.
struct pair {
  explicit pair(const std::string& client_secret = bytes_of_a,
                const std::string& server_secret = bytes_of_a)
      : client(job_secret(client_secret), session_role::client),
        server(job_secret(server_secret), session_role::server) {}

  /// @param piece  how many bytes arrive at a time
  void talk(std::size_t piece = 1 << 20) {
    for (bool is_over = false; !is_over;) {
      const bool has_sent = pass(client, server, server_outcome, piece);
      const bool has_answered = pass(server, client, client_outcome, piece);
      is_over = !has_sent && !has_answered;
    }
  }

  secure_session client;
  secure_session server;
  outcome client_outcome;
  outcome server_outcome;

 private:
  static bool pass(secure_session& sender, secure_session& receiver, outcome& receiver_outcome,
                   std::size_t piece) {
    const std::string bytes = sender.take_output();
    for (std::size_t i = 0; i < bytes.size() && !receiver_outcome.failure; i += piece) {
      outcome result = take(receiver, std::string_view(bytes).substr(i, piece));
      receiver_outcome.plain_text += result.plain_text;
      receiver_outcome.failure = result.failure;
      receiver_outcome.reason = result.reason;
    }
    return !bytes.empty();
  }
};

TEST_CASE("secure session: two ends with one secret understand each other, in whatever pieces",
          "[net][tls]") {
  const std::size_t piece = GENERATE(1, 7, 1 << 20);
  CAPTURE(piece);
  pair ends;
  // What is said before the other side has shown its secret waits.
  ends.client.send("elastic rendezvous\n");
  ends.talk(piece);
  REQUIRE(ends.client.is_ready());
  REQUIRE(ends.server.is_ready());
  CHECK(ends.server_outcome.plain_text == "elastic rendezvous\n");
  const std::string long_text(100'000, 'x');
  ends.server.send(long_text);
  ends.client.send("a");
  ends.client.send("b");
  ends.talk(piece);
  CHECK(ends.client_outcome.plain_text == long_text);
  CHECK(ends.server_outcome.plain_text == "elastic rendezvous\nab");
  CHECK(!ends.client_outcome.failure);
  CHECK(!ends.server_outcome.failure);
}

TEST_CASE("secure session: a client learns that the server is busy", "[net][tls]") {
  pair ends;
  CHECK_FALSE(ends.client.is_in_handshake());
  SECTION("by the server's alert") {
    const std::size_t piece = GENERATE(1, 3, 7);
    outcome busy;
    std::string_view alert = elastic::detail::busy_alert();
    for (; !alert.empty() && !busy.failure; alert.remove_prefix(std::min(piece, alert.size()))) {
      busy = take(ends.client, alert.substr(0, piece));
    }
    CHECK(busy.failure == errc::connection_failed);
  }
  SECTION("by the end of a handshake that has begun") {
    take(ends.server, ends.client.take_output());
    CHECK_FALSE(take(ends.client, ends.server.take_output().substr(0, 20)).failure);
  }
  CHECK(ends.client.is_in_handshake());
}

TEST_CASE("secure session: nothing of what is said, nor of the secret, is in what is sent",
          "[net][tls]") {
  pair ends;
  ends.client.send("the run id");
  std::string wire = ends.client.take_output();
  outcome result = take(ends.server, wire);
  const std::string answer = ends.server.take_output();
  take(ends.client, answer);
  wire += answer + ends.client.take_output();
  REQUIRE(ends.client.is_ready());
  CHECK(wire.find("the run id") == wire.npos);
  CHECK(wire.find(bytes_of_a.substr(0, 8)) == wire.npos);
}

TEST_CASE("secure session: another secret is told apart at both ends", "[net][tls]") {
  pair ends(bytes_of_a, bytes_of_b);
  ends.client.send("words");
  ends.talk();
  CHECK(ends.server_outcome.failure == errc::protocol_violation);
  CHECK(ends.server_outcome.reason.find("does not hold this job's secret") != std::string::npos);
  CHECK(ends.client_outcome.failure == errc::invalid_argument);
  CHECK(ends.client_outcome.reason.find("is not that of the other side") != std::string::npos);
  CHECK(!ends.client.is_ready());
  CHECK(!ends.server.is_ready());
  CHECK(ends.server_outcome.plain_text.empty());
}

TEST_CASE("secure session: a server answers a client without a secret that one is needed",
          "[net][tls]") {
  secure_session server(job_secret(bytes_of_a), session_role::server);
  const outcome result = take(server, "elastic rendezvous\n");
  CHECK(result.failure == errc::protocol_violation);
  const std::string answer = server.take_output();
  CHECK(elastic::detail::is_secret_needed(answer));
  CHECK(!elastic::detail::is_secret_needed(elastic::detail::no_secret_alert().substr(0, 3)));
}

TEST_CASE("secure session: a server takes no memory for a message beyond its first record",
          "[net][tls]") {
  const auto [name, message] = GENERATE(table<std::string, std::string>({
      {"nothing", ""},
      {"half of a header", {"\x01\x00", 2}},
      {"the beginning of 64 KiB", std::string("\x01\x01\x00\x00", 4) + std::string(508, 'x')},
      {"two messages", std::string("\x01\x00\x00\x02xx\x01\x00\x00\x00", 10)},
      {"another message", std::string("\x02\x00\x00\x02xx", 6)},
  }));
  CAPTURE(name);
  secure_session server(job_secret(bytes_of_a), session_role::server);
  const std::string record = std::string("\x16\x03\x01", 3) +
                             static_cast<char>(message.size() >> 8) +
                             static_cast<char>(message.size() & 0xff) + message;
  const outcome result = take(server, record);
  CHECK(result.failure == errc::protocol_violation);
  CHECK(result.reason == "its first TLS record is not a whole ClientHello");
  CHECK(server.held() < 2 * record.size() + 100);
}

TEST_CASE("secure session: a client tells who has no secret", "[net][tls]") {
  const std::string answer = GENERATE(
      as<std::string>(), std::string(elastic::detail::no_secret_alert()), "\x02", "HTTP/1.1 400");
  secure_session client(job_secret(bytes_of_a), session_role::client);
  CHECK(elastic::detail::is_secure_greeting(client.take_output()));
  const outcome result = take(client, answer);
  CHECK(result.failure == errc::invalid_argument);
  CHECK(result.reason == "this node has a secret (secret_file), the other side has none");
}

TEST_CASE("secure session: one that is fed its own bytes believes nothing", "[net][tls]") {
  secure_session client(job_secret(bytes_of_a), session_role::client);
  const std::string greeting = client.take_output();
  CHECK(take(client, greeting).failure);
  CHECK(!client.is_ready());
  // Nor one that is fed what another client said.
  pair ends;
  ends.client.send("words");
  const std::string first_bytes = ends.client.take_output();
  take(ends.server, first_bytes);
  const std::string second_bytes = ends.server.take_output();
  CHECK(take(ends.client, second_bytes).plain_text.empty());
  secure_session third_client(job_secret(bytes_of_a), session_role::client);
  third_client.take_output();
  CHECK(take(third_client, second_bytes).failure);
}

TEST_CASE("secure session: a conversation that is recorded cannot be played again", "[net][tls]") {
  pair ends;
  ends.client.send("words");
  const std::string hello = ends.client.take_output();
  take(ends.server, hello);
  take(ends.client, ends.server.take_output());
  const std::string rest = ends.client.take_output();
  CHECK(take(ends.server, rest).plain_text == "words");
  secure_session second_server(job_secret(bytes_of_a), session_role::server);
  CHECK(!take(second_server, hello).failure);
  CHECK(take(second_server, rest).failure == errc::protocol_violation);
  CHECK(!second_server.is_ready());
}

/// What a client says up to and with its first words, and what a server says up to then.
std::pair<std::string, std::string> record_conversation() {
  pair ends;
  ends.client.send("words");
  std::string client_bytes = ends.client.take_output();
  take(ends.server, client_bytes);
  const std::string server_bytes = ends.server.take_output();
  take(ends.client, server_bytes);
  return {client_bytes + ends.client.take_output(), server_bytes};
}

TEST_CASE("secure session: whatever byte is cut off or changed, nothing is believed",
          "[net][tls]") {
  const auto [client_bytes, server_bytes] = record_conversation();
  REQUIRE(client_bytes.size() > 100);
  for (std::size_t i = 0; i < client_bytes.size(); ++i) {
    // Without its end: the server waits for it, or refuses.
    secure_session server(job_secret(bytes_of_a), session_role::server);
    const outcome cut_outcome = take(server, std::string_view(client_bytes).substr(0, i));
    CHECK(cut_outcome.plain_text.empty());
    CHECK(!server.is_ready());
  }
  const std::size_t hello_size = [] {
    secure_session client(job_secret(bytes_of_a), session_role::client);
    return client.take_output().size();
  }();
  // TLS neither looks at the minor version of the first record nor protects it.
  constexpr std::size_t ignored_byte = 2;
  for (std::size_t i = 0; i < hello_size; ++i) {
    if (i == ignored_byte) continue;
    CAPTURE(i);
    pair ends;
    std::string hello = ends.client.take_output();
    hello[i] = static_cast<char>(hello[i] ^ 0x20);
    outcome result = take(ends.server, hello);
    const std::string answer = ends.server.take_output();
    if (!answer.empty()) take(ends.client, answer);
    take(ends.server, ends.client.take_output());
    CHECK(!ends.server.is_ready());
  }
}

TEST_CASE("secure session: a record of more than TLS allows ends the connection", "[net][tls]") {
  pair ends;
  ends.talk();
  REQUIRE(ends.server.is_ready());
  std::string record("\x17\x03\x03\x48\x00", 5);
  record.append(0x4800, 'x');
  const outcome result = take(ends.server, record);
  CHECK(result.failure == errc::connection_failed);
  CHECK(result.plain_text.empty());
}

TEST_CASE("secure session: a byte that is changed on its way ends the connection", "[net][tls]") {
  pair ends;
  ends.talk();
  ends.client.send("words");
  std::string bytes = ends.client.take_output();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const outcome result = take(ends.server, bytes);
  CHECK(result.failure == errc::connection_failed);
  CHECK(result.plain_text.empty());
}

// ---- the secret ---------------------------------------------------------------------------------

std::string refusal(const std::string& path) {
  try {
    job_secret::read(path);
    return "";
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == errc::invalid_argument);
    return failure.what();
  }
}

TEST_CASE("job secret: a file that others may open, or that holds none, is refused", "[net][tls]") {
  const elastic::test::temporary_directory folder;
  const std::string path = folder / "secret";
  const auto write = [&](const std::string& content, mode_t mode) {
    std::ofstream(path) << content;
    REQUIRE(::chmod(path.c_str(), mode) == 0);
  };
  const std::string subject = fmt::format("the job's secret in the file '{}' ", path);
  CHECK(refusal(path) == subject + "cannot be read: No such file or directory");
  write("", 0600);
  CHECK(refusal(path) == subject + "is empty");
  write("\n", 0600);
  CHECK(refusal(path) == subject + "is empty");
  write("0123456789abcde\n", 0600);
  CHECK(refusal(path) == subject + "has 15 bytes; 16 are the least");
  write(std::string(5000, 'x'), 0600);
  CHECK(refusal(path) == subject + "has over 4096 bytes");
  write(bytes_of_a, 0640);
  CHECK(refusal(path) == subject + "is open to others (mode 0640): chmod 600");
  write(bytes_of_a, 0604);
  CHECK(refusal(path) == subject + "is open to others (mode 0604): chmod 600");
  CHECK(refusal(folder / "").find("it is not a regular file") != std::string::npos);
  write(bytes_of_a + "\r\n", 0400);
  CHECK(refusal(path).empty());
  // The end of a line is not part of it.
  pair ends;
  const job_secret file_secret = job_secret::read(path);
  secure_session client(file_secret, session_role::client);
  take(ends.server, client.take_output());
  CHECK(!take(client, ends.server.take_output()).failure);
  CHECK(client.is_ready());
}

}  // namespace secure_session_tests
