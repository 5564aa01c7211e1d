// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/recorder_pickle.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <bit>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

[[noreturn]] inline void refuse_pickle(const std::string& why) {
  throw error(errc::protocol_violation, "a recorder that is to be kept " + why);
}

/// Writes pickles of protocol 2, which every Python 3 reads.
class dump_writer {
 public:
  explicit dump_writer(std::size_t most_bytes) : most_bytes_(most_bytes) { add("\x80\x02"); }

  void begin_dictionary() { add("}("); }
  void end_dictionary() { add("u"); }
  void begin_list() { add("]("); }
  void end_list() { add("e"); }
  void none() { add("N"); }
  void boolean(bool value) { add(value ? "\x88" : "\x89"); }
  void text(std::string_view value) {
    add("X");
    add_bytes(value.size(), 4);
    add(value);
  }
  void number(std::int64_t value) {
    add("\x8a\x08");
    add_bytes(static_cast<std::uint64_t>(value), 8);
  }
  void unsigned_number(std::uint64_t value) {
    // The ninth byte keeps it positive.
    add("\x8a\x09");
    add_bytes(value, 8);
    add_bytes(0, 1);
  }
  void real(double value) {
    add("G");
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 56; shift >= 0; shift -= 8) add_bytes(bits >> shift, 1);
  }
  std::string take() {
    add(".");
    return std::move(bytes_);
  }

 private:
  void add(std::string_view bytes) {
    if (bytes.size() > most_bytes_ - bytes_.size()) {
      refuse_pickle(fmt::format("takes more than {} bytes", most_bytes_));
    }
    bytes_ += bytes;
  }
  /// In little-endian order.
  void add_bytes(std::uint64_t value, int count) {
    for (int each = 0; each < count; ++each, value >>= 8) {
      const char byte = static_cast<char>(value & 0xff);
      add(std::string_view(&byte, 1));
    }
  }

  std::size_t most_bytes_;
  std::string bytes_;
};

/// Tracks the position of a parser in a recorder's JSON.
class recorder_events {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  [[noreturn]] static bool parse_error(std::size_t position, const std::string&,
                                       const nlohmann::json::exception&) {
    refuse_pickle(fmt::format("is not JSON from byte {} on", position));
  }

 protected:
  void open(bool is_object) {
    if (depth_ == 0 && !is_object) refuse_pickle("is not a JSON object");
    if (++depth_ > limits::recorder_depth) {
      refuse_pickle(fmt::format("is nested deeper than {} levels", limits::recorder_depth));
    }
  }
  void close() { --depth_; }
  void enter(const std::string& key) {
    if (depth_ == 1) section_ = key;
    if (depth_ == entry_depth) field_ = key;
  }
  bool is_in(std::string_view section) const { return depth_ > 0 && section_ == section; }
  bool is_group_name() const {
    return is_in("entries") && depth_ == entry_depth + 1 && field_ == "process_group";
  }

  // {"entries": [{"process_group": [NAME, DESCRIPTION]}], "pg_config": {NAME: {…}}}
  static constexpr std::size_t entry_depth = 3;
  static constexpr std::size_t group_depth = 2;
  std::size_t depth_ = 0;
  std::string section_;
  std::string field_;
};

/// Finds the groups that have entries but no member list.
class unnamed_groups : public recorder_events {
 public:
  std::map<std::string, std::string> take() {
    for (const auto& [name, known] : configured_) used_.erase(name);
    return std::move(used_);
  }
  bool has_configuration() const { return has_configuration_; }

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(number_integer_t) { return true; }
  bool number_unsigned(number_unsigned_t) { return true; }
  bool number_float(number_float_t, const string_t&) { return true; }
  bool binary(binary_t&) { return true; }
  bool string(string_t& value) {
    if (!is_group_name()) return true;
    if (is_description_) used_[name_] = value;
    if (used_.size() > limits::recorder_groups) refuse_pickle("has too many groups");
    name_ = std::exchange(is_description_, !is_description_) ? std::string() : value;
    return true;
  }
  bool start_object(std::size_t) { return open(true), true; }
  bool end_object() { return close(), true; }
  bool start_array(std::size_t) {
    is_description_ = false;
    return open(false), true;
  }
  bool end_array() { return close(), true; }
  bool key(string_t& value) {
    enter(value);
    if (depth_ == 1 && value == "pg_config") has_configuration_ = true;
    if (is_in("pg_config") && depth_ == group_depth) configured_[value] = true;
    if (configured_.size() > limits::recorder_groups) refuse_pickle("has too many groups");
    return true;
  }

 private:
  /// The descriptions of groups, by name.
  std::map<std::string, std::string> used_;
  std::map<std::string, bool> configured_;
  bool has_configuration_ = false;
  std::string name_;
  bool is_description_ = false;
};

/// Writes the values of parser events as a pickle, and adds the missing groups.
class recorder_pickler : public recorder_events {
 public:
  recorder_pickler(std::map<std::string, std::string> missing, bool has_configuration,
                   const recorder_owner& owner, std::size_t most_bytes)
      : missing_(std::move(missing)),
        has_configuration_(has_configuration),
        owner_(owner),
        to_(most_bytes) {}

  std::string take() { return to_.take(); }

  bool null() { return to_.none(), true; }
  bool boolean(bool value) { return to_.boolean(value), true; }
  bool number_integer(number_integer_t value) { return to_.number(value), true; }
  bool number_unsigned(number_unsigned_t value) { return to_.unsigned_number(value), true; }
  bool number_float(number_float_t value, const string_t&) { return to_.real(value), true; }
  bool binary(binary_t&) { return to_.none(), true; }
  bool string(string_t& value) { return to_.text(value), true; }
  bool start_object(std::size_t) {
    open(true);
    return to_.begin_dictionary(), true;
  }
  bool end_object() {
    if (is_in("pg_config") && depth_ == group_depth) add_missing();
    if (depth_ == 1 && !has_configuration_) {
      to_.text("pg_config");
      to_.begin_dictionary();
      add_missing();
      to_.end_dictionary();
    }
    close();
    return to_.end_dictionary(), true;
  }
  bool start_array(std::size_t) {
    open(false);
    return to_.begin_list(), true;
  }
  bool end_array() {
    close();
    return to_.end_list(), true;
  }
  bool key(string_t& value) {
    enter(value);
    return to_.text(value), true;
  }

 private:
  void add_missing() {
    for (const auto& [name, description] : missing_) {
      to_.text(name);
      to_.begin_dictionary();
      to_.text("name");
      to_.text(name);
      to_.text("desc");
      to_.text(description);
      to_.text("ranks");
      to_.text(description == "default_pg" ? all_ranks() : fmt::format("[{}]", owner_.rank));
      to_.end_dictionary();
    }
  }
  std::string all_ranks() const {
    std::string text = "[";
    for (int rank = 0; rank < owner_.world_size; ++rank) {
      text += fmt::format("{}{}", rank == 0 ? "" : ", ", rank);
    }
    return text + "]";
  }

  std::map<std::string, std::string> missing_;
  bool has_configuration_;
  recorder_owner owner_;
  dump_writer to_;
};

ELASTIC_DECL std::string recorder_pickle(std::string_view json, const recorder_owner& owner,
                                         std::size_t most_bytes) {
  if (json.size() > limits::recorder_bytes) {
    refuse_pickle(fmt::format("is {} bytes long; up to {} are taken", json.size(),
                              limits::recorder_bytes));
  }
  unnamed_groups groups;
  nlohmann::json::sax_parse(json, &groups);
  const bool has_configuration = groups.has_configuration();
  recorder_pickler pickler(groups.take(), has_configuration, owner, most_bytes);
  nlohmann::json::sax_parse(json, &pickler);
  return pickler.take();
}

}  // namespace elastic::detail
