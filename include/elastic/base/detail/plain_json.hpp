// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for messages of the library's own protocols.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A field of a JSON object, without the content of lists, objects and fractions.
struct plain_field {
  enum class type {
    null,
    /// `number` is 0 or 1.
    flag,
    number,
    /// An integer that does not fit into `number`.
    large_number,
    text,
    other,
  };

  std::string_view name;
  type kind = type::other;
  std::int64_t number = 0;
  std::string_view text = {};
};

/// Consumes the parts of a plain object from the front of a text. Each member returns whether the
/// part is there.
class plain_json_reader {
 public:
  /// @param unescaped  empty; takes the texts that have escapes
  plain_json_reader(std::string_view text, std::string& unescaped)
      : rest_(text), unescaped_(unescaped) {}

  bool read(std::vector<plain_field>& fields) {
    if (!take('{')) return false;
    if (take('}')) return ends();
    do {
      plain_field& field = fields.emplace_back();
      if (!take_text(field.name) || !take(':') || !take_value(field)) return false;
    } while (take(','));
    return take('}') && ends();
  }

 private:
  void skip_blanks() {
    std::size_t blanks = 0;
    const auto is_blank = [](char letter) {
      return letter == ' ' || letter == '\n' || letter == '\r' || letter == '\t';
    };
    while (blanks < rest_.size() && is_blank(rest_[blanks])) ++blanks;
    rest_.remove_prefix(blanks);
  }

  bool ends() {
    skip_blanks();
    return rest_.empty();
  }

  bool take(char sign) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != sign) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view take_letters() {
    const auto is_plain = [](char letter) {
      return letter >= ' ' && letter <= '~' && letter != '"' && letter != '\\';
    };
    std::size_t size = 0;
    while (size < rest_.size() && is_plain(rest_[size])) ++size;
    const std::string_view letters = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return letters;
  }

  bool take_text(std::string_view& text) {
    if (!take('"')) return false;
    text = take_letters();
    return take_word("\"") || take_escaped_text(text);
  }

  /// The rest of a text that has begun with `text`.
  bool take_escaped_text(std::string_view& text) {
    // What follows is never longer without its escapes: no earlier text moves.
    if (unescaped_.empty()) unescaped_.reserve(text.size() + rest_.size());
    const std::size_t begin = unescaped_.size();
    unescaped_ += text;
    while (!take_word("\"")) {
      if (!take_escape()) return false;
      unescaped_ += take_letters();
    }
    text = std::string_view(unescaped_).substr(begin);
    return true;
  }

  bool take_escape() {
    constexpr std::string_view escapes = "\"\\/bfnrt";
    constexpr std::string_view letters = "\"\\/\b\f\n\r\t";
    if (rest_.size() < 2 || rest_.front() != '\\') return false;
    const std::size_t index = escapes.find(rest_[1]);
    if (index == escapes.npos) return false;
    unescaped_ += letters[index];
    rest_.remove_prefix(2);
    return true;
  }

  bool take_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool take_number(std::int64_t& number) {
    constexpr std::size_t most_digits = 18;
    const std::size_t sign = rest_.starts_with('-') ? 1 : 0;
    std::size_t end = sign;
    while (end < rest_.size() && rest_[end] >= '0' && rest_[end] <= '9') ++end;
    const std::size_t digits = end - sign;
    const bool has_leading_zero = digits > 1 && rest_[sign] == '0';
    if (digits == 0 || digits > most_digits || has_leading_zero) return false;
    // Other parts of a number would come next, where the caller then finds no end of the value.
    std::from_chars(rest_.data(), rest_.data() + end, number);
    rest_.remove_prefix(end);
    return true;
  }

  bool take_value(plain_field& field) {
    skip_blanks();
    if (rest_.empty()) return false;
    switch (rest_.front()) {
      case '"': field.kind = plain_field::type::text; return take_text(field.text);
      case 't':
        field.kind = plain_field::type::flag;
        field.number = 1;
        return take_word("true");
      case 'f': field.kind = plain_field::type::flag; return take_word("false");
      case 'n': field.kind = plain_field::type::null; return take_word("null");
      default: field.kind = plain_field::type::number; return take_number(field.number);
    }
  }

  std::string_view rest_;
  std::string& unescaped_;
};

/// Parses a JSON object that contains only texts of printable ASCII, where escapes are one letter,
/// integers of at most 18 digits, true, false and null. Almost every message is like that, and a
/// full JSON parser takes ten times as long for it.
///
/// Result: the fields in their order, which refer to `text` and to `unescaped`, which is empty
/// before; false if `text` contains anything else, or is not JSON at all.
inline bool read_plain_json(std::string_view text, std::vector<plain_field>& fields,
                            std::string& unescaped) {
  constexpr std::size_t usual_fields = 16;
  fields.reserve(usual_fields);
  if (plain_json_reader(text, unescaped).read(fields)) return true;
  fields.clear();
  return false;
}

}  // namespace elastic::detail
