// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/record.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/printable_text.hpp>

#include <chrono>
#include <limits>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL bool record_rows::has_row(const char* name, presence need, bool is_empty) const {
  if (reads()) return need == presence::required || fields_->has(name);
  return need != presence::sparse || !is_empty;
}

ELASTIC_DECL bool record_rows::has_group(const char* name, bool is_written) const {
  return reads() ? fields_->has(name) : is_written;
}

template <class Value, class Read>
bool record_rows::row(const char* name, Value& value, bool is_there, Read read) {
  if (!is_there) return false;
  if (reads()) {
    value = read();
  } else {
    object_->add(name, value);
  }
  return reads();
}

ELASTIC_DECL bool record_rows::whole_number(const char* name, std::int64_t& value,
                                            std::int64_t least, std::int64_t most, presence need) {
  return row(name, value, has_row(name, need, value == 0),
             [&] { return fields_->number(name, least, most); });
}

ELASTIC_DECL bool record_rows::number(const char* name, std::optional<std::int64_t>& value) {
  using bounds = std::numeric_limits<std::int64_t>;
  if (!has_row(name, presence::sparse, !value)) return false;
  return whole_number(name, reads() ? value.emplace() : *value, bounds::min(), bounds::max(),
                      presence::required);
}

ELASTIC_DECL bool record_rows::real(const char* name, std::optional<double>& value) {
  if (!has_row(name, presence::sparse, !value)) return false;
  return row(name, reads() ? value.emplace() : *value, true, [&] { return fields_->real(name); });
}

ELASTIC_DECL bool record_rows::flag(const char* name, bool& value, presence need) {
  return row(name, value, has_row(name, need, !value), [&] { return fields_->flag(name); });
}

ELASTIC_DECL bool record_rows::text(const char* name, std::string& value, std::size_t most_bytes,
                                    presence need) {
  return row(name, value, has_row(name, need, value.empty()),
             [&] { return fields_->text(name, most_bytes); });
}

ELASTIC_DECL bool record_rows::sentence(const char* name, std::string& value,
                                        std::size_t most_bytes) {
  std::string_view shown = beginning_of(value, most_bytes);
  const bool is_read = row(name, shown, true, [&] { return fields_->text(name); });
  if (is_read) value = beginning_of(shown, most_bytes);
  return is_read;
}

ELASTIC_DECL bool record_rows::milliseconds(const char* name, duration& value, presence need) {
  constexpr std::int64_t longest = 1'000'000'000'000;
  std::int64_t count = std::chrono::ceil<std::chrono::milliseconds>(value).count();
  if (!whole_number(name, count, 0, longest, need)) return false;
  value = std::chrono::milliseconds(count);
  return true;
}

ELASTIC_DECL bool record_rows::seconds(const char* name, duration& value, duration most,
                                       presence need) {
  using real_seconds = std::chrono::duration<double>;
  if (!has_row(name, need, value == duration::zero())) return false;
  if (!reads()) {
    constexpr duration least = std::chrono::milliseconds(1);
    object_->add(name, real_seconds(std::clamp(value, least, most)).count());
    return false;
  }
  const double number = fields_->real(name);
  if (!(number > 0 && number <= real_seconds(most).count())) {
    refuse(fmt::format("has \"{}\" of {} seconds; more than 0 and at most {} are allowed", name,
                       number, real_seconds(most).count()));
  }
  value = std::chrono::ceil<duration>(real_seconds(number));
  return true;
}

ELASTIC_DECL bool record_rows::seconds(const char* name, std::optional<duration>& value,
                                       duration most) {
  if (!has_row(name, presence::sparse, !value)) return false;
  return seconds(name, reads() ? value.emplace() : *value, most);
}

ELASTIC_DECL bool record_rows::choice(const char* name, std::size_t& index,
                                      std::span<const std::string_view> names) {
  std::string_view value = reads() ? std::string_view() : names[index];
  if (!row(name, value, true, [&] { return fields_->text(name); })) return false;
  const auto position = std::find(names.begin(), names.end(), value);
  if (position == names.end()) {
    constexpr std::size_t shown_bytes = 40;
    refuse(fmt::format("has an unknown \"{}\": '{}'", name,
                       printable_line(beginning_of(value, shown_bytes))));
  }
  index = static_cast<std::size_t>(position - names.begin());
  return true;
}

ELASTIC_DECL const nlohmann::ordered_json* record_rows::json(const char* name,
                                                             std::string_view written,
                                                             presence need) {
  if (!has_row(name, need, written.empty())) return nullptr;
  if (reads()) return &fields_->field(name);
  object_->add_json(name, written);
  return nullptr;
}

ELASTIC_DECL const nlohmann::ordered_json* record_rows::list(const char* name,
                                                             std::string_view written,
                                                             std::size_t most, presence need) {
  const nlohmann::ordered_json* const value = json(name, written, need);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) refuse(fmt::format("has no list \"{}\"", name));
  if (value->size() <= most) return value;
  refuse(fmt::format("has \"{}\" of {} entries; up to {} are taken", name, value->size(), most));
}

ELASTIC_DECL std::size_t kind_index(const json_fields& fields,
                                    std::span<const std::string_view> kinds) {
  const auto position = std::find(kinds.begin(), kinds.end(), fields.text("kind"));
  return static_cast<std::size_t>(position - kinds.begin());
}

}  // namespace elastic::detail
