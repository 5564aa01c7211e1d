// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/torch/detail/pickle_format.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

enum class pickle_kind : std::uint8_t {
  none,
  boolean,
  integer,
  text,
  bytes,
  tuple,
  dict,
  set,
  /// One of `pickle_globals`.
  global,
  /// A state or a node.
  object,
  /// A datetime, a timezone (only UTC) and a timedelta.
  time,
  zone,
  span,
};

/// A value of a pickle, by its index in the reader.
using pickle_ref = std::uint32_t;

struct pickle_value {
  pickle_kind kind = pickle_kind::none;
  /// Whether it may be the key of a dict, or in a set.
  bool is_hashable = true;
  /// Whether it is part of another value, or was memoized and recalled: it cannot change any more,
  /// so that no value is ever part of itself.
  bool is_final = false;
  /// Whether a time has the timezone UTC.
  bool is_zoned = false;
  int depth = 1;
  /// A boolean, an integer, the microseconds of a time since 1970 or of a span, the `pickle_global`
  /// of a global or of the class of an object.
  std::int64_t number = 0;
  /// A text or bytes, as in the pickle.
  std::string_view text;
  /// The parts of a tuple or set, the alternating keys and values of a dict, the one dict of an
  /// object.
  std::vector<pickle_ref> items;

  bool is(pickle_kind wanted) const { return kind == wanted; }
  ELASTIC_DECL bool is(pickle_kind wanted, pickle_global which) const;
};

/// Parses a pickle as a description of values. Python runs a pickle as a program that may call
/// anything that it names; this reader looks nothing up and calls nothing.
///
/// The values refer to the bytes of the pickle, which must outlive the reader.
class pickle_reader {
 public:
  explicit pickle_reader(std::string_view pickle) : input_(pickle) {}

  /// Parses the whole pickle.
  /// Result: its value.
  /// Errors: `errc::rendezvous_state`.
  ELASTIC_DECL pickle_ref read();

  const pickle_value& operator[](pickle_ref ref) const { return values_[ref]; }

 private:
  // ---- bytes ----

  ELASTIC_DECL std::string_view take(std::uint64_t count);
  ELASTIC_DECL pickle_op next_op();

  // Little-endian, unsigned.
  ELASTIC_DECL std::uint64_t number(std::size_t size);

  [[noreturn]] ELASTIC_DECL void fail(const std::string& why) const;

  // ---- operations ----

  ELASTIC_DECL void apply(pickle_op op);
  ELASTIC_DECL void push_integer(std::size_t size);
  ELASTIC_DECL void push_long();
  ELASTIC_DECL void push_text(std::string_view text);
  ELASTIC_DECL void push_bytes(std::string_view bytes);
  ELASTIC_DECL void push_container(pickle_kind kind);
  ELASTIC_DECL void push_tuple(std::size_t size);
  ELASTIC_DECL void set_item();
  ELASTIC_DECL void add_all(pickle_kind kind);
  ELASTIC_DECL void open_mark();
  ELASTIC_DECL void push_global();
  ELASTIC_DECL void push_object();

  // Python would call a function here; only three names are supported.
  ELASTIC_DECL void push_reduced();
  ELASTIC_DECL void push_time(std::span<const pickle_ref> arguments);
  ELASTIC_DECL void push_zone(std::span<const pickle_ref> arguments);
  ELASTIC_DECL void push_span(std::span<const pickle_ref> arguments);
  ELASTIC_DECL void build();
  ELASTIC_DECL void memoize();
  ELASTIC_DECL void recall(std::uint64_t index);

  // ---- stack ----

  ELASTIC_DECL void push(pickle_kind kind, std::int64_t value = 0);
  ELASTIC_DECL void push_ref(pickle_ref ref);

  // Values below the last mark are inaccessible.
  ELASTIC_DECL pickle_ref top() const;
  ELASTIC_DECL pickle_ref pop();
  ELASTIC_DECL pickle_ref open_container(pickle_kind kind);
  ELASTIC_DECL void add_pair(pickle_ref dict, pickle_ref key, pickle_ref value);
  ELASTIC_DECL void add_key(pickle_ref container, pickle_ref key);
  ELASTIC_DECL void add_item(pickle_ref container, pickle_ref item);

  std::string_view input_;
  std::size_t used_ = 0;
  // The offset of the current operation.
  std::size_t at_ = 0;
  std::vector<pickle_value> values_;
  std::vector<pickle_ref> stack_;
  std::vector<std::size_t> marks_;
  std::vector<pickle_ref> memo_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/pickle_reader.ipp>
#endif
