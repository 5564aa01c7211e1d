// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/tcp_store_protocol.hpp>

#include <elastic/base/assert.hpp>

#include <array>

namespace elastic::detail {

ELASTIC_DECL std::string_view name_of(store_op operation) {
  constexpr std::array<std::string_view, store_ops> names{
      "validate",  "set",         "compare_set", "get",        "add",       "check",
      "wait",      "num_keys",    "watch_key",   "erase",      "append",    "multi_get",
      "multi_set", "cancel_wait", "ping",        "queue_push", "queue_pop", "queue_length",
      "list_keys", "barrier",     "unknown"};
  return names.at(static_cast<std::size_t>(operation));
}

inline constexpr std::array<store_op, 9> ops_of_1_13 = {
    store_op::set,  store_op::compare_set, store_op::get,       store_op::add,  store_op::check,
    store_op::wait, store_op::num_keys,    store_op::watch_key, store_op::erase};

inline constexpr std::array<store_op, 12> ops_of_2_1 = {
    store_op::set,    store_op::compare_set, store_op::get,       store_op::add,
    store_op::check,  store_op::wait,        store_op::num_keys,  store_op::erase,
    store_op::append, store_op::multi_get,   store_op::multi_set, store_op::cancel_wait};

inline constexpr std::array<store_op, 19> ops_of_2_2 = {
    store_op::validate,     store_op::set,       store_op::compare_set, store_op::get,
    store_op::add,          store_op::check,     store_op::wait,        store_op::num_keys,
    store_op::erase,        store_op::append,    store_op::multi_get,   store_op::multi_set,
    store_op::cancel_wait,  store_op::ping,      store_op::queue_push,  store_op::queue_pop,
    store_op::queue_length, store_op::list_keys, store_op::barrier};

inline std::span<const store_op> ops_of(tcp_store_generation generation) {
  switch (generation) {
    case tcp_store_generation::torch_1_13: return ops_of_1_13;
    case tcp_store_generation::torch_2_1: return ops_of_2_1;
    default: return ops_of_2_2;
  }
}

ELASTIC_DECL store_op decode_op(tcp_store_generation generation, char byte) {
  const auto ops = ops_of(generation);
  const auto index = static_cast<unsigned char>(byte);
  return index < ops.size() ? ops[index] : store_op::unknown;
}

ELASTIC_DECL int encode_op(tcp_store_generation generation, store_op op) {
  const auto ops = ops_of(generation);
  for (std::size_t index = 0; index < ops.size(); ++index) {
    if (ops[index] == op) return static_cast<int>(index);
  }
  return -1;
}

ELASTIC_DECL void append_text(std::string& out, std::string_view text) {
  append_integer<std::uint64_t>(out, text.size());
  out.append(text);
}

ELASTIC_DECL void request_writer::greeting(std::string& out) const {
  if (!knows(store_op::validate)) return;
  operation(out, store_op::validate);
  append_integer(out, validate_magic);
}

ELASTIC_DECL void request_writer::operation(std::string& out, store_op op) const {
  const int byte = encode_op(generation_, op);
  ELASTIC_ASSERT(byte >= 0);
  out.push_back(static_cast<char>(byte));
}

ELASTIC_DECL void request_writer::with_key(std::string& out, store_op op,
                                           std::string_view key) const {
  operation(out, op);
  append_text(out, key);
}

ELASTIC_DECL void request_writer::with_value(std::string& out, store_op op, std::string_view key,
                                             std::string_view value) const {
  with_key(out, op, key);
  append_text(out, value);
}

ELASTIC_DECL void request_writer::with_number(std::string& out, store_op op, std::string_view key,
                                              std::int64_t number) const {
  with_key(out, op, key);
  append_integer(out, number);
}

ELASTIC_DECL void request_writer::with_keys(std::string& out, store_op op,
                                            std::span<const std::string> keys) const {
  operation(out, op);
  append_integer<std::uint64_t>(out, keys.size());
  for (const std::string& key : keys) append_text(out, key);
}

ELASTIC_DECL void request_writer::compare_set(std::string& out, std::string_view key,
                                              std::string_view expected,
                                              std::string_view desired) const {
  with_value(out, store_op::compare_set, key, expected);
  append_text(out, desired);
}

ELASTIC_DECL void request_writer::ping(std::string& out, std::uint32_t nonce) const {
  operation(out, store_op::ping);
  append_integer(out, nonce);
}

ELASTIC_DECL std::size_t request_parser::whole_set(
    std::string_view input, std::pair<std::string_view, std::string_view>& pair) const {
  constexpr char set_byte = 1;
  static_assert(ops_of_2_2[set_byte] == store_op::set);
  constexpr std::size_t length_bytes = sizeof(std::uint64_t);
  if (input.size() < 1 + length_bytes || input.front() != set_byte) return 0;
  const auto key_size = load_integer<std::uint64_t>(input.data() + 1);
  const std::size_t at_key = 1 + length_bytes;
  if (key_size > bounds_.key_bytes || input.size() - at_key < key_size + length_bytes) return 0;
  const std::size_t at_value = at_key + key_size + length_bytes;
  const auto value_size = load_integer<std::uint64_t>(input.data() + at_value - length_bytes);
  if (value_size > bounds_.value_bytes || input.size() - at_value < value_size) return 0;
  if (at_value + value_size > bounds_.request_bytes) return 0;
  pair = {input.substr(at_key, key_size), input.substr(at_value, value_size)};
  return at_value + value_size;
}

ELASTIC_DECL void request_parser::begin(store_op op) {
  request_.op = op;
  request_.number = 0;
  fields_ = layout_of(op);
  pieces_.clear();
  items_left_ = 0;
  used_ = 1;
}

ELASTIC_DECL auto request_parser::parse(std::string_view input) -> outcome {
  while (*fields_ != '\0') {
    const outcome result = parse_field(input);
    if (result != outcome::complete) return result;
  }
  request_.texts.clear();
  for (const piece& text : pieces_) {
    request_.texts.push_back(input.substr(text.offset, text.size));
  }
  return outcome::complete;
}

ELASTIC_DECL void request_parser::finish() {
  used_ = 0;
  constexpr std::size_t texts_kept = 8;
  if (pieces_.capacity() > texts_kept) {
    pieces_ = {};
    request_.texts = {};
  }
}

ELASTIC_DECL const char* request_parser::layout_of(store_op op) {
  switch (op) {
    case store_op::validate:
    case store_op::ping: return "u";
    case store_op::set:
    case store_op::append:
    case store_op::queue_push: return "kv";
    case store_op::compare_set: return "kvv";
    case store_op::get:
    case store_op::watch_key:
    case store_op::erase:
    case store_op::queue_pop:
    case store_op::queue_length: return "k";
    case store_op::add:
    case store_op::barrier: return "ki";
    case store_op::check:
    case store_op::wait:
    case store_op::multi_get: return "n";
    case store_op::multi_set: return "p";
    default: return "";
  }
}

ELASTIC_DECL auto request_parser::parse_field(std::string_view input) -> outcome {
  switch (*fields_) {
    case 'k': return parse_single(input, bounds_.key_bytes);
    case 'v': return parse_single(input, bounds_.value_bytes);
    case 'i': return parse_number<std::int64_t>(input);
    case 'u': return parse_number<std::uint32_t>(input);
    default: return parse_list(input);
  }
}

ELASTIC_DECL auto request_parser::parse_single(std::string_view input, std::size_t bound)
    -> outcome {
  const outcome result = parse_text(input, bound);
  if (result == outcome::complete) ++fields_;
  return result;
}

ELASTIC_DECL auto request_parser::parse_list(std::string_view input) -> outcome {
  const bool of_pairs = *fields_ == 'p';
  if (items_left_ == 0) {
    if (input.size() - used_ < sizeof(std::uint64_t)) return outcome::incomplete;
    const auto count = load_integer<std::uint64_t>(input.data() + used_);
    if (count > bounds_.keys_per_request) return complain("too many keys");
    used_ += sizeof count;
    items_left_ = of_pairs ? 2 * count : count;
  }
  while (items_left_ > 0) {
    const bool is_value = of_pairs && items_left_ % 2 == 1;
    const outcome result = parse_text(input, is_value ? bounds_.value_bytes : bounds_.key_bytes);
    if (result != outcome::complete) return result;
    --items_left_;
  }
  ++fields_;
  return outcome::complete;
}

ELASTIC_DECL auto request_parser::parse_text(std::string_view input, std::size_t bound) -> outcome {
  const std::size_t there = input.size() - used_;
  if (there < sizeof(std::uint64_t)) return outcome::incomplete;
  const auto size = load_integer<std::uint64_t>(input.data() + used_);
  if (size > bound) {
    return complain(bound == bounds_.key_bytes ? "a key is too long" : "a value is too long");
  }
  const std::size_t end = used_ + sizeof size + size;
  if (end > bounds_.request_bytes) return complain("the request is too long");
  if (input.size() < end) return outcome::incomplete;
  pieces_.push_back(piece{used_ + sizeof size, static_cast<std::size_t>(size)});
  used_ = end;
  return outcome::complete;
}

ELASTIC_DECL auto request_parser::complain(std::string_view complaint) -> outcome {
  complaint_ = complaint;
  return outcome::malformed;
}

ELASTIC_DECL first_bytes classify(std::string_view input) {
  if (input.empty()) return first_bytes::undecided;
  const auto op = static_cast<unsigned char>(input.front());
  if (op != 0) return op < ops_of_2_1.size() ? first_bytes::legacy : first_bytes::foreign;
  if (input.size() < greeting_bytes) return first_bytes::undecided;
  return load_integer<std::uint32_t>(input.data() + 1) == validate_magic ? first_bytes::modern
                                                                         : first_bytes::legacy;
}

}  // namespace elastic::detail
