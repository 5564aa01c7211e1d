// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for messages of the library's own protocols.

#include <elastic/base/config.hpp>
#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/time.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <nlohmann/json_fwd.hpp>

namespace elastic::detail {

/// Whether a message must have a field.
enum class presence {
  required,
  /// Always written. If the field is missing or null, a reader leaves the value unchanged.
  lenient,
  /// The same, but a value of 0, false or "" is not written.
  sparse,
};

/// Reads or writes a message. One function describes it for both, a row for each field:
///
///     void describe(finished& message, record_rows& rows) {
///       rows.number("round", message.round, 0, last_round);
///     }
///
/// A row is the field's name, the member and its bounds. Rows are written in their order, and read
/// in any order. They are plain calls, because a table of typed members would instantiate code for
/// every field.
///
/// Result of each row: whether it was read; false when the message is written.
/// Errors of each row that is read: those of `json_fields`, which name the field, its value and its
/// bounds.
class record_rows {
 public:
  /// Reads from `fields`, which must outlive this.
  explicit record_rows(const json_fields& fields) : fields_(&fields) {}

  /// Writes to `object`, which must outlive this. No row then changes a value.
  explicit record_rows(json_object& object) : object_(&object) {}

  bool reads() const { return fields_ != nullptr; }

  template <std::integral Number>
  bool number(const char* name, Number& value, std::type_identity_t<Number> least,
              std::type_identity_t<Number> most, presence need = presence::required) {
    std::int64_t wide = value;
    if (!whole_number(name, wide, least, most, need)) return false;
    value = static_cast<Number>(wide);
    return true;
  }

  /// Any integer, or none.
  ELASTIC_DECL bool number(const char* name, std::optional<std::int64_t>& value);

  /// Any number, or none. Must be finite to be written.
  ELASTIC_DECL bool real(const char* name, std::optional<double>& value);

  ELASTIC_DECL bool flag(const char* name, bool& value, presence need = presence::required);

  /// A text, refused if it is longer than `most_bytes`. It is written unchanged.
  ELASTIC_DECL bool text(const char* name, std::string& value, std::size_t most_bytes,
                         presence need = presence::required);

  /// A text for users. A longer one is truncated, both on writing and on reading.
  ELASTIC_DECL bool sentence(const char* name, std::string& value, std::size_t most_bytes);

  /// A time from 0 to some 30 years, in integer milliseconds, rounded up.
  ELASTIC_DECL bool milliseconds(const char* name, duration& value,
                                 presence need = presence::required);

  /// A time above 0, in seconds. A value out of range is written as the nearest allowed one.
  ELASTIC_DECL bool seconds(const char* name, duration& value, duration most,
                            presence need = presence::required);

  /// The same, optional.
  ELASTIC_DECL bool seconds(const char* name, std::optional<duration>& value, duration most);

  /// One of the enumerators, which count from 0, by its name.
  template <class Enum, std::size_t Size>
  bool choice(const char* name, Enum& value, const std::array<std::string_view, Size>& names) {
    auto index = static_cast<std::size_t>(value);
    if (!choice(name, index, std::span<const std::string_view>(names))) return false;
    value = static_cast<Enum>(index);
    return true;
  }

  /// A field that is a list or an object.
  /// @param written  the value to write, as JSON
  /// Result: the value that was read; null if there is none.
  ELASTIC_DECL const nlohmann::ordered_json* json(const char* name, std::string_view written,
                                                  presence need = presence::required);

  /// The same for a list, which is refused if it has more than `most` entries.
  ELASTIC_DECL const nlohmann::ordered_json* list(const char* name, std::string_view written,
                                                  std::size_t most,
                                                  presence need = presence::required);

  /// Whether a group of rows belongs to the message: on reading, if it has the field `name`; on
  /// writing, if `is_written`.
  ELASTIC_DECL bool has_group(const char* name, bool is_written) const;

  /// Refuses the message that is being read: "<subject> <why>".
  [[noreturn]] void refuse(const std::string& why) const { fields_->refuse(why); }

 private:
  template <class Value, class Read>
  bool row(const char* name, Value& value, bool is_there, Read read);
  ELASTIC_DECL bool whole_number(const char* name, std::int64_t& value, std::int64_t least,
                                 std::int64_t most, presence need);
  ELASTIC_DECL bool choice(const char* name, std::size_t& index,
                           std::span<const std::string_view> names);
  ELASTIC_DECL bool has_row(const char* name, presence need, bool is_empty) const;

  // Exactly one of them is null.
  const json_fields* fields_ = nullptr;
  json_object* object_ = nullptr;
};

/// A message that consists only of its kind has no rows.
template <class Record>
  requires std::is_empty_v<Record>
void describe(Record&, record_rows&) {}

/// Checks what single rows of a message cannot check. Errors: those of `record_rows::refuse`.
template <class Record>
void validate(const Record&, const record_rows&) {}

/// Adds the fields of a record to an object.
template <class Record>
void write_record(json_object& object, const Record& record) {
  record_rows rows(object);
  describe(const_cast<Record&>(record), rows);  // writing changes no value
}

/// Reads a record. Errors: those of `record_rows`.
template <class Record>
void read_record(const json_fields& fields, Record& record) {
  record_rows rows(fields);
  describe(record, rows);
  validate(std::as_const(record), std::as_const(rows));
}

/// The "kind" of each alternative of a message variant, in order.
template <class Variant>
using kind_names = std::array<std::string_view, std::variant_size_v<Variant>>;

/// Serializes the message in a variant, with its kind first.
template <class Variant>
std::string message_text(const Variant& message, const kind_names<Variant>& kinds) {
  json_object object;
  object.add("kind", kinds[message.index()]);
  std::visit([&](const auto& record) { write_record(object, record); }, message);
  return object.text();
}

/// The index of a message's kind among `kinds`; their number if it is unknown.
ELASTIC_DECL std::size_t kind_index(const json_fields& fields,
                                    std::span<const std::string_view> kinds);

/// Reads the alternative `index` of a variant.
template <class Variant, std::size_t... Index>
void read_alternative(const json_fields& fields, std::size_t index, Variant& message,
                      std::index_sequence<Index...>) {
  ((index == Index ? read_record(fields, message.template emplace<Index>()) : void()), ...);
}

/// Reads a message by its kind. Errors: those of `record_rows`, and an unknown kind.
template <class Variant>
Variant read_message(const json_fields& fields, const kind_names<Variant>& kinds) {
  const std::size_t index = kind_index(fields, kinds);
  if (index == kinds.size()) fields.refuse_kind();
  Variant message;
  constexpr auto alternatives = std::make_index_sequence<std::variant_size_v<Variant>>();
  read_alternative(fields, index, message, alternatives);
  return message;
}

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/record.ipp>
#endif
