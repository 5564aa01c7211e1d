// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/assert.hpp>
#include <elastic/store/tcp_store_bounds.hpp>
#include <elastic/store/tcp_store_generation.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// PyTorch's TCPStore on the wire, as encoding and decoding alone. A request is one byte of
// operation and its operands; there are no frames and no request numbers. Integers are in the
// byte order of the host, texts follow their length in 64 bits.
namespace elastic::detail {

/// What a request asks for, whatever byte its generation has for it.
enum class store_op : std::uint8_t {
  validate,
  set,
  compare_set,
  get,
  add,
  check,
  wait,
  num_keys,
  watch_key,
  erase,
  append,
  multi_get,
  multi_set,
  cancel_wait,
  ping,
  queue_push,
  queue_pop,
  queue_length,
  list_keys,
  barrier,
  unknown,
};

inline constexpr std::uint32_t validate_magic = 0x3C85F7CE;
/// The key that counts the processes of a group, the only one without "/" before it.
inline constexpr std::string_view workers_key = "init/";

inline constexpr char reply_ready = 0;
inline constexpr char reply_not_ready = 1;
inline constexpr char reply_stop_waiting = 0;
inline constexpr char reply_wait_cancelled = 1;
inline constexpr char reply_watching = 3;

// ---- bytes of the operations ----------------------------------------------------------------

inline constexpr std::array<store_op, 9> ops_of_1_13 = {
    store_op::set,  store_op::compare_set, store_op::get,       store_op::add,  store_op::check,
    store_op::wait, store_op::num_keys,    store_op::watch_key, store_op::erase};

inline constexpr std::array<store_op, 12> ops_of_2_1 = {
    store_op::set,  store_op::compare_set, store_op::get,       store_op::add,
    store_op::check, store_op::wait,       store_op::num_keys,  store_op::erase,
    store_op::append, store_op::multi_get, store_op::multi_set, store_op::cancel_wait};

inline constexpr std::array<store_op, 19> ops_of_2_2 = {
    store_op::validate, store_op::set,       store_op::compare_set, store_op::get,
    store_op::add,      store_op::check,     store_op::wait,        store_op::num_keys,
    store_op::erase,    store_op::append,    store_op::multi_get,   store_op::multi_set,
    store_op::cancel_wait, store_op::ping,   store_op::queue_push,  store_op::queue_pop,
    store_op::queue_length, store_op::list_keys, store_op::barrier};

inline std::span<const store_op> ops_of(tcp_store_generation generation) {
  switch (generation) {
    case tcp_store_generation::torch_1_13: return ops_of_1_13;
    case tcp_store_generation::torch_2_1: return ops_of_2_1;
    default: return ops_of_2_2;
  }
}

inline store_op decode_op(tcp_store_generation generation, char byte) {
  const auto ops = ops_of(generation);
  const auto index = static_cast<unsigned char>(byte);
  return index < ops.size() ? ops[index] : store_op::unknown;
}

/// Result: -1 where the generation has no such operation.
inline int encode_op(tcp_store_generation generation, store_op op) {
  const auto ops = ops_of(generation);
  for (std::size_t index = 0; index < ops.size(); ++index) {
    if (ops[index] == op) return static_cast<int>(index);
  }
  return -1;
}

// ---- integers and texts ---------------------------------------------------------------------

template <class Integer>
void append_integer(std::string& out, Integer value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

template <class Integer>
Integer load_integer(const char* bytes) {
  Integer value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

inline void append_text(std::string& out, std::string_view text) {
  append_integer<std::uint64_t>(out, text.size());
  out.append(text);
}

// ---- requests, as a client writes them ------------------------------------------------------

/// Writes requests of one generation behind what `out` holds already. Keys are those of the wire.
/// The operation must be one of the generation's (see `knows`).
class request_writer {
 public:
  explicit request_writer(tcp_store_generation generation) : generation_(generation) {}

  bool knows(store_op op) const { return encode_op(generation_, op) >= 0; }

  /// The first bytes of a connection, none for the generations that have no greeting.
  void greeting(std::string& out) const {
    if (!knows(store_op::validate)) return;
    operation(out, store_op::validate);
    append_integer(out, validate_magic);
  }

  /// An operation without operands.
  void operation(std::string& out, store_op op) const {
    const int byte = encode_op(generation_, op);
    ELASTIC_ASSERT(byte >= 0);
    out.push_back(static_cast<char>(byte));
  }

  /// One with a key: get, erase, queue_pop, queue_length, watch_key.
  void with_key(std::string& out, store_op op, std::string_view key) const {
    operation(out, op);
    append_text(out, key);
  }

  /// One with a key and a value: set, append, queue_push.
  void with_value(std::string& out, store_op op, std::string_view key,
                  std::string_view value) const {
    with_key(out, op, key);
    append_text(out, value);
  }

  /// One with a key and a number: add, barrier.
  void with_number(std::string& out, store_op op, std::string_view key,
                   std::int64_t number) const {
    with_key(out, op, key);
    append_integer(out, number);
  }

  /// One with any number of keys: check, wait, multi_get.
  void with_keys(std::string& out, store_op op, std::span<const std::string> keys) const {
    operation(out, op);
    append_integer<std::uint64_t>(out, keys.size());
    for (const std::string& key : keys) append_text(out, key);
  }

  void compare_set(std::string& out, std::string_view key, std::string_view expected,
                   std::string_view desired) const {
    with_value(out, store_op::compare_set, key, expected);
    append_text(out, desired);
  }

  void ping(std::string& out, std::uint32_t nonce) const {
    operation(out, store_op::ping);
    append_integer(out, nonce);
  }

 private:
  tcp_store_generation generation_;
};

// ---- requests, as a server reads them -------------------------------------------------------

/// One request. The views are into the bytes that were given to the parser.
struct store_request {
  store_op op = store_op::unknown;
  /// Keys and values in the order of the wire: {key, value}, {key, expected, desired}, all keys
  /// of a wait, or key, value, key, value of a multi_set.
  std::vector<std::string_view> texts;
  /// The delta of an add, the world of a barrier, the nonce of a ping, the magic of a validate.
  std::int64_t number = 0;
};

/// Finds the request at the front of a stream of bytes, however it is cut into pieces. What was
/// found of an incomplete request is kept, so that no byte is looked at twice.
class request_parser {
 public:
  enum class outcome { incomplete, complete, malformed };

  explicit request_parser(const tcp_store_bounds& bounds) : bounds_(bounds) {}

  /// True before the first byte of a request.
  bool at_start() const { return used_ == 0; }

  /// Names the operation of the request; its byte is the first of `input`.
  void begin(store_op op) {
    request_.op = op;
    request_.number = 0;
    fields_ = layout_of(op);
    pieces_.clear();
    items_left_ = 0;
    used_ = 1;
  }

  /// Goes on with the request that `begin` named.
  /// @param input  all of its bytes that are there, the first one included
  outcome parse(std::string_view input) {
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

  /// The complete request and how many bytes it took.
  const store_request& request() const { return request_; }
  std::size_t used() const { return used_; }

  /// Makes ready for the next request. What a large one needed is not kept.
  void finish() {
    used_ = 0;
    constexpr std::size_t texts_kept = 64;
    if (pieces_.capacity() > texts_kept) {
      pieces_ = {};
      request_.texts = {};
    }
  }

  /// Why a request is malformed.
  std::string_view complaint() const { return complaint_; }

 private:
  struct piece {
    std::size_t offset = 0;
    std::size_t size = 0;
  };

  // One letter per operand: k key, v value, i 64-bit number, u 32-bit number, n count of keys,
  // p count of pairs. While a list is read, `items_left_` counts and the letter stays.
  static const char* layout_of(store_op op) {
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

  outcome parse_field(std::string_view input) {
    switch (*fields_) {
      case 'k': return parse_single(input, bounds_.key_bytes);
      case 'v': return parse_single(input, bounds_.value_bytes);
      case 'i': return parse_number<std::int64_t>(input);
      case 'u': return parse_number<std::uint32_t>(input);
      default: return parse_list(input);
    }
  }

  outcome parse_single(std::string_view input, std::size_t bound) {
    const outcome result = parse_text(input, bound);
    if (result == outcome::complete) ++fields_;
    return result;
  }

  template <class Integer>
  outcome parse_number(std::string_view input) {
    if (input.size() - used_ < sizeof(Integer)) return outcome::incomplete;
    request_.number = static_cast<std::int64_t>(load_integer<Integer>(input.data() + used_));
    used_ += sizeof(Integer);
    ++fields_;
    return outcome::complete;
  }

  outcome parse_list(std::string_view input) {
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

  // The length is judged as soon as it is there, so that nothing is kept for a text that would
  // be refused.
  outcome parse_text(std::string_view input, std::size_t bound) {
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

  outcome complain(std::string_view what) {
    complaint_ = what;
    return outcome::malformed;
  }

  tcp_store_bounds bounds_;
  store_request request_;
  const char* fields_ = "";
  std::vector<piece> pieces_;
  std::size_t items_left_ = 0;
  std::size_t used_ = 0;
  std::string_view complaint_;
};

// ---- which generation a connection speaks ---------------------------------------------------

enum class first_bytes { undecided, legacy, modern, foreign, extension };

/// The bytes of a modern greeting, its operation included.
inline constexpr std::size_t greeting_bytes = 1 + sizeof validate_magic;

/// Judges the first bytes of a connection. There is no doubt: the magic as the length of an old
/// client's key would be far over any bound.
inline first_bytes classify(std::string_view input) {
  if (input.empty()) return first_bytes::undecided;
  const auto op = static_cast<unsigned char>(input.front());
  if (op != 0) return op < ops_of_2_1.size() ? first_bytes::legacy : first_bytes::foreign;
  if (input.size() < greeting_bytes) return first_bytes::undecided;
  return load_integer<std::uint32_t>(input.data() + 1) == validate_magic ? first_bytes::modern
                                                                         : first_bytes::legacy;
}

}  // namespace elastic::detail
