// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/slots/slot_order.hpp>

#include <elastic/base/error.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

namespace elasticrun {

slot_order slot_order_of(const elastic::detail::spawn_request& request,
                         const elastic::environment_map& own, std::vector<int>& descriptors) {
  const elastic::process_spec& spec = request.spec;
  slot_order order;
  order.path = request.path;
  for (const char* argument : request.arguments) {
    if (argument) order.arguments.emplace_back(argument);
  }
  order.directory = spec.directory;
  if (!spec.processors.empty()) order.processors = spec.processors.text();
  order.ignored_signals = spec.ignored_signals;
  order.open_files = request.open_files;
  const elastic::environment_map wanted = elastic::environment_from(spec.environment);
  for (const auto& [name, value] : wanted) {
    if (elastic::find_variable(own, name) != value) order.set.push_back(name + "=" + value);
  }
  for (const auto& [name, value] : own) {
    if (!wanted.contains(name)) order.unset.push_back(name);
  }
  const std::pair<char, int> all[] = {{'s', request.passed[0]}, {'g', request.program},
                                      {'i', spec.stdin_fd},     {'o', spec.stdout_fd},
                                      {'e', spec.stderr_fd},    {'p', spec.passed_fd}};
  for (const auto& [what, fd] : all) {
    if (fd < 0) continue;
    order.descriptors += what;
    descriptors.push_back(fd);
  }
  return order;
}

std::vector<std::string> fields_of(const slot_order& order) {
  std::vector<std::string> fields = {"start", order.path, order.directory, order.processors,
                                     order.descriptors};
  fields.push_back(order.open_files ? std::to_string(*order.open_files) : "");
  std::vector<std::string> signals;
  for (const int number : order.ignored_signals) signals.push_back(std::to_string(number));
  const std::vector<std::string>* const lists[] = {&signals, &order.arguments, &order.set,
                                                   &order.unset};
  for (const std::vector<std::string>* list : lists) {
    fields.push_back(std::to_string(list->size()));
    fields.insert(fields.end(), list->begin(), list->end());
  }
  return fields;
}

void refuse_slot_order() {
  throw elastic::error(elastic::errc::protocol_violation,
                       "a slot received an order that it does not understand");
}

namespace {

/// Reads the fields of an order one after the other.
class slot_order_reader {
 public:
  explicit slot_order_reader(const std::vector<std::string>& fields) : fields_(fields) {}

  const std::string& text() {
    if (next_ == fields_.size()) refuse_slot_order();
    return fields_[next_++];
  }

  int number() {
    const auto value = slot_number(text(), std::numeric_limits<int>::max());
    if (!value) refuse_slot_order();
    return *value;
  }

  std::vector<std::string> list() {
    const auto count = static_cast<std::size_t>(number());
    if (count > fields_.size() - next_) refuse_slot_order();
    const auto first = fields_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ += count;
    return {first, first + static_cast<std::ptrdiff_t>(count)};
  }

  void demand_end() const {
    if (next_ != fields_.size()) refuse_slot_order();
  }

 private:
  const std::vector<std::string>& fields_;
  std::size_t next_ = 0;
};

}  // namespace

slot_order slot_order_from(const std::vector<std::string>& fields) {
  slot_order_reader reader(fields);
  slot_order order;
  if (reader.text() != "start") refuse_slot_order();
  order.path = reader.text();
  order.directory = reader.text();
  order.processors = reader.text();
  order.descriptors = reader.text();
  const std::string& files = reader.text();
  if (!files.empty()) {
    std::uint64_t most = 0;
    const char* const end = files.data() + files.size();
    const auto [stop, failure] = std::from_chars(files.data(), end, most);
    if (failure != std::errc() || stop != end) refuse_slot_order();
    order.open_files = most;
  }
  for (const std::string& signal : reader.list()) {
    const auto number = slot_number(signal, 64);
    if (!number) refuse_slot_order();
    order.ignored_signals.push_back(*number);
  }
  order.arguments = reader.list();
  order.set = reader.list();
  order.unset = reader.list();
  reader.demand_end();
  return order;
}

std::vector<std::string> slot_environment(const slot_order& order, elastic::environment_map own) {
  for (const std::string& name : order.unset) own.erase(name);
  for (auto& [name, value] : elastic::environment_from(order.set)) own[name] = value;
  return elastic::environment_entries(own);
}

}  // namespace elasticrun
