// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// The part of Python's pickle format that the reader and the writer share: the few operations that
// the state of a rendezvous needs.
namespace elastic::detail {

/// The supported operations; every other byte is refused.
enum class pickle_op : std::uint8_t {
  mark = 0x28,
  empty_tuple = 0x29,
  stop = 0x2e,
  short_binbytes = 0x43,
  binint = 0x4a,
  binint1 = 0x4b,
  binint2 = 0x4d,
  none = 0x4e,
  reduce = 0x52,
  binunicode = 0x58,
  build = 0x62,
  binget = 0x68,
  long_binget = 0x6a,
  setitem = 0x73,
  setitems = 0x75,
  empty_dict = 0x7d,
  proto = 0x80,
  newobj = 0x81,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a,
  short_binunicode = 0x8c,
  empty_set = 0x8f,
  additems = 0x90,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95,
};

/// The only names of Python that a pickle may mention. They are never looked up: each stands for
/// itself, and its position in this list determines its use.
enum class pickle_global : std::uint8_t { state, node, datetime, timezone, timedelta };

struct pickle_name {
  std::string_view module;
  std::string_view name;
};

/// Indexed by `pickle_global`.
inline constexpr std::array<pickle_name, 5> pickle_globals = {{
    {"torch.distributed.elastic.rendezvous.dynamic_rendezvous", "_RendezvousState"},
    {"torch.distributed.elastic.rendezvous.dynamic_rendezvous", "_NodeDesc"},
    {"datetime", "datetime"},
    {"datetime", "timezone"},
    {"datetime", "timedelta"},
}};

/// How deeply values may be nested; a state needs 6.
inline constexpr int pickle_depth = 32;
/// Open marks at the same time, and values on the stack.
inline constexpr std::size_t pickle_marks = 32;
inline constexpr std::size_t pickle_stack = 4 * static_cast<std::size_t>(limits::nodes) + 64;
inline constexpr std::size_t pickle_memo = 64 * 1024;
/// Values in one pickle: some 9 for each node.
inline constexpr std::size_t pickle_values = 256 * 1024;

[[noreturn]] ELASTIC_DECL void refuse_state(const std::string& why);

/// A form of untrusted text for messages: on one line, and truncated if it is long.
ELASTIC_DECL std::string shown(std::string_view text);

/// Whether Python accepts these bytes as a text: UTF-8, possibly with single surrogates, which
/// stand for bytes that Python could not decode.
ELASTIC_DECL bool is_pickle_text(std::string_view bytes);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/pickle_format.ipp>
#endif
