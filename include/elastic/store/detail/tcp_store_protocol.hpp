// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/store/detail/tcp_store_bounds.hpp>
#include <elastic/store/tcp_store_generation.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The wire format of PyTorch's TCPStore: only encoding and decoding. A request is one byte of
// operation followed by its operands; there are no frames and no request numbers. Integers are in
// the byte order of the host. A text follows its length in 64 bits.
namespace elastic::detail {

/// The operation of a request, independent of its byte in a generation.
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

inline constexpr std::size_t store_ops = static_cast<std::size_t>(store_op::unknown) + 1;

/// "set", "compare_set", ..., the names in metrics.
ELASTIC_DECL std::string_view name_of(store_op operation);

inline constexpr std::uint32_t validate_magic = 0x3C85F7CE;
/// The key that counts the processes of a group, the only one without a leading "/".
inline constexpr std::string_view workers_key = "init/";

inline constexpr char reply_ready = 0;
inline constexpr char reply_not_ready = 1;
inline constexpr char reply_stop_waiting = 0;
inline constexpr char reply_wait_cancelled = 1;
inline constexpr char reply_watching = 3;

// ---- bytes of the operations ----------------------------------------------------------------

ELASTIC_DECL store_op decode_op(tcp_store_generation generation, char byte);

/// Result: -1 if the generation has no such operation.
ELASTIC_DECL int encode_op(tcp_store_generation generation, store_op op);

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

ELASTIC_DECL void append_text(std::string& out, std::string_view text);

// ---- requests, client side ------------------------------------------------------------------

/// Appends requests of one generation to `out`. Keys are those on the wire. The generation must
/// have the operation (see `knows`).
class request_writer {
 public:
  explicit request_writer(tcp_store_generation generation) : generation_(generation) {}

  bool knows(store_op op) const { return encode_op(generation_, op) >= 0; }

  /// The first bytes of a connection; nothing in generations without a greeting.
  ELASTIC_DECL void greeting(std::string& out) const;

  /// An operation without operands.
  ELASTIC_DECL void operation(std::string& out, store_op op) const;

  /// One with a key: get, erase, queue_pop, queue_length, watch_key.
  ELASTIC_DECL void with_key(std::string& out, store_op op, std::string_view key) const;

  /// One with a key and a value: set, append, queue_push.
  ELASTIC_DECL void with_value(std::string& out, store_op op, std::string_view key,
                               std::string_view value) const;

  /// One with a key and a number: add, barrier.
  ELASTIC_DECL void with_number(std::string& out, store_op op, std::string_view key,
                                std::int64_t number) const;

  /// One with any number of keys: check, wait, multi_get.
  ELASTIC_DECL void with_keys(std::string& out, store_op op,
                              std::span<const std::string> keys) const;
  ELASTIC_DECL void compare_set(std::string& out, std::string_view key, std::string_view expected,
                                std::string_view desired) const;
  ELASTIC_DECL void ping(std::string& out, std::uint32_t nonce) const;

 private:
  tcp_store_generation generation_;
};

// ---- requests, server side ------------------------------------------------------------------

/// One request. The views refer to the bytes that were given to the parser.
struct store_request {
  store_op op = store_op::unknown;
  /// Keys and values in the order of the wire: {key, value}, {key, expected, desired}, all keys
  /// of a wait, or key, value, key, value of a multi_set.
  std::vector<std::string_view> texts;
  /// The delta of an add, the world of a barrier, the nonce of a ping, the magic of a validate.
  std::int64_t number = 0;
};

/// Finds the request at the front of a stream of bytes that may arrive in any pieces. Keeps the
/// state of an incomplete request, so that no byte is parsed twice.
class request_parser {
 public:
  enum class outcome { incomplete, complete, malformed };

  explicit request_parser(const tcp_store_bounds& bounds) : bounds_(bounds) {}

  /// True before the first byte of a request.
  bool at_start() const { return used_ == 0; }

  /// Looks, between two requests, for a complete SET of 2.2 and later at the front of `input`.
  /// Result: its size; 0 if there is none, or if it exceeds a bound.
  ELASTIC_DECL std::size_t whole_set(std::string_view input,
                                     std::pair<std::string_view, std::string_view>& pair) const;

  /// Sets the operation of the request, whose byte is the first of `input`.
  ELASTIC_DECL void begin(store_op op);

  /// Continues with the request that `begin` named.
  /// @param input  all available bytes of the request, including the first one
  ELASTIC_DECL outcome parse(std::string_view input);

  /// The complete request, and its length in bytes.
  const store_request& request() const { return request_; }
  std::size_t used() const { return used_; }

  /// The memory used for an incomplete request, in bytes.
  std::size_t held() const { return at_start() ? 0 : pieces_.capacity() * sizeof(piece); }

  /// Prepares for the next request, and releases the memory of a large one.
  ELASTIC_DECL void finish();

  /// Why a request is malformed.
  std::string_view complaint() const { return complaint_; }

 private:
  struct piece {
    std::size_t offset = 0;
    std::size_t size = 0;
  };

  // One letter per operand: k key, v value, i 64-bit number, u 32-bit number, n count of keys,
  // p count of pairs. While a list is read, `items_left_` counts and the letter stays.
  ELASTIC_DECL static const char* layout_of(store_op op);
  ELASTIC_DECL outcome parse_field(std::string_view input);
  ELASTIC_DECL outcome parse_single(std::string_view input, std::size_t bound);

  template <class Integer>
  outcome parse_number(std::string_view input) {
    if (input.size() - used_ < sizeof(Integer)) return outcome::incomplete;
    request_.number = static_cast<std::int64_t>(load_integer<Integer>(input.data() + used_));
    used_ += sizeof(Integer);
    ++fields_;
    return outcome::complete;
  }

  ELASTIC_DECL outcome parse_list(std::string_view input);

  // Checks the length as soon as it has arrived, so that nothing is stored for a text that would be
  // refused.
  ELASTIC_DECL outcome parse_text(std::string_view input, std::size_t bound);
  ELASTIC_DECL outcome complain(std::string_view complaint);

  tcp_store_bounds bounds_;
  store_request request_;
  const char* fields_ = "";
  std::vector<piece> pieces_;
  std::size_t items_left_ = 0;
  std::size_t used_ = 0;
  std::string_view complaint_;
};

// ---- the generation of a connection ---------------------------------------------------------

enum class first_bytes { undecided, legacy, modern, foreign, extension };

/// The size of a modern greeting, with its operation.
inline constexpr std::size_t greeting_bytes = 1 + sizeof validate_magic;

/// Classifies the first bytes of a connection. This is unambiguous: if the magic were the length of
/// an old client's key, it would be far above any bound.
ELASTIC_DECL first_bytes classify(std::string_view input);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/tcp_store_protocol.ipp>
#endif
