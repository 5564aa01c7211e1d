// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/torch/detail/pickle_format.hpp>
#include <elastic/torch/detail/torch_state.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace elastic::detail {

/// Writes the operations of a pickle, using as few kinds of them as a state needs.
///
/// Memoizes repeated values (names, nodes), like Python: otherwise the state of some thousand nodes
/// would be several times as long, and every node reads it every few seconds.
class pickle_writer {
 public:
  /// @param memoizes  false for a piece that must be valid anywhere in another pickle
  explicit pickle_writer(bool memoizes) : memoizes_(memoizes) {}

  const std::string& written() const { return out_; }

  void op(pickle_op code) { out_.push_back(static_cast<char>(code)); }

  /// Inserts the output of another writer, which must not have memoized.
  void piece(std::string_view operations) { out_ += operations; }

  ELASTIC_DECL void begin();

  void boolean(bool value) { op(value ? pickle_op::newtrue : pickle_op::newfalse); }

  ELASTIC_DECL void integer(std::int64_t value);
  ELASTIC_DECL void text(std::string_view value);

  /// A text that occurs repeatedly.
  ELASTIC_DECL void name(std::string_view value);

  /// At most 255 bytes.
  ELASTIC_DECL void bytes(std::string_view value);
  ELASTIC_DECL void global(pickle_global which);
  ELASTIC_DECL void node(const node_id& id, std::string_view host_attribute);

  /// Errors: `errc::invalid_argument` for a year that Python does not support.
  ELASTIC_DECL void time(torch_time value, bool zoned);

  /// The timezone UTC.
  ELASTIC_DECL void zone();

  /// A timedelta.
  ELASTIC_DECL void span(std::chrono::microseconds value);

 private:
  template <class Write>
  void once(std::string key, Write write) {
    if (!memoizes_) return write();
    const auto position = memo_.find(key);
    if (position != memo_.end()) return recall(position->second);
    write();
    op(pickle_op::memoize);
    const std::size_t index = memo_.size();
    memo_.emplace(std::move(key), index);
  }

  ELASTIC_DECL void recall(std::size_t index);
  ELASTIC_DECL void with_number(pickle_op code, std::int64_t value, int size);
  ELASTIC_DECL void little_endian(std::int64_t value, int size);

  bool memoizes_;
  std::string out_;
  std::map<std::string, std::size_t> memo_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/pickle_writer.ipp>
#endif
