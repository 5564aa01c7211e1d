// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/random.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

namespace elastic::test {
namespace random_tests {

TEST_CASE("random_source: the same seed gives the same run", "[base]") {
  elastic::detail::random_source first_source(42);
  elastic::detail::random_source same_source(42);
  elastic::detail::random_source other_source(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = first_source.next();
    CHECK(value == same_source.next());
    differs = differs || value != other_source.next();
  }
  CHECK(differs);
}

TEST_CASE("random_source: seeded by the machine, no two are alike", "[base]") {
  elastic::detail::random_source first_source;
  elastic::detail::random_source second_source;
  CHECK(first_source.next() != second_source.next());
}

TEST_CASE("random_source: below reaches every number under the bound and none above", "[base]") {
  elastic::detail::random_source random(1);
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 1000; ++i) numbers.insert(random.below(7));
  CHECK(numbers == std::set<std::uint64_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(random.below(1) == 0);
}

// 'x' stands for a hexadecimal digit, 'y' for one of 89ab, the rest for itself.
bool has_form(const std::string& text, const std::string& form) {
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const std::string letters = form[i] == 'x'   ? "0123456789abcdef"
                                : form[i] == 'y' ? "89ab"
                                                 : std::string(1, form[i]);
    if (letters.find(text[i]) == std::string::npos) return false;
  }
  return true;
}

TEST_CASE("random_uuid: has the form of a version 4 UUID, every time another", "[base]") {
  elastic::detail::random_source random(7);
  std::set<std::string> ids;
  for (int i = 0; i < 200; ++i) {
    const std::string id = elastic::detail::random_uuid(random);
    CHECK(has_form(id, "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx"));
    ids.insert(id);
  }
  CHECK(ids.size() == 200);
}

TEST_CASE("random_name: has the length asked for and letters that suit a file name", "[base]") {
  elastic::detail::random_source random(7);
  CHECK(elastic::detail::random_name(random, 0).empty());
  std::set<char> letters;
  for (int i = 0; i < 200; ++i) {
    const std::string name = elastic::detail::random_name(random, 8);
    CHECK(name.size() == 8);
    letters.insert(name.begin(), name.end());
  }
  CHECK(letters.size() == 37);
  CHECK(std::all_of(letters.begin(), letters.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  }));
}

}  // namespace random_tests
}  // namespace elastic::test
