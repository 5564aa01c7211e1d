// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/pickle_writer.hpp>

#include <elastic/base/error.hpp>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void pickle_writer::begin() {
  op(pickle_op::proto);
  out_.push_back(4);
}

ELASTIC_DECL void pickle_writer::integer(std::int64_t value) {
  if (value >= 0 && value <= 0xff) return with_number(pickle_op::binint1, value, 1);
  if (value >= 0 && value <= 0xffff) return with_number(pickle_op::binint2, value, 2);
  if (value == static_cast<std::int32_t>(value)) return with_number(pickle_op::binint, value, 4);
  op(pickle_op::long1);
  out_.push_back(8);
  little_endian(value, 8);
}

ELASTIC_DECL void pickle_writer::text(std::string_view value) {
  if (value.size() <= 0xff) {
    with_number(pickle_op::short_binunicode, static_cast<std::int64_t>(value.size()), 1);
  } else {
    with_number(pickle_op::binunicode, static_cast<std::int64_t>(value.size()), 4);
  }
  out_ += value;
}

ELASTIC_DECL void pickle_writer::name(std::string_view value) {
  once("text " + std::string(value), [&] { text(value); });
}

ELASTIC_DECL void pickle_writer::bytes(std::string_view value) {
  with_number(pickle_op::short_binbytes, static_cast<std::int64_t>(value.size()), 1);
  out_ += value;
}

ELASTIC_DECL void pickle_writer::global(pickle_global which) {
  const pickle_name& named = pickle_globals[static_cast<std::size_t>(which)];
  once("global " + std::string(named.name), [&] {
    name(named.module);
    name(named.name);
    op(pickle_op::stack_global);
  });
}

ELASTIC_DECL void pickle_writer::node(const node_id& id, std::string_view host_attribute) {
  once("node " + id.key(), [&] {
    global(pickle_global::node);
    op(pickle_op::empty_tuple);
    op(pickle_op::newobj);
    op(pickle_op::empty_dict);
    op(pickle_op::mark);
    name(host_attribute);
    name(id.host);
    name("pid");
    integer(id.pid);
    name("local_id");
    integer(id.local_id);
    op(pickle_op::setitems);
    op(pickle_op::build);
  });
}

ELASTIC_DECL void pickle_writer::time(torch_time value, bool zoned) {
  namespace chrono = std::chrono;
  const auto day = chrono::floor<chrono::days>(value);
  const chrono::year_month_day date(day);
  if (date.year() < chrono::year(1) || date.year() > chrono::year(9999)) {
    throw error(errc::invalid_argument, "a time of the rendezvous is not in the years 1 to 9999");
  }
  const chrono::hh_mm_ss<chrono::microseconds> clock(value - day);
  std::string packed;
  const auto add = [&](auto number, int size) {
    while (size-- > 0) packed.push_back(static_cast<char>(number >> (8 * size) & 0xff));
  };
  add(static_cast<int>(date.year()), 2);
  add(static_cast<unsigned>(date.month()), 1);
  add(static_cast<unsigned>(date.day()), 1);
  add(clock.hours().count(), 1);
  add(clock.minutes().count(), 1);
  add(clock.seconds().count(), 1);
  add(clock.subseconds().count(), 3);
  global(pickle_global::datetime);
  bytes(packed);
  if (zoned) zone();
  op(zoned ? pickle_op::tuple2 : pickle_op::tuple1);
  op(pickle_op::reduce);
}

ELASTIC_DECL void pickle_writer::zone() {
  once("zone", [&] {
    global(pickle_global::timezone);
    span(std::chrono::microseconds(0));
    op(pickle_op::tuple1);
    op(pickle_op::reduce);
  });
}

ELASTIC_DECL void pickle_writer::span(std::chrono::microseconds value) {
  const auto days = std::chrono::floor<std::chrono::days>(value);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(value - days);
  global(pickle_global::timedelta);
  integer(days.count());
  integer(seconds.count());
  integer((value - days - seconds).count());
  op(pickle_op::tuple3);
  op(pickle_op::reduce);
}

ELASTIC_DECL void pickle_writer::recall(std::size_t index) {
  const auto number = static_cast<std::int64_t>(index);
  if (index <= 0xff)
    with_number(pickle_op::binget, number, 1);
  else
    with_number(pickle_op::long_binget, number, 4);
}

ELASTIC_DECL void pickle_writer::with_number(pickle_op code, std::int64_t value, int size) {
  op(code);
  little_endian(value, size);
}

ELASTIC_DECL void pickle_writer::little_endian(std::int64_t value, int size) {
  for (int i = 0; i < size; ++i) out_.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

}  // namespace elastic::detail
