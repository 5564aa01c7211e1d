// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for messages of the library's own protocols.

#include <elastic/base/config.hpp>
#include <elastic/base/detail/plain_json.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace elastic::detail {

/// Reads a message from outside that is one JSON object: each field by its type and within its
/// bounds. Refers to the text of the message and to the subject, which must outlive it.
///
/// Errors of every member: `errc::protocol_violation`, a sentence that begins with the subject and
/// names the field.
class json_fields {
 public:
  /// @param subject     the name in errors: "a message of the rendezvous"
  /// @param most_bytes  a longer text is refused without being parsed
  ELASTIC_DECL json_fields(std::string_view subject, std::string_view text, std::size_t most_bytes);

  /// Reads an object within a message.
  ELASTIC_DECL json_fields(std::string_view subject, const nlohmann::ordered_json& value);

  json_fields(const json_fields&) = delete;
  json_fields& operator=(const json_fields&) = delete;

  /// Whether there is such a field, and it is not null.
  ELASTIC_DECL bool has(const char* name) const;

  /// An integer from `least` to `most`, both included.
  ELASTIC_DECL std::int64_t number(const char* name, std::int64_t least, std::int64_t most) const;

  ELASTIC_DECL double real(const char* name) const;
  ELASTIC_DECL bool flag(const char* name) const;
  ELASTIC_DECL std::string_view text(const char* name) const;

  /// A text of at most `most_bytes` bytes.
  ELASTIC_DECL std::string_view text(const char* name, std::size_t most_bytes) const;

  /// A field of any type.
  ELASTIC_DECL const nlohmann::ordered_json& field(const char* name) const;

  /// Refuses the message if it has a field of another name.
  ELASTIC_DECL void allow(std::initializer_list<std::string_view> names) const;

  /// Refuses a message of an unknown kind.
  [[noreturn]] ELASTIC_DECL void refuse_kind() const;

  /// Refuses the message: "<subject> <why>".
  [[noreturn]] ELASTIC_DECL void refuse(const std::string& why) const;

 private:
  // Null if there is none. If several fields have the name, the last one counts.
  ELASTIC_DECL const plain_field* find(std::string_view name) const;
  ELASTIC_DECL const plain_field& get(const char* name) const;
  ELASTIC_DECL void read_document();
  // Refuses the message because its JSON is nested too deeply, or an object has too many members.
  [[noreturn]] ELASTIC_DECL void refuse_shape() const;

  std::string_view subject_;
  std::string_view text_;
  // They refer to one of the texts, or to the document.
  std::vector<plain_field> fields_;
  std::string unescaped_;
  // Null until a caller needs a field that is not plain.
  mutable std::shared_ptr<const nlohmann::ordered_json> document_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/json_fields.ipp>
#endif
