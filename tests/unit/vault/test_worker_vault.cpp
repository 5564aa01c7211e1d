// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A worker's end of the vault, with an agent that hands out what the test has made.

#include <elastic/base/detail/random.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/vault/detail/vault_header.hpp>
#include <elastic/vault/worker_vault.hpp>
#include <support/catch.hpp>
#include <support/text.hpp>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace worker_vault_test {

using detail::unique_fd;
using test::has_text;

/// An agent in a thread: it answers a `begin` with a slot, and a `find` with the same file.
class fake_agent {
 public:
  explicit fake_agent(std::uint64_t bytes)
      : slot_(::memfd_create("slot", MFD_CLOEXEC)),
        listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)),
        bytes_(bytes) {
    REQUIRE(::ftruncate(slot_.get(), static_cast<off_t>(bytes)) == 0);
    const std::string name = "elastic-test-" + detail::random_uuid();
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), size) == 0);
    REQUIRE(::listen(listener_.get(), 1) == 0);
    environment["ELASTIC_VAULT"] = "@" + name;
    thread_ = std::thread([this] { serve(); });
  }
  ~fake_agent() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  /// Puts a commit of these data into the slot.
  void put(const std::string& data, const std::string& manifest) {
    detail::vault_header header;
    header.id = {3, 4};
    header.step = 50;
    header.world_size = 2;
    header.data_bytes = data.size();
    header.manifest_bytes = manifest.size();
    header.manifest_check = detail::crc32(manifest);
    write(0, bytes_of(header) + data + manifest);
  }
  void write(std::size_t place, const std::string& bytes) {
    REQUIRE(::pwrite(slot_.get(), bytes.data(), bytes.size(), static_cast<off_t>(place)) ==
            static_cast<ssize_t>(bytes.size()));
  }
  std::string content() const {
    std::string bytes(bytes_, ' ');
    REQUIRE(::pread(slot_.get(), bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
    return bytes;
  }

  /// Sets the answer to a `begin`.
  void answer_begin(std::string text) {
    const std::lock_guard<std::mutex> hold(mutex_);
    begin_ = std::move(text);
  }

  environment_map environment;

 private:
  std::string begin() {
    const std::lock_guard<std::mutex> hold(mutex_);
    return begin_;
  }

  void serve() {
    for (;;) {
      const unique_fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer) return;
      std::array<char, 4096> bytes;
      for (ssize_t size = 0; (size = ::recv(peer.get(), bytes.data(), bytes.size(), 0)) > 0;) {
        const std::string heard(bytes.data(), static_cast<std::size_t>(size));
        if (has_text(heard, "begin")) answer(peer.get(), begin(), slot_.get());
        if (has_text(heard, "find")) {
          answer(peer.get(), R"({"kind": "found", "epoch": 3, "generation": 4, "step": 50})",
                 slot_.get());
        }
        if (has_text(heard, "damaged")) answer(peer.get(), R"({"kind": "nothing"})", -1);
      }
    }
  }

  static void answer(int peer, const std::string& text, int file) {
    iovec place{const_cast<char*>(text.data()), text.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    if (file >= 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(sizeof file);
      std::memcpy(CMSG_DATA(head), &file, sizeof file);
    }
    ::sendmsg(peer, &message, MSG_NOSIGNAL);
  }

  unique_fd slot_;
  unique_fd listener_;
  std::uint64_t bytes_;
  std::mutex mutex_;
  std::string begin_ = R"({"kind": "write", "slot": 0, "bytes": 65536, "epoch": 3, )"
                       R"("generation": 4, "rank": 1, "world_size": 2})";
  std::thread thread_;
};

constexpr std::uint64_t slot_bytes = 65'536;

/// The error of a read, or the text that it has.
std::string outcome_of(worker_vault& vault, std::string_view name, std::size_t size) {
  std::string text(size, ' ');
  try {
    vault.read(name, text);
    return text;
  } catch (const std::system_error& failure) {
    return failure.what();
  }
}

TEST_CASE("worker vault: what was committed is read", "[vault]") {
  fake_agent agent(slot_bytes);
  {
    worker_vault vault(agent.environment);
    const std::vector<double> numbers{1.5, 2.5};
    const std::string text = "some text";
    const auto result = vault.commit({{"numbers", numbers}, {"a \"text\"", text}}, 50);
    CHECK(result.reason.empty());
    CHECK(result.is_kept);
    const auto found = vault.newest();
    REQUIRE(found);
    CHECK(found->epoch == 3);
    CHECK(found->number == 4);
    CHECK(found->step == 50);
    CHECK(found->world_size == 2);
    std::vector<double> read(2);
    vault.read("numbers", read);
    CHECK(read == numbers);
    CHECK(outcome_of(vault, "a \"text\"", text.size()) == text);
    CHECK(has_text(outcome_of(vault, "a \"text\"", 3), "has 9 bytes of type 'B', and 3 of"));
    std::vector<float> other(4);
    CHECK_THROWS_AS(vault.read("numbers", other), error);
    CHECK(has_text(outcome_of(vault, "more", 3), "the commit has no buffer 'more'"));
  }
}

TEST_CASE("worker vault: a refusal is no exception", "[vault]") {
  fake_agent agent(slot_bytes);
  agent.answer_begin(R"({"kind": "skipped", "reason": "no room"})");
  const std::string text = "text";
  worker_vault vault(agent.environment);
  CHECK(vault.commit({{"text", text}}, 1).reason == "no room");
  CHECK(vault.commit({{"text", text}}, -1).reason == "the step is -1; at least 0 is needed");
  CHECK(vault.commit({{"a", text}, {"a", text}}, 1).reason == "two buffers have the name 'a'");
  worker_vault none{environment_map()};
  CHECK(none.commit({{"text", text}}, 1).reason == "there is no vault, or its agent is gone");
  CHECK_FALSE(none.newest());
  // Larger than the slot that the agent hands out.
  agent.answer_begin(R"({"kind": "write", "slot": 0, "bytes": 65536, "epoch": 3, "generation": 4, )"
                R"("rank": 1, "world_size": 2})");
  CHECK(vault.commit({{"text", std::string(slot_bytes, 'x')}}, 1).reason ==
        "the agent's slot cannot be mapped");
}

TEST_CASE("worker vault: a checksum of an unknown kind is named", "[vault]") {
  fake_agent agent(slot_bytes);
  agent.put("text", R"({"tree": {"d": [["t", {"b": 0}]]}, )"
                    R"("buffers": [["t", "array", "B", [4], 0, 4, "xxh3:0123456789abcdef"]]})");
  worker_vault vault(agent.environment);
  CHECK(outcome_of(vault, "t", 4) ==
        "buffer 't' has a checksum of an unknown kind: xxh3:0123456789abcdef");
  agent.put("text", R"({"tree": {"d": [["t", {"b": 0}]]}, )"
                    R"("buffers": [["t", "array", "B", [4], 0, 4, ""]]})");
  CHECK(outcome_of(vault, "t", 4) == "text");
}

TEST_CASE("worker vault: the checksum of sums is that of Python", "[vault]") {
  fake_agent agent(2 << 20);
  std::string data(1'100'000, ' ');
  for (std::size_t place = 0; place < data.size(); ++place) {
    data[place] = static_cast<char>(place * 7 % 251);
  }
  const char* const manifest = R"({"tree": {"d": [["t", {"b": 0}]]}, "buffers": )"
                               R"([["t", "array", "B", [1100000], 0, 1100000, "s0114893a"]]})";
  agent.put(data, manifest);
  worker_vault vault(agent.environment);
  CHECK(outcome_of(vault, "t", data.size()) == data);
  for (const std::size_t place : {5, 1'050'000, 1'099'999}) {
    std::string damaged = data;
    damaged[place] ^= 1;
    agent.put(damaged, manifest);
    CHECK(has_text(outcome_of(vault, "t", data.size()), "is damaged"));
  }
}

TEST_CASE("worker vault: a manifest that is none is refused", "[vault]") {
  fake_agent agent(slot_bytes);
  worker_vault vault(agent.environment);
  for (const char* const manifest :
       {"{}", "[", "{\"buffers\": [3]}", R"({"buffers": [["t", "array", "B", [4], 1, 4, ""]]})",
        R"({"buffers": [["t", "array", "B", [4], -1, 4, ""]]})",
        R"({"buffers": [["t", "array", "B", [4], 0, 18446744073709551615, ""]]})",
        R"({"buffers": [["t", "array", "B", [4], 0, 4, 7]]})"}) {
    CAPTURE(manifest);
    agent.put("text", manifest);
    CHECK(has_text(outcome_of(vault, "t", 4), "the state in memory is damaged"));
  }
}

TEST_CASE("worker vault: no damaged commit is taken for another one", "[vault]") {
  fake_agent agent(slot_bytes);
  std::string data(2'000, ' ');
  for (std::size_t place = 0; place < data.size(); ++place) data[place] = static_cast<char>(place);
  worker_vault vault(agent.environment);
  REQUIRE(vault.commit({{"first", std::string("first")}, {"data", data}}, 50).is_kept);
  const std::string whole = agent.content();
  const std::size_t end = whole.find_last_not_of('\0') + 1;
  detail::random_source random(7);
  int refused = 0;
  for (int damages = 0; damages < 2'000; ++damages) {
    const std::size_t place = random.below(end);
    const std::string bytes(1 + random.below(4), static_cast<char>(random.below(256)));
    agent.write(place, bytes);
    const std::string outcome = outcome_of(vault, "data", data.size());
    if (outcome != data) {
      ++refused;
      if (!has_text(outcome, "is damaged")) FAIL_CHECK(fmt::format("{}: {}", place, outcome));
    }
    agent.write(0, whole);
  }
  // What is between the buffers, or in the other one, concerns nobody.
  CHECK(refused > 1'500);
}

}  // namespace worker_vault_test

}  // namespace
}  // namespace elastic
