// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/error.hpp>
#include <program/limits.hpp>
#include <program/slots/run_slot.hpp>
#include <program/slots/slot_order.hpp>
#include <program/slots/slot_socket.hpp>
#include <program/slots/task_slots.hpp>
#include <support/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace slot_order_tests {

using elastic::environment_map;
using elastic::process_spec;
using elastic::detail::unique_fd;
using elasticrun::slot_order;
using elasticrun::slot_order_from;
using texts = std::vector<std::string>;

slot_order order_of(const process_spec& spec, const environment_map& own,
                    std::vector<int>& descriptors) {
  const std::string path = "memory";
  std::string first = "elastic-guard-3";
  std::string second;
  const elastic::detail::spawn_request request{.spec = spec,
                                               .path = path,
                                               .arguments = {first.data(), second.data(), nullptr},
                                               .open_files = 1024,
                                               .program = 9,
                                               .passed = {8, 7}};
  return elasticrun::slot_order_of(request, own, descriptors);
}

TEST_CASE("slot order: it says what is different from the slot itself", "[program]") {
  process_spec spec;
  spec.environment = {"RANK=3", "SLURM_PROCID=0", "EMPTY=", "PATH=/bin"};
  spec.directory = "/tmp";
  spec.stdout_fd = 12;
  spec.ignored_signals = {10, 12};
  spec.processors.add(1).add(2);
  std::vector<int> descriptors = {20};
  const environment_map agent = {
      {"SLURM_PROCID", "0"}, {"PATH", "/usr/bin"}, {"PET_SECRET", "x"}, {"GONE", ""}};
  const slot_order order = order_of(spec, agent, descriptors);
  CHECK(order.set == texts{"EMPTY=", "PATH=/bin", "RANK=3"});
  CHECK(order.unset == texts{"GONE", "PET_SECRET"});
  CHECK(order.descriptors == "sgo");
  CHECK(descriptors == std::vector<int>{20, 8, 9, 12});

  const slot_order read = slot_order_from(elasticrun::fields_of(order));
  CHECK(read.path == "memory");
  CHECK(read.arguments == texts{"elastic-guard-3", ""});
  CHECK(read.directory == "/tmp");
  CHECK(read.processors == "1-2");
  CHECK(read.ignored_signals == std::vector<int>{10, 12});
  CHECK(read.open_files == 1024);
  CHECK(read.descriptors == order.descriptors);

  const environment_map slot = {{"SLURM_PROCID", "3"},
                                {"PATH", "/usr/bin"},
                                {"PET_SECRET", "x"},
                                {"CUDA_VISIBLE_DEVICES", "1"}};
  CHECK(elasticrun::slot_environment(read, slot) ==
        texts{"CUDA_VISIBLE_DEVICES=1", "EMPTY=", "PATH=/bin", "RANK=3", "SLURM_PROCID=3"});
}

TEST_CASE("slot order: whatever is cut off, added or not a number is refused", "[program]") {
  process_spec spec;
  spec.environment = {"RANK=3"};
  spec.ignored_signals = {10};
  std::vector<int> descriptors;
  const texts fields = elasticrun::fields_of(order_of(spec, {{"A", ""}}, descriptors));
  CHECK_NOTHROW(slot_order_from(fields));
  for (std::size_t kept = 0; kept < fields.size(); ++kept) {
    CHECK_THROWS_AS(slot_order_from(texts(fields.begin(), fields.begin() + static_cast<int>(kept))),
                    elastic::error);
  }
  texts longer = fields;
  longer.emplace_back("more");
  CHECK_THROWS_AS(slot_order_from(longer), elastic::error);
  // The open files, the number of signals, a signal, and the number of arguments.
  for (const std::size_t place : {5, 6, 7, 8}) {
    for (const char* wrong : {"-1", "x", "99999999999999999999999", "4294967295"}) {
      texts changed = fields;
      changed[place] = wrong;
      if (place == 5 && changed[place] == "4294967295") continue;
      INFO(place << " " << wrong);
      CHECK_THROWS_AS(slot_order_from(changed), elastic::error);
    }
  }
}

TEST_CASE("slot socket: a message arrives whole, with its descriptors, or not at all",
          "[program]") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  unique_fd left(ends[0]);
  const unique_fd right(ends[1]);
  bool has_ended = false;
  CHECK_FALSE(elasticrun::receive_slot_message(right.get(), MSG_DONTWAIT, has_ended));
  CHECK_FALSE(has_ended);

  CHECK(elasticrun::send_slot_message(left.get(), {"hello", "", "a b"}, {0, 1}) == 0);
  auto message = elasticrun::receive_slot_message(right.get(), MSG_DONTWAIT, has_ended);
  REQUIRE(message);
  CHECK(message->fields == texts{"hello", "", "a b"});
  CHECK(message->kind() == "hello");
  REQUIRE(message->descriptors.size() == 2);
  CHECK((::fcntl(message->descriptors[1].get(), F_GETFD) & FD_CLOEXEC) != 0);

  const std::string large(elasticrun::limits::slot_message_bytes, 'x');
  CHECK(elasticrun::send_slot_message(left.get(), {large}) == EMSGSIZE);
  const std::string most(elasticrun::limits::slot_message_bytes - 1, 'x');
  CHECK(elasticrun::send_slot_message(left.get(), {most}) == 0);
  message = elasticrun::receive_slot_message(right.get(), MSG_DONTWAIT, has_ended);
  REQUIRE(message);
  CHECK(message->fields == texts{most});

  // Not a list of texts.
  REQUIRE(::send(left.get(), "abc", 3, 0) == 3);
  message = elasticrun::receive_slot_message(right.get(), MSG_DONTWAIT, has_ended);
  REQUIRE(message);
  CHECK(message->fields.empty());
  CHECK(message->kind().empty());

  left.reset();
  CHECK_FALSE(elasticrun::receive_slot_message(right.get(), MSG_DONTWAIT, has_ended));
  CHECK(has_ended);
}

TEST_CASE("slot socket: its name has the step and the user", "[program]") {
  elasticrun::slot_plan plan;
  plan.step = "4711.0-3";
  CHECK(elasticrun::slot_address_of(plan).text ==
        fmt::format("@elastic-slot-4711.0-3-{}", ::geteuid()));
}

}  // namespace slot_order_tests
