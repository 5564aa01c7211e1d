// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/json_fields.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_document.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic::detail {

/// The type and the plain value of a document's value.
inline plain_field plain_field_of(std::string_view name, const nlohmann::ordered_json& value) {
  plain_field field{.name = name};
  if (value.is_null()) field.kind = plain_field::type::null;
  if (value.is_boolean()) {
    field.kind = plain_field::type::flag;
    field.number = value.get<bool>() ? 1 : 0;
  }
  if (value.is_string()) {
    field.kind = plain_field::type::text;
    field.text = value.get_ref<const std::string&>();
  }
  if (value.is_number_integer()) {
    field.kind = plain_field::type::number;
    field.number = value.get<std::int64_t>();
    const bool is_large = value.is_number_unsigned() && field.number < 0;
    if (is_large) field.kind = plain_field::type::large_number;
  }
  return field;
}

ELASTIC_DECL json_fields::json_fields(std::string_view subject, std::string_view text,
                                      std::size_t most_bytes)
    : subject_(subject), text_(text) {
  if (text.size() > most_bytes) {
    refuse(fmt::format("is {} bytes long; up to {} are taken", text.size(), most_bytes));
  }
  if (read_plain_json(text_, fields_, unescaped_)) return;
  document_ = new_shared<const nlohmann::ordered_json>(parse_json(text_));
  if (document_->is_discarded() && json_fault(text_).empty()) refuse_shape();
  constexpr std::size_t shown_bytes = 80;
  if (!document_->is_object()) {
    refuse(fmt::format("is not a JSON object: '{}'", printable_line(text_.substr(0, shown_bytes))));
  }
  read_document();
}

ELASTIC_DECL json_fields::json_fields(std::string_view subject, const nlohmann::ordered_json& value)
    : subject_(subject), document_(std::shared_ptr<void>(), &value) {
  if (!value.is_object()) refuse("is not a JSON object");
  read_document();
}

ELASTIC_DECL void json_fields::refuse_shape() const {
  std::string complaint;
  parse_json(text_, &complaint);
  refuse("has " + complaint);
}

ELASTIC_DECL void json_fields::read_document() {
  for (auto position = document_->begin(); position != document_->end(); ++position) {
    fields_.push_back(plain_field_of(position.key(), position.value()));
  }
}

ELASTIC_DECL const plain_field* json_fields::find(std::string_view name) const {
  const auto position = std::find_if(fields_.rbegin(), fields_.rend(),
                                     [&](const plain_field& each) { return each.name == name; });
  return position == fields_.rend() ? nullptr : &*position;
}

ELASTIC_DECL const plain_field& json_fields::get(const char* name) const {
  const plain_field* const found = find(name);
  if (found == nullptr) refuse(fmt::format("has no \"{}\"", name));
  return *found;
}

ELASTIC_DECL bool json_fields::has(const char* name) const {
  const plain_field* const found = find(name);
  return found != nullptr && found->kind != plain_field::type::null;
}

ELASTIC_DECL std::int64_t json_fields::number(const char* name, std::int64_t least,
                                              std::int64_t most) const {
  const plain_field& value = get(name);
  const bool is_too_large = value.kind == plain_field::type::large_number;
  if (!is_too_large && value.kind != plain_field::type::number) {
    refuse(fmt::format("has no whole number \"{}\"", name));
  }
  if (!is_too_large && value.number >= least && value.number <= most) return value.number;
  const auto shown = is_too_large ? fmt::format("{}", static_cast<std::uint64_t>(value.number))
                                  : fmt::format("{}", value.number);
  refuse(fmt::format("has \"{}\" outside of {} to {}: {}", name, least, most, shown));
}

ELASTIC_DECL double json_fields::real(const char* name) const {
  const plain_field& plain = get(name);
  if (plain.kind == plain_field::type::number) return static_cast<double>(plain.number);
  const nlohmann::ordered_json& value = field(name);
  if (!value.is_number()) refuse(fmt::format("has no number \"{}\"", name));
  return value.get<double>();
}

ELASTIC_DECL bool json_fields::flag(const char* name) const {
  const plain_field& value = get(name);
  if (value.kind == plain_field::type::flag) return value.number != 0;
  refuse(fmt::format("has no true or false \"{}\"", name));
}

ELASTIC_DECL std::string_view json_fields::text(const char* name) const {
  const plain_field& value = get(name);
  if (value.kind == plain_field::type::text) return value.text;
  refuse(fmt::format("has no text \"{}\"", name));
}

ELASTIC_DECL std::string_view json_fields::text(const char* name, std::size_t most_bytes) const {
  const std::string_view value = text(name);
  if (value.size() <= most_bytes) return value;
  refuse(fmt::format("has \"{}\" of {} bytes; up to {} are taken", name, value.size(), most_bytes));
}

ELASTIC_DECL const nlohmann::ordered_json& json_fields::field(const char* name) const {
  get(name);
  if (!document_) document_ = new_shared<const nlohmann::ordered_json>(parse_json(text_));
  // Plain fields are read without a document, however many there are.
  if (document_->is_discarded()) refuse_shape();
  return document_->at(name);
}

ELASTIC_DECL void json_fields::allow(std::initializer_list<std::string_view> names) const {
  for (const plain_field& each : fields_) {
    if (std::find(names.begin(), names.end(), each.name) != names.end()) continue;
    std::string allowed;
    for (const std::string_view name : names) {
      allowed += fmt::format("{}\"{}\"", allowed.empty() ? "" : ", ", name);
    }
    refuse(fmt::format("has a field other than {}", allowed));
  }
}

ELASTIC_DECL void json_fields::refuse_kind() const {
  constexpr std::size_t shown_bytes = 40;
  refuse(fmt::format("is of an unknown kind: '{}'",
                     printable_line(beginning_of(text("kind"), shown_bytes))));
}

ELASTIC_DECL void json_fields::refuse(const std::string& why) const {
  throw error(errc::protocol_violation, fmt::format("{} {}", subject_, why));
}

}  // namespace elastic::detail
