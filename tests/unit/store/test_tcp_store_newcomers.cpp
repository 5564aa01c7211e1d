// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/store/detail/tcp_store_newcomers.hpp>

#include <elastic/base/limits.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>

namespace elastic {
namespace {

namespace newcomer_tests {

using namespace std::chrono_literals;
using detail::tcp_store_newcomers;

struct set_clock final : time_source {
  time_point now() const override { return time_point(elapsed); }
  wall_time wall_now() const override { return {}; }
  task<void> sleep_until(time_point) override { co_return; }
  duration elapsed{};
};

struct guest final : tcp_store_newcomers::client {
  void evict(tcp_store_newcomers::problem why) override { ended = why; }
  std::optional<tcp_store_newcomers::problem> ended;
};

struct stage {
  explicit stage(std::size_t most = 100)
      : list(clock, most, [this] { ++begun; }, tcp_store_newcomers::handshake_time) {}
  std::shared_ptr<set_clock> clock = std::make_shared<set_clock>();
  int begun = 0;
  tcp_store_newcomers list;
  guest guests[4];
};

TEST_CASE("tcp_store_newcomers: each has its time from its first byte on", "[store]") {
  stage at;
  CHECK_FALSE(at.list.next_deadline());
  at.list.set(at.guests[0], 1);
  CHECK(at.begun == 1);
  at.clock->elapsed = 4s;
  at.list.set(at.guests[1], 1);
  // More of the same message gives no more time.
  at.list.set(at.guests[0], 2);
  CHECK(at.begun == 1);
  CHECK(at.list.next_deadline() == time_point(10s));
  at.clock->elapsed = 10s;
  at.list.end_late();
  CHECK(at.guests[0].ended == tcp_store_newcomers::problem::is_late);
  CHECK_FALSE(at.guests[1].ended);
  CHECK(at.list.next_deadline() == time_point(14s));
  at.list.remove(at.guests[1]);
  at.clock->elapsed = 20s;
  at.list.end_late();
  CHECK_FALSE(at.guests[1].ended);
  at.list.set(at.guests[2], 1);
  CHECK(at.begun == 2);
}

TEST_CASE("tcp_store_newcomers: where there are too many, the oldest goes", "[store]") {
  stage at(2);
  for (guest& each : at.guests) {
    at.list.set(each, 0);
    at.clock->elapsed += tcp_store_newcomers::handshake_time;
  }
  CHECK(at.guests[0].ended == tcp_store_newcomers::problem::are_many);
  CHECK(at.guests[1].ended == tcp_store_newcomers::problem::are_many);
  CHECK_FALSE(at.guests[2].ended);
  CHECK_FALSE(at.guests[3].ended);
  CHECK(at.list.count() == 2);
}

TEST_CASE("tcp_store_newcomers: nobody displaces those that came within the last second",
          "[store]") {
  stage at(3);
  for (int i = 0; i < 3; ++i) at.list.set(at.guests[i], 0);
  SECTION("by coming") {
    at.list.set(at.guests[3], 0);
    CHECK(at.guests[3].ended == tcp_store_newcomers::problem::are_many);
  }
  SECTION("by more bytes") {
    constexpr std::size_t count = limits::store_newcomers_bytes / limits::store_newcomer_share;
    stage small(count + 1);
    const auto crowd = std::make_unique<guest[]>(count + 1);
    for (std::size_t i = 0; i <= count; ++i) small.list.set(crowd[i], 0);
    for (std::size_t i = 0; i < count; ++i) {
      small.list.set(crowd[i], limits::store_newcomer_share);
    }
    small.list.set(crowd[count], 1);
    CHECK(crowd[count].ended == tcp_store_newcomers::problem::hold_much);
    CHECK(small.list.count() == count);
  }
  for (int i = 0; i < 3; ++i) CHECK_FALSE(at.guests[i].ended);
}

TEST_CASE("tcp_store_newcomers: where they hold too much, the largest goes, or the oldest",
          "[store]") {
  stage at;
  constexpr std::size_t half = limits::store_newcomers_bytes / 2;
  at.list.set(at.guests[0], 100);
  at.list.set(at.guests[1], half);
  at.list.set(at.guests[2], half - 100);
  CHECK(at.list.held() == limits::store_newcomers_bytes);
  CHECK_FALSE(at.guests[1].ended);
  at.list.set(at.guests[3], 1);
  CHECK(at.guests[1].ended == tcp_store_newcomers::problem::hold_much);
  CHECK_FALSE(at.guests[0].ended);
  CHECK_FALSE(at.guests[2].ended);
  CHECK(at.list.held() == half + 1);
  at.list.remove(at.guests[1]);
  CHECK(at.list.held() == half + 1);

  constexpr std::size_t count = limits::store_newcomers_bytes / limits::store_newcomer_share;
  stage small(count + 2);
  const auto crowd = std::make_unique<guest[]>(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    small.list.set(crowd[i], limits::store_newcomer_share);
  }
  CHECK_FALSE(crowd[0].ended);
  small.clock->elapsed += tcp_store_newcomers::handshake_time;
  small.list.set(crowd[count], 1);
  CHECK(crowd[0].ended == tcp_store_newcomers::problem::hold_much);
  CHECK_FALSE(crowd[1].ended);
}

}  // namespace newcomer_tests

}  // namespace
}  // namespace elastic
