// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/json_document.hpp>

#include <elastic/base/detail/json.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// Receives the events of nlohmann's parser.
class json_builder {
 public:
  using json = nlohmann::ordered_json;

  /// @param keeps  whether to build the value, or only to check the text
  json_builder(bool keeps, std::size_t most_members) : keeps_(keeps), most_members_(most_members) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }  // JSON text has none
  bool start_object(std::size_t) { return open(json::value_t::object); }
  bool start_array(std::size_t) { return open(json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    if (!keeps_) return true;
    json& object = *open_.back();
    if (object.size() == most_members_) {
      complaint_ = fmt::format("an object of more than {} members", most_members_);
      return false;
    }
    member_ = &object[name];
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const std::exception& failure) {
    complaint_ = failure.what();
    return false;
  }

  json take() { return std::move(root_); }
  std::string take_complaint() { return std::move(complaint_); }

 private:
  bool add(json value) {
    if (keeps_) place(std::move(value));
    return true;
  }

  bool open(json::value_t kind) {
    if (!keeps_) return true;
    if (open_.size() == most_levels) {
      complaint_ = fmt::format("more than {} levels of objects and lists", most_levels);
      return false;
    }
    open_.push_back(place(kind));
    return true;
  }

  bool close() {
    if (keeps_) open_.pop_back();
    return true;
  }

  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& holder = *open_.back();
    if (holder.is_array()) {
      holder.push_back(std::move(value));
      return &holder.back();
    }
    *member_ = std::move(value);
    return member_;
  }

  // A growing object copies the values of its members, recursively.
  static constexpr std::size_t most_levels = 128;

  bool keeps_;
  std::size_t most_members_;
  json root_;
  // From the root to the innermost. Only the innermost grows, so the pointers stay valid.
  std::vector<json*> open_;
  json* member_ = nullptr;
  std::string complaint_;
};

/// Result: whether the text is JSON.
inline bool read_json(std::string_view text, json_builder& builder) {
  auto input = nlohmann::detail::input_adapter(text.data(), text.data() + text.size());
  nlohmann::detail::parser<json_builder::json, decltype(input)> parser(std::move(input));
  return parser.sax_parse(&builder);
}

ELASTIC_DECL nlohmann::ordered_json parse_json(std::string_view text, std::string* complaint,
                                               std::size_t most_members) {
  json_builder builder(true, most_members);
  if (read_json(text, builder)) return builder.take();
  if (complaint != nullptr) *complaint = builder.take_complaint();
  return nlohmann::ordered_json(nlohmann::ordered_json::value_t::discarded);
}

ELASTIC_DECL std::string json_fault(std::string_view text) {
  json_builder builder(false, 0);
  return read_json(text, builder) ? "" : builder.take_complaint();
}

}  // namespace elastic::detail
