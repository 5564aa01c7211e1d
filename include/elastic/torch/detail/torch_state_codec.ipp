// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/torch_state_codec.hpp>

#include <elastic/base/detail/base64.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/torch/detail/pickle_format.hpp>
#include <elastic/torch/detail/pickle_reader.hpp>
#include <elastic/torch/detail/pickle_writer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string stored_text(const torch_state& state, torch_dialect dialect) {
  return to_base64(encode_torch_state(state, dialect));
}

ELASTIC_DECL std::optional<torch_state> parse_stored_text(std::string_view text) {
  if (text.empty() || text == torch_no_state) return std::nullopt;
  if (text.size() > base64_size(limits::rendezvous_state_bytes)) {
    refuse_state(fmt::format("it has {} letters, {} are allowed", text.size(),
                             base64_size(limits::rendezvous_state_bytes)));
  }
  const std::optional<std::string> pickle = from_base64(text);
  if (!pickle) refuse_state("it is not base64");
  return decode_torch_state(*pickle);
}

/// A longer host name is refused, so that a few bytes that are referenced often cannot fill the
/// memory. The resolver returns no longer one.
inline constexpr std::size_t node_host_bytes = 1024;

inline constexpr std::string_view redundancy_list_attribute = "redundancy_list";

ELASTIC_DECL std::string_view host_attribute(torch_dialect dialect) {
  return dialect == torch_dialect::torch_1_13 ? "fqdn" : "addr";
}

/// Builds a state from the values of a pickle, and notes the dialect that they show.
class torch_state_decoder {
 public:
  explicit torch_state_decoder(std::string_view pickle) : values_(pickle) {}

  torch_state decode() {
    attributes_ = attributes_of(values_.read(), pickle_global::state, "its value is not a state");
    torch_state state;
    state.round = integer(take("round"), "round");
    if (state.round < 0 || state.round > limits::rendezvous_told_number) {
      refuse_state(fmt::format("its round is {}, 0 to {} are allowed", state.round,
                               limits::rendezvous_told_number));
    }
    state.complete = boolean("complete");
    state.deadline = optional_time(take("deadline"));
    state.closed = boolean("closed");
    read_participants(state);
    state.wait_list = node_set(take("wait_list"), "wait_list");
    read_heartbeats(state);
    const std::optional<pickle_ref> spares = find(redundancy_list_attribute);
    if (spares) state.redundancy_list = node_set(*spares, redundancy_list_attribute);
    pickle_writer extra(false);
    for (const auto& [name, value] : attributes_) keep(state, extra, name, value);
    judge(state, spares.has_value());
    return state;
  }

 private:
  using attributes = std::map<std::string_view, pickle_ref>;

  attributes attributes_of(pickle_ref ref, pickle_global type, const char* otherwise) const {
    const pickle_value& object = values_[ref];
    if (!object.is(pickle_kind::object, type) || object.items.empty()) refuse_state(otherwise);
    const pickle_value& dict = values_[object.items.front()];
    attributes members;
    for (std::size_t i = 0; i < dict.items.size(); i += 2) {
      const std::string_view name = values_[dict.items[i]].text;
      if (!members.emplace(name, dict.items[i + 1]).second) {
        refuse_state(fmt::format("it has the attribute {} twice", shown(name)));
      }
    }
    return members;
  }

  std::optional<pickle_ref> find(std::string_view name) {
    const auto entry = attributes_.find(name);
    if (entry == attributes_.end()) return std::nullopt;
    const pickle_ref value = entry->second;
    attributes_.erase(entry);
    return value;
  }

  pickle_ref take(std::string_view name) {
    const std::optional<pickle_ref> value = find(name);
    if (!value) refuse_state(fmt::format("it has no attribute '{}'", name));
    return *value;
  }

  std::int64_t integer(pickle_ref ref, std::string_view name) const {
    const pickle_value& value = values_[ref];
    if (!value.is(pickle_kind::integer))
      refuse_state(fmt::format("its {} is not an integer", name));
    return value.number;
  }

  bool boolean(std::string_view name) {
    const pickle_value& value = values_[take(name)];
    if (!value.is(pickle_kind::boolean)) refuse_state(fmt::format("its {} is not a bool", name));
    return value.number != 0;
  }

  torch_time time(pickle_ref ref) {
    const pickle_value& value = values_[ref];
    if (!value.is(pickle_kind::time)) refuse_state("a time of it is not a datetime");
    (value.is_zoned ? sees_zoned_ : sees_unzoned_) = true;
    return torch_time(std::chrono::microseconds(value.number));
  }

  std::optional<torch_time> optional_time(pickle_ref ref) {
    if (values_[ref].is(pickle_kind::none)) return std::nullopt;
    return time(ref);
  }

  node_id node(pickle_ref ref) {
    constexpr std::string_view form = "a node of it is not made of fqdn or addr, pid and local_id";
    const pickle_value& object = values_[ref];
    if (!object.is(pickle_kind::object, pickle_global::node) || object.items.empty()) {
      refuse_state("an entry among its nodes is not a node");
    }
    const pickle_value& dict = values_[object.items.front()];
    if (dict.items.size() != 6) refuse_state(std::string(form));
    node_id id;
    bool has_host = false;
    bool has_pid = false;
    bool has_local_id = false;
    for (std::size_t i = 0; i < dict.items.size(); i += 2) {
      const std::string_view name = values_[dict.items[i]].text;
      const pickle_ref value = dict.items[i + 1];
      if (name == "fqdn" || name == "addr") {
        has_host = true;
        (name == "fqdn" ? sees_fqdn_ : sees_addr_) = true;
        id.host = host(value);
      } else if (name == "pid") {
        has_pid = true;
        id.pid = integer(value, "node's pid");
      } else if (name == "local_id") {
        has_local_id = true;
        id.local_id = integer(value, "node's local_id");
      }
    }
    if (!has_host || !has_pid || !has_local_id) refuse_state(std::string(form));
    return id;
  }

  std::string host(pickle_ref ref) const {
    const pickle_value& value = values_[ref];
    if (!value.is(pickle_kind::text)) refuse_state("a node of it is named by no text");
    if (value.text.size() > node_host_bytes) {
      refuse_state(fmt::format("the name of a node has {} bytes, {} are allowed", value.text.size(),
                               node_host_bytes));
    }
    return std::string(value.text);
  }

  // The items of a dict or a set of nodes.
  const std::vector<pickle_ref>& items(pickle_ref ref, pickle_kind kind,
                                       std::string_view name) const {
    const pickle_value& value = values_[ref];
    const bool is_dict = kind == pickle_kind::dict;
    if (!value.is(kind)) {
      refuse_state(fmt::format("its {} is not a {}", name, is_dict ? "dict" : "set"));
    }
    const std::size_t nodes = value.items.size() / (is_dict ? 2 : 1);
    if (nodes > static_cast<std::size_t>(limits::nodes)) {
      refuse_state(fmt::format("its {} has {} nodes, {} are allowed", name, nodes, limits::nodes));
    }
    return value.items;
  }

  [[noreturn]] static void refuse_twice(const node_id& id, std::string_view name) {
    refuse_state(fmt::format("its {} has the node {} twice", name, shown(id.text())));
  }

  void read_participants(torch_state& state) {
    const auto& pairs = items(take("participants"), pickle_kind::dict, "participants");
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      node_id id = node(pairs[i]);
      const std::int64_t rank = integer(pairs[i + 1], "participant's rank");
      if (rank < 0 || rank >= limits::nodes) {
        refuse_state(fmt::format("the node {} has the rank {}, 0 to {} are allowed",
                                 shown(id.text()), rank, limits::nodes - 1));
      }
      const auto [at, is_new] = state.participants.emplace(std::move(id), static_cast<int>(rank));
      if (!is_new) refuse_twice(at->first, "participants");
    }
  }

  void read_heartbeats(torch_state& state) {
    const auto& pairs = items(take("last_heartbeats"), pickle_kind::dict, "last_heartbeats");
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      node_id id = node(pairs[i]);
      const auto [at, is_new] = state.last_heartbeats.emplace(std::move(id), time(pairs[i + 1]));
      if (!is_new) refuse_twice(at->first, "last_heartbeats");
    }
  }

  std::set<node_id> node_set(pickle_ref ref, std::string_view name) {
    std::set<node_id> nodes;
    for (const pickle_ref item : items(ref, pickle_kind::set, name)) {
      const auto [at, is_new] = nodes.insert(node(item));
      if (!is_new) refuse_twice(*at, name);
    }
    return nodes;
  }

  // ---- attributes unknown to the dialect ----

  // One writer writes all extra attributes, so that one limit applies to all of them.
  void keep(torch_state& state, pickle_writer& extra, std::string_view name, pickle_ref value) {
    const std::size_t begin = extra.written().size();
    copy(extra, value);
    state.extra.emplace(name, extra.written().substr(begin));
  }

  void copy(pickle_writer& writer, pickle_ref ref) {
    // A value that is used in many places is copied to each of them.
    if (writer.written().size() > limits::rendezvous_state_bytes) {
      refuse_state(
          fmt::format("its unknown attributes take over {} bytes", limits::rendezvous_state_bytes));
    }
    const pickle_value& value = values_[ref];
    switch (value.kind) {
      case pickle_kind::none: return writer.op(pickle_op::none);
      case pickle_kind::boolean: return writer.boolean(value.number != 0);
      case pickle_kind::integer: return writer.integer(value.number);
      case pickle_kind::text: return writer.text(value.text);
      case pickle_kind::bytes: return writer.bytes(value.text);
      case pickle_kind::time: return writer.time(time(ref), value.is_zoned);
      case pickle_kind::zone: return writer.zone();
      case pickle_kind::span: return writer.span(std::chrono::microseconds(value.number));
      case pickle_kind::object: return copy_node(writer, ref);
      case pickle_kind::tuple: return copy_tuple(writer, value);
      case pickle_kind::dict:
        writer.op(pickle_op::empty_dict);
        return copy_items(writer, value, pickle_op::setitems);
      case pickle_kind::set:
        writer.op(pickle_op::empty_set);
        return copy_items(writer, value, pickle_op::additems);
      default: refuse_state("an unknown attribute of it cannot be kept");
    }
  }

  void copy_node(pickle_writer& writer, pickle_ref ref) {
    const bool saw_fqdn = std::exchange(sees_fqdn_, false);
    const node_id id = node(ref);
    writer.node(id, sees_fqdn_ ? "fqdn" : "addr");
    sees_fqdn_ = sees_fqdn_ || saw_fqdn;
  }

  void copy_tuple(pickle_writer& writer, const pickle_value& tuple) {
    constexpr pickle_op codes[] = {pickle_op::empty_tuple, pickle_op::tuple1, pickle_op::tuple2,
                                   pickle_op::tuple3};
    for (const pickle_ref item : tuple.items) copy(writer, item);
    writer.op(codes[tuple.items.size()]);
  }

  void copy_items(pickle_writer& writer, const pickle_value& container, pickle_op code) {
    if (container.items.empty()) return;
    writer.op(pickle_op::mark);
    for (const pickle_ref item : container.items) copy(writer, item);
    writer.op(code);
  }

  // ---- the dialect ----

  void judge(torch_state& state, bool has_spares) const {
    if (sees_fqdn_ && sees_addr_) {
      refuse_state("it mixes dialects: nodes with fqdn (PyTorch 1.13) and with addr (2.0)");
    }
    if (sees_unzoned_ && sees_zoned_) {
      refuse_state(
          "it mixes dialects: times without a timezone (PyTorch 1.13, 2.0) and in UTC "
          "(2.6)");
    }
    if (sees_fqdn_ && sees_zoned_) {
      refuse_state("it mixes dialects: nodes with fqdn (PyTorch 1.13) and times in UTC (2.6)");
    }
    if (sees_zoned_ && !has_spares) {
      refuse_state("it mixes dialects: times in UTC (PyTorch 2.6) without a redundancy_list");
    }
    const bool is_old = sees_fqdn_ || sees_unzoned_;
    if (is_old && !state.redundancy_list.empty()) {
      refuse_state(fmt::format("it mixes dialects: nodes in a redundancy_list (PyTorch 2.6) and {}",
                               sees_fqdn_ ? "nodes with fqdn (1.13)"
                                          : "times without a timezone (1.13, 2.0); agents of 2.3 "
                                            "to 2.5, which do, are not supported"));
    }
    if (sees_fqdn_) {
      state.seen_dialect = torch_dialect::torch_1_13;
    } else if (has_spares && !is_old) {
      state.seen_dialect = torch_dialect::torch_2_6;
    } else if (sees_addr_) {
      state.seen_dialect = torch_dialect::torch_2_0;
    }
    if (is_old && has_spares) {
      // An older agent that found an empty state of 2.6 keeps its redundancy list, and so does
      // this.
      state.extra.emplace(redundancy_list_attribute,
                          std::string(1, static_cast<char>(pickle_op::empty_set)));
    }
  }

  pickle_reader values_;
  // The attributes of the state that were not read yet.
  attributes attributes_;
  bool sees_fqdn_ = false;
  bool sees_addr_ = false;
  bool sees_unzoned_ = false;
  bool sees_zoned_ = false;
};

[[noreturn]] inline void refuse_to_write(const std::string& why) {
  throw error(errc::invalid_argument, "the state of the rendezvous cannot be written: " + why);
}

/// Writes a state for one dialect.
class torch_state_encoder {
 public:
  explicit torch_state_encoder(torch_dialect dialect)
      : host_attribute_(host_attribute(dialect)), is_modern_(dialect == torch_dialect::torch_2_6) {}

  std::string encode(const torch_state& state) {
    if (state.round < 0) refuse_to_write(fmt::format("its round is {}", state.round));
    if (!is_modern_ && !state.redundancy_list.empty()) {
      refuse_to_write("it has a redundancy list, which only the dialect 2.6 knows");
    }
    out_.begin();
    out_.global(pickle_global::state);
    out_.op(pickle_op::empty_tuple);
    out_.op(pickle_op::newobj);
    out_.op(pickle_op::empty_dict);
    out_.op(pickle_op::mark);
    out_.text("round");
    out_.integer(state.round);
    out_.text("complete");
    out_.boolean(state.complete);
    out_.text("deadline");
    if (state.deadline)
      out_.time(*state.deadline, is_modern_);
    else
      out_.op(pickle_op::none);
    out_.text("closed");
    out_.boolean(state.closed);
    out_.text("participants");
    dict(state.participants, [&](int rank) { write_rank(rank); });
    out_.text("wait_list");
    set(state.wait_list);
    if (is_modern_) {
      out_.text(redundancy_list_attribute);
      set(state.redundancy_list);
    }
    out_.text("last_heartbeats");
    dict(state.last_heartbeats, [&](torch_time time) { out_.time(time, is_modern_); });
    for (const auto& [name, value] : state.extra) {
      if (is_modern_ && name == redundancy_list_attribute) continue;
      out_.text(name);
      out_.piece(value);
    }
    out_.op(pickle_op::setitems);
    out_.op(pickle_op::build);
    out_.op(pickle_op::stop);
    if (out_.written().size() > limits::rendezvous_state_bytes) {
      refuse_to_write(fmt::format("it has {} bytes, {} are allowed", out_.written().size(),
                                  limits::rendezvous_state_bytes));
    }
    return out_.written();
  }

 private:
  template <class Value, class Write>
  void dict(const std::map<node_id, Value>& entries, Write write) {
    out_.op(pickle_op::empty_dict);
    if (entries.empty()) return;
    out_.op(pickle_op::mark);
    for (const auto& [id, value] : entries) {
      write_node(id);
      write(value);
    }
    out_.op(pickle_op::setitems);
  }

  void set(const std::set<node_id>& nodes) {
    out_.op(pickle_op::empty_set);
    if (nodes.empty()) return;
    out_.op(pickle_op::mark);
    for (const node_id& id : nodes) write_node(id);
    out_.op(pickle_op::additems);
  }

  void write_node(const node_id& id) {
    if (id.host.size() > node_host_bytes || !is_pickle_text(id.host)) {
      refuse_to_write(fmt::format("the name of the node {} is not UTF-8 of at most {} bytes",
                                  shown(id.text()), node_host_bytes));
    }
    out_.node(id, host_attribute_);
  }

  void write_rank(int rank) {
    if (rank < 0 || rank >= limits::nodes) {
      refuse_to_write(
          fmt::format("it has the rank {}, 0 to {} are allowed", rank, limits::nodes - 1));
    }
    out_.integer(rank);
  }

  std::string_view host_attribute_;
  bool is_modern_;
  pickle_writer out_{true};
};

ELASTIC_DECL std::string encode_torch_state(const torch_state& state, torch_dialect dialect) {
  return torch_state_encoder(dialect).encode(state);
}

ELASTIC_DECL torch_state decode_torch_state(std::string_view pickle) {
  if (pickle.size() > limits::rendezvous_state_bytes) {
    refuse_state(fmt::format("it has {} bytes, {} are allowed", pickle.size(),
                             limits::rendezvous_state_bytes));
  }
  return torch_state_decoder(pickle).decode();
}

}  // namespace elastic::detail
