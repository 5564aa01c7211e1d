// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/pickle_reader.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL bool pickle_value::is(pickle_kind wanted, pickle_global which) const {
  return kind == wanted && number == static_cast<std::int64_t>(which);
}

ELASTIC_DECL pickle_ref pickle_reader::read() {
  if (next_op() != pickle_op::proto) fail("it does not begin with the protocol of a pickle");
  const std::uint64_t protocol = number(1);
  if (protocol != 4 && protocol != 5) {
    fail(fmt::format("pickle protocol {} is not read, 4 and 5 are", protocol));
  }
  for (pickle_op op = next_op(); op != pickle_op::stop; op = next_op()) apply(op);
  if (!marks_.empty() || stack_.size() != 1) {
    fail(fmt::format("{} values are left at its end, it must be 1", stack_.size()));
  }
  if (used_ != input_.size()) fail("bytes follow its end");
  return stack_.back();
}

ELASTIC_DECL std::string_view pickle_reader::take(std::uint64_t count) {
  if (count > input_.size() - used_) fail("it is cut off");
  const std::string_view bytes = input_.substr(used_, static_cast<std::size_t>(count));
  used_ += bytes.size();
  return bytes;
}

ELASTIC_DECL pickle_op pickle_reader::next_op() {
  at_ = used_;
  return static_cast<pickle_op>(take(1).front());
}

ELASTIC_DECL std::uint64_t pickle_reader::number(std::size_t size) {
  std::uint64_t value = 0;
  int shift = 0;
  for (const char byte : take(size)) {
    value |= std::uint64_t{static_cast<unsigned char>(byte)} << shift;
    shift += 8;
  }
  return value;
}

ELASTIC_DECL void pickle_reader::fail(const std::string& why) const {
  refuse_state(fmt::format("{} (at byte {} of {})", why, at_, input_.size()));
}

ELASTIC_DECL void pickle_reader::apply(pickle_op op) {
  switch (op) {
    case pickle_op::none: return push(pickle_kind::none);
    case pickle_op::newtrue: return push(pickle_kind::boolean, 1);
    case pickle_op::newfalse: return push(pickle_kind::boolean, 0);
    case pickle_op::binint1: return push_integer(1);
    case pickle_op::binint2: return push_integer(2);
    case pickle_op::binint: return push(pickle_kind::integer, static_cast<std::int32_t>(number(4)));
    case pickle_op::long1: return push_long();
    case pickle_op::short_binunicode: return push_text(take(number(1)));
    case pickle_op::binunicode: return push_text(take(number(4)));
    case pickle_op::short_binbytes: return push_bytes(take(number(1)));
    case pickle_op::empty_tuple: return push(pickle_kind::tuple);
    case pickle_op::tuple1: return push_tuple(1);
    case pickle_op::tuple2: return push_tuple(2);
    case pickle_op::tuple3: return push_tuple(3);
    case pickle_op::empty_dict: return push_container(pickle_kind::dict);
    case pickle_op::empty_set: return push_container(pickle_kind::set);
    case pickle_op::setitem: return set_item();
    case pickle_op::setitems: return add_all(pickle_kind::dict);
    case pickle_op::additems: return add_all(pickle_kind::set);
    case pickle_op::mark: return open_mark();
    case pickle_op::stack_global: return push_global();
    case pickle_op::newobj: return push_object();
    case pickle_op::reduce: return push_reduced();
    case pickle_op::build: return build();
    case pickle_op::memoize: return memoize();
    case pickle_op::binget: return recall(number(1));
    case pickle_op::long_binget: return recall(number(4));
    case pickle_op::frame:
      // A frame only says how much may be read ahead.
      if (number(8) > input_.size() - used_) fail("it is cut off");
      return;
    default:
      fail(fmt::format("operation 0x{:02x} is not one that the state of a rendezvous needs",
                       static_cast<unsigned>(op)));
  }
}

ELASTIC_DECL void pickle_reader::push_integer(std::size_t size) {
  push(pickle_kind::integer, static_cast<std::int64_t>(number(size)));
}

ELASTIC_DECL void pickle_reader::push_long() {
  const std::uint64_t size = number(1);
  if (size > 8) fail(fmt::format("an integer has {} bytes, 8 are allowed", size));
  std::uint64_t bits = number(static_cast<std::size_t>(size));
  // The highest bit of the last byte is the sign.
  const bool is_negative = size > 0 && (bits >> (8 * size - 1)) != 0;
  if (is_negative && size < 8) bits |= ~std::uint64_t{0} << 8 * size;
  push(pickle_kind::integer, static_cast<std::int64_t>(bits));
}

ELASTIC_DECL void pickle_reader::push_text(std::string_view text) {
  if (!is_pickle_text(text)) fail(shown(text) + " is not UTF-8");
  push(pickle_kind::text);
  values_.back().text = text;
}

ELASTIC_DECL void pickle_reader::push_bytes(std::string_view bytes) {
  push(pickle_kind::bytes);
  values_.back().text = bytes;
}

ELASTIC_DECL void pickle_reader::push_container(pickle_kind kind) {
  push(kind);
  values_.back().is_hashable = false;
}

ELASTIC_DECL void pickle_reader::push_tuple(std::size_t size) {
  std::vector<pickle_ref> items(size);
  for (std::size_t i = size; i-- > 0;) items[i] = pop();
  push(pickle_kind::tuple);
  for (const pickle_ref item : items) {
    add_item(stack_.back(), item);
    if (!values_[item].is_hashable) values_.back().is_hashable = false;
  }
}

ELASTIC_DECL void pickle_reader::set_item() {
  const pickle_ref value = pop();
  const pickle_ref key = pop();
  add_pair(open_container(pickle_kind::dict), key, value);
}

ELASTIC_DECL void pickle_reader::add_all(pickle_kind kind) {
  if (marks_.empty()) fail("values are added that no mark precedes");
  const std::vector<pickle_ref> items(stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()),
                                      stack_.end());
  stack_.resize(marks_.back());
  marks_.pop_back();
  const pickle_ref container = open_container(kind);
  if (kind == pickle_kind::set) {
    for (const pickle_ref item : items) add_key(container, item);
    return;
  }
  if (items.size() % 2 != 0) fail("a key has no value");
  for (std::size_t i = 0; i < items.size(); i += 2) add_pair(container, items[i], items[i + 1]);
}

ELASTIC_DECL void pickle_reader::open_mark() {
  if (marks_.size() == pickle_marks) fail(fmt::format("over {} marks are open", pickle_marks));
  marks_.push_back(stack_.size());
}

ELASTIC_DECL void pickle_reader::push_global() {
  const pickle_value& name = values_[pop()];
  const pickle_value& module = values_[pop()];
  if (!name.is(pickle_kind::text) || !module.is(pickle_kind::text)) {
    fail("what it names is not named by texts");
  }
  for (std::size_t which = 0; which < pickle_globals.size(); ++which) {
    if (module.text != pickle_globals[which].module) continue;
    if (name.text != pickle_globals[which].name) continue;
    return push(pickle_kind::global, static_cast<std::int64_t>(which));
  }
  fail(fmt::format("it names {} of {}, which has no place in the state of a rendezvous",
                   shown(name.text), shown(module.text)));
}

ELASTIC_DECL void pickle_reader::push_object() {
  const pickle_value& arguments = values_[pop()];
  const pickle_value& type = values_[pop()];
  const bool is_class = type.is(pickle_kind::global, pickle_global::state) ||
                        type.is(pickle_kind::global, pickle_global::node);
  if (!is_class) fail("an object is made of what is neither a state nor a node");
  if (!arguments.is(pickle_kind::tuple) || !arguments.items.empty()) {
    fail("an object is made with arguments");
  }
  const std::int64_t which = type.number;
  push(pickle_kind::object, which);
  values_.back().is_hashable = false;
}

ELASTIC_DECL void pickle_reader::push_reduced() {
  const pickle_value arguments = values_[pop()];
  const pickle_value& callee = values_[pop()];
  if (!arguments.is(pickle_kind::tuple)) fail("the arguments of a call are not a tuple");
  if (callee.is(pickle_kind::global, pickle_global::datetime)) return push_time(arguments.items);
  if (callee.is(pickle_kind::global, pickle_global::timezone)) return push_zone(arguments.items);
  if (callee.is(pickle_kind::global, pickle_global::timedelta)) return push_span(arguments.items);
  fail("it calls what is neither datetime, timezone nor timedelta");
}

ELASTIC_DECL void pickle_reader::push_time(std::span<const pickle_ref> arguments) {
  namespace chrono = std::chrono;
  constexpr std::size_t size = 10;
  const bool has_bytes = !arguments.empty() && arguments.size() <= 2 &&
                         values_[arguments[0]].is(pickle_kind::bytes) &&
                         values_[arguments[0]].text.size() == size;
  const bool is_zoned = arguments.size() == 2;
  if (!has_bytes || (is_zoned && !values_[arguments[1]].is(pickle_kind::zone))) {
    fail("a datetime is not made of 10 bytes and at most a timezone");
  }
  std::uint32_t byte[size];
  for (std::size_t i = 0; i < size; ++i) {
    byte[i] = static_cast<unsigned char>(values_[arguments[0]].text[i]);
  }
  // The highest bit of the month distinguishes two equal times of a clock that was set back, which
  // does not happen in UTC.
  const int year = static_cast<int>(byte[0] << 8 | byte[1]);
  const auto date = chrono::year(year) / chrono::month(byte[2] & 0x7f) / chrono::day(byte[3]);
  const std::uint32_t fraction = byte[7] << 16 | byte[8] << 8 | byte[9];
  const bool is_date = date.ok() && year >= 1 && year <= 9999;
  if (!is_date || byte[4] > 23 || byte[5] > 59 || byte[6] > 59 || fraction > 999'999) {
    fail("a datetime has a part that is out of its range");
  }
  const chrono::sys_time<chrono::microseconds> time =
      chrono::sys_days(date) + chrono::hours(byte[4]) + chrono::minutes(byte[5]) +
      chrono::seconds(byte[6]) + chrono::microseconds(fraction);
  push(pickle_kind::time, time.time_since_epoch().count());
  values_.back().is_zoned = is_zoned;
}

ELASTIC_DECL void pickle_reader::push_zone(std::span<const pickle_ref> arguments) {
  const bool is_utc = arguments.size() == 1 && values_[arguments[0]].is(pickle_kind::span) &&
                      values_[arguments[0]].number == 0;
  if (!is_utc) fail("a timezone is not UTC");
  push(pickle_kind::zone);
}

ELASTIC_DECL void pickle_reader::push_span(std::span<const pickle_ref> arguments) {
  // Keeps the microseconds in range; Python allows ten times as many days.
  constexpr std::int64_t most_days = 99'999'999;
  const auto part = [&](std::size_t which, std::int64_t least, std::int64_t most) {
    const pickle_value& value = values_[arguments[which]];
    if (!value.is(pickle_kind::integer) || value.number < least || value.number > most) {
      fail("a timedelta has a part that is out of its range");
    }
    return value.number;
  };
  if (arguments.size() != 3) fail("a timedelta is not made of days, seconds and microseconds");
  const std::int64_t days = part(0, -most_days, most_days);
  const std::int64_t seconds = part(1, 0, 86'399);
  push(pickle_kind::span, (days * 86'400 + seconds) * 1'000'000 + part(2, 0, 999'999));
}

ELASTIC_DECL void pickle_reader::build() {
  const pickle_ref attributes = pop();
  const pickle_ref object = open_container(pickle_kind::object);
  const pickle_value& dict = values_[attributes];
  if (!dict.is(pickle_kind::dict)) fail("the attributes of an object are not a dict");
  if (!values_[object].items.empty()) fail("an object gets its attributes twice");
  for (std::size_t i = 0; i < dict.items.size(); i += 2) {
    const pickle_value& name = values_[dict.items[i]];
    if (!name.is(pickle_kind::text)) fail("the name of an attribute is not a string");
  }
  add_item(object, attributes);
  // Python hashes a node when it becomes a key, so it must be complete by then.
  values_[object].is_hashable = values_[object].is(pickle_kind::object, pickle_global::node);
}

ELASTIC_DECL void pickle_reader::memoize() {
  if (memo_.size() == pickle_memo) fail(fmt::format("over {} values are memoized", pickle_memo));
  memo_.push_back(top());
}

ELASTIC_DECL void pickle_reader::recall(std::uint64_t index) {
  if (index >= memo_.size()) fail("a value is used again that was not memoized");
  const pickle_ref value = memo_[static_cast<std::size_t>(index)];
  values_[value].is_final = true;
  push_ref(value);
}

ELASTIC_DECL void pickle_reader::push(pickle_kind kind, std::int64_t value) {
  if (values_.size() == pickle_values) fail(fmt::format("it has over {} values", pickle_values));
  pickle_value made;
  made.kind = kind;
  made.number = value;
  values_.push_back(std::move(made));
  push_ref(static_cast<pickle_ref>(values_.size() - 1));
}

ELASTIC_DECL void pickle_reader::push_ref(pickle_ref ref) {
  if (stack_.size() == pickle_stack) fail(fmt::format("its stack is over {}", pickle_stack));
  stack_.push_back(ref);
}

ELASTIC_DECL pickle_ref pickle_reader::top() const {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() == floor) fail("a value is used that is not there");
  return stack_.back();
}

ELASTIC_DECL pickle_ref pickle_reader::pop() {
  const pickle_ref value = top();
  stack_.pop_back();
  return value;
}

ELASTIC_DECL pickle_ref pickle_reader::open_container(pickle_kind kind) {
  const pickle_ref container = top();
  if (!values_[container].is(kind)) fail("something is put into what cannot hold it");
  if (values_[container].is_final) fail("a value changes after it was used");
  return container;
}

ELASTIC_DECL void pickle_reader::add_pair(pickle_ref dict, pickle_ref key, pickle_ref value) {
  add_key(dict, key);
  add_item(dict, value);
}

ELASTIC_DECL void pickle_reader::add_key(pickle_ref container, pickle_ref key) {
  if (!values_[key].is_hashable) fail("a key cannot be hashed");
  add_item(container, key);
}

ELASTIC_DECL void pickle_reader::add_item(pickle_ref container, pickle_ref item) {
  if (values_[item].is(pickle_kind::global)) fail("a name stands where a value is due");
  values_[item].is_final = true;
  pickle_value& target = values_[container];
  target.depth = std::max(target.depth, values_[item].depth + 1);
  if (target.depth > pickle_depth) {
    fail(fmt::format("values lie over {} deep within each other", pickle_depth));
  }
  target.items.push_back(item);
}

}  // namespace elastic::detail
