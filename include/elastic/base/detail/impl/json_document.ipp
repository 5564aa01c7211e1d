// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/json_document.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace elastic::detail {

/// Receives the events of nlohmann's parser.
template <class Json>
class json_builder {
 public:
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(typename Json::binary_t&) { return false; }  // a text has none
  bool start_object(std::size_t) { return open(Json::value_t::object); }
  bool start_array(std::size_t) { return open(Json::value_t::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    member_ = &(*open_.back())[name];
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const std::exception& failure) {
    complaint_ = failure.what();
    return false;
  }

  Json take() { return std::move(root_); }
  std::string take_complaint() { return std::move(complaint_); }

 private:
  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(typename Json::value_t kind) {
    open_.push_back(place(kind));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  Json* place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& holder = *open_.back();
    if (holder.is_array()) {
      holder.push_back(std::move(value));
      return &holder.back();
    }
    *member_ = std::move(value);
    return member_;
  }

  Json root_;
  // From the root to the innermost; only that one grows, so the pointers stay valid.
  std::vector<Json*> open_;
  Json* member_ = nullptr;
  std::string complaint_;
};

template <class Json>
Json parse_json_as(std::string_view text, std::string* complaint) {
  auto input = nlohmann::detail::input_adapter(text.data(), text.data() + text.size());
  nlohmann::detail::parser<Json, decltype(input)> parser(std::move(input));
  json_builder<Json> builder;
  if (parser.sax_parse(&builder)) return builder.take();
  if (complaint != nullptr) *complaint = builder.take_complaint();
  return Json(Json::value_t::discarded);
}

ELASTIC_DECL nlohmann::json parse_json(std::string_view text, std::string* complaint) {
  return parse_json_as<nlohmann::json>(text, complaint);
}

ELASTIC_DECL nlohmann::ordered_json parse_ordered_json(std::string_view text,
                                                       std::string* complaint) {
  return parse_json_as<nlohmann::ordered_json>(text, complaint);
}

}  // namespace elastic::detail
