// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/roles/job_file.hpp>

#include <elastic/base/detail/nearest_name.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/cli/detail/option_row.hpp>
#include <elastic/contract/detail/macros.hpp>
#include <program/limits.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

// The formatters and the support for Windows are not used.
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

namespace elasticrun {

namespace detail = elastic::detail;
using command_line_option = elastic::command_line::option;
using detail::option_scope;
using elastic::errc;
using elastic::error;
using role_policy = elastic::role::policy;
using role_readiness = elastic::role::readiness;
using names = std::vector<std::string>;

namespace {

/// The key for the number of replicas of a role on each node.
constexpr const char* replicas_key = "processes_per_node";

/// The place where a job file may set an option, which is named as in --help.
option_scope scope_of(std::string_view option) { return detail::option_named(option).scope; }

/// Whether an option is for workers that form a world.
bool needs_world(option_scope scope) {
  return scope == option_scope::world || scope == option_scope::python;
}

/// The reason why an option excludes --job.
std::string_view place_of_option(std::string_view option) {
  const char* const instead = detail::option_named(option).instead;
  return instead ? instead : "it applies only to a job of one role";
}

/// The key for an option: "nproc_per_node" for "--nproc-per-node".
std::string key_of(std::string_view option) {
  if (option == "--nnodes") return "nodes";
  std::string key(option.substr(2));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

/// The keys of the job and of a role that are not options.
constexpr std::array keys_of_job{"name", "restarts", "log_dir", "journal", "role"};
constexpr std::array keys_of_role{"command",    "on_failure", "starts_after",
                                  "stops_with", "readiness",  replicas_key};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// Whether an option of the whole job does not apply to a role.
bool is_left_out(const role_entry& role, std::string_view option) {
  const bool is_python = role.command.empty() || role.command[0] != "--no-python";
  const option_scope scope = scope_of(option);
  if (!is_python && scope == option_scope::python) return true;
  // Replicas need the options of the rendezvous, too: their addresses depend on them.
  const bool is_shared = option == "--nproc-per-node" || option == "--nnodes";
  return !role.has_world && !is_shared && needs_world(scope);
}

/// A digest of a TOML value. It does not depend on the layout of the file.
class value_digest {
 public:
  void add(const toml::node& node) {
    if (const toml::table* const table = node.as_table()) return add_all(*table);
    if (const toml::array* const list = node.as_array()) {
      add(fmt::format("list {}", list->size()));
      for (const toml::node& each : *list) add(each);
      return;
    }
    if (const auto text = node.value_exact<std::string>()) add("text " + *text);
    if (const auto number = node.value_exact<std::int64_t>()) add(fmt::format("{}", *number));
    if (const auto number = node.value_exact<double>()) add(fmt::format("real {}", *number));
    if (const auto flag = node.value_exact<bool>()) add(*flag ? "true" : "false");
  }

  std::uint64_t number() const { return number_; }

 private:
  void add_all(const toml::table& table) {
    add(fmt::format("table {}", table.size()));
    // The tables of the parser are sorted by key.
    for (auto&& [key, value] : table) {
      add(key.str());
      add(value);
    }
  }

  /// Adds a text by FNV-1a, after its length.
  void add(std::string_view text) {
    for (std::size_t left = text.size(); left > 0; left >>= 8) add_byte(left & 0xff);
    add_byte(0);
    for (const char letter : text) add_byte(static_cast<unsigned char>(letter));
  }
  void add_byte(std::uint64_t byte) { number_ = (number_ ^ byte) * 0x100000001b3; }

  std::uint64_t number_ = 0xcbf29ce484222325;
};

/// The digests of each role of a file, and of each value of the whole job.
std::string fingerprint_of(const toml::table& root) {
  std::string text;
  const auto add_part = [&](const std::string& name, const toml::node& value) {
    value_digest digest;
    digest.add(value);
    text += fmt::format("{}{}={:016x}", text.empty() ? "" : " ", name, digest.number());
  };
  for (auto&& [key, value] : root) {
    const toml::table* const roles = key == "role" ? value.as_table() : nullptr;
    if (roles == nullptr) {
      add_part(std::string(key.str()), value);
      continue;
    }
    for (auto&& [name, role] : *roles) add_part("role." + std::string(name.str()), role);
  }
  return text;
}

std::string_view option_in(std::string_view argument) {
  return argument.substr(0, argument.find('='));
}

// ---- nesting of keys ----------------------------------------------------------------------------

/// The end of the TOML string that begins at the front of the text, behind its last quote.
std::size_t end_of_toml_text(std::string_view text) {
  const char quote = text.front();
  const bool has_lines = text.size() >= 3 && text[1] == quote && text[2] == quote;
  const std::size_t length = has_lines ? 3 : 1;
  std::size_t index = length;
  while (index < text.size()) {
    if (text[index] == '\n' && !has_lines) return index;
    if (text[index] == '\\' && quote == '"') {
      index += 2;
    } else if (text[index] != quote) {
      ++index;
    } else {
      const std::size_t quotes =
          std::min(text.find_first_not_of(quote, index), text.size()) - index;
      // A multi-line string may itself end with one or two quotes before the three that close it.
      if (quotes >= length) return index + std::min(quotes, has_lines ? length + 2 : length);
      index += quotes;
    }
  }
  return text.size();
}

/// The line of the first key with more than `limits::key_parts` parts; 0 if there is none. For each
/// part, the parser nests a table, so a longer key could overflow its stack.
toml::source_index line_of_deep_key(std::string_view text) {
  toml::source_index line = 1;
  int parts = 1;
  while (!text.empty()) {
    const char next = text.front();
    std::size_t length = 1;
    if (next == '"' || next == '\'') {
      length = std::min(end_of_toml_text(text), text.size());
      const std::string_view passed = text.substr(0, length);
      line += static_cast<toml::source_index>(std::count(passed.begin(), passed.end(), '\n'));
    } else if (next == '#') {
      length = std::min(text.find('\n'), text.size());
    } else if (next == '\n') {
      ++line;
      parts = 1;
    } else if (next == '=' || next == ',' || next == '[' || next == '{') {
      parts = 1;
    } else if (next == '.' && ++parts > limits::key_parts) {
      return line;
    }
    text.remove_prefix(length);
  }
  return 0;
}

/// Parses one job file, and applies the settings and options beside it.
class job_file_reader {
 public:
  static constexpr const char* standard_input = "standard input";

  job_file_reader(const std::string& source, const std::vector<command_line_option>& outer,
                  const elastic::command_line::facts& facts)
      : source_(source == "-" ? standard_input : source), facts_(facts) {
    for (const detail::option_row& row : detail::option_rows()) {
      const bool is_of_role = detail::is_of_role(row.scope);
      if (is_of_role) role_options_.push_back(row.long_name());
      // The ranks of a fault plan are those of one role.
      const bool is_of_job = is_of_role && !row.instead;
      if (is_of_job || row.scope == option_scope::job) job_options_.push_back(row.long_name());
    }
    take_outer(outer);
  }

  job_file read(std::string_view text, const names& settings) {
    toml::table root = parse(text);
    job_file job;
    job.fingerprint = fingerprint_of(root);
    for (const std::string& setting : settings) set(root, setting);
    job.name = source_ == standard_input ? "job" : std::filesystem::path(source_).stem().string();
    toml::table* roles = nullptr;
    names options = outer_arguments_;
    for (auto&& [key, value] : root) {
      const std::string name(key.str());
      key_ = name;
      if (name == "name") {
        job.name = text_in(name, value);
      } else if (name == "restarts") {
        job.restarts = restarts_in(value);
      } else if (name == "log_dir") {
        job.log_dir = text_in(name, value);
      } else if (name == "journal") {
        job.journal = text_in(name, value);
      } else if (name == "role") {
        roles = value.as_table();
        if (roles == nullptr) refuse(value, "role: must be a table such as [role.trainer]");
      } else {
        add_option(name, key.source(), value, job_options_,
                   names(keys_of_job.begin(), keys_of_job.end()), options);
      }
    }
    if (job.log_dir.empty()) job.log_dir = outer_log_dir_;
    if (job.journal.empty()) job.journal = outer_journal_;
    if (roles == nullptr || roles->empty()) {
      throw error(errc::invalid_argument,
                  fmt::format("{}: a job needs a role: a table such as [role.trainer]", source_));
    }
    // Restores the order of the file, which the parser does not keep.
    std::map<std::size_t, role_entry> by_line;
    for (auto&& [key, value] : *roles) {
      const toml::table* const table = value.as_table();
      if (table == nullptr) {
        refuse(value, fmt::format("role.{}: must be a table", key.str()));
      }
      const auto& place = table->source().begin;
      by_line.emplace(std::size_t{place.line} << 32 | place.column,
                      role_in(std::string(key.str()), *table, options));
    }
    for (auto& [line, role] : by_line) job.roles.push_back(std::move(role));
    return job;
  }

 private:
  /// Whether a value comes from --set, so that it has no line in a file.
  static bool is_set(const toml::source_region& place) { return place.begin.line == 0; }

  [[noreturn]] void refuse(const toml::source_region& place, const std::string& sentence) const {
    if (is_set(place)) {
      throw error(errc::invalid_argument,
                  elastic::printable_text(fmt::format("--set {}: {}", key_, sentence)));
    }
    throw error(errc::invalid_argument,
                fmt::format("{}:{}: {}", source_, place.begin.line, sentence));
  }
  [[noreturn]] void refuse(const toml::node& node, const std::string& sentence) const {
    refuse(node.source(), sentence);
  }

  toml::table parse(std::string_view text) const {
    if (const toml::source_index line = line_of_deep_key(text)) {
      throw error(errc::invalid_argument, fmt::format("{}:{}: a key has more than {} parts",
                                                      source_, line, limits::key_parts));
    }
    try {
      return toml::parse(text);
    } catch (const toml::parse_error& failure) {
      refuse(failure.source(),
             elastic::printable_text(fmt::format("not valid TOML: {}", failure.description())));
    }
  }

  // ---- options beside --job ---------------------------------------------------------------------

  void take_outer(const std::vector<command_line_option>& outer) {
    for (const command_line_option& given : outer) {
      if (given.name == "--job" || given.name == "--set" || given.name == "--print-job") continue;
      if (given.name == "--log-dir") {
        outer_log_dir_ = given.text;
        continue;
      }
      if (given.name == "--journal") {
        outer_journal_ = given.text;
        continue;
      }
      // A job of several roles never shows a progress line.
      if (given.name == "--no-progress") continue;
      const bool is_known =
          std::find(job_options_.begin(), job_options_.end(), given.name) != job_options_.end();
      if (!is_known) {
        throw error(errc::invalid_argument, fmt::format("{} and --job exclude each other: {}",
                                                        given.source, place_of_option(given.name)));
      }
      outer_.push_back(given);
      if (given.source == given.name) outer_arguments_.push_back(argument(given.name, given.text));
    }
  }

  static bool is_flag(const std::string& option) {
    return !detail::option_named(option).takes_value();
  }

  static std::string argument(const std::string& option, const std::string& text) {
    return is_flag(option) ? option : fmt::format("{}={}", option, text);
  }

  /// Applies a setting such as "trainer.nproc_per_node=4". A value that is not valid TOML is a
  /// string without quotes.
  void set(toml::table& root, const std::string& setting) const {
    const auto bad = [&](const std::string& sentence) {
      throw error(errc::invalid_argument,
                  fmt::format("--set {}: {}", elastic::in_quotes(setting), sentence));
    };
    const std::size_t equals = setting.find('=');
    const std::string path = setting.substr(0, equals);
    const std::size_t dot = path.find('.');
    if (equals == std::string::npos || path.empty()) bad("the form is ROLE.KEY=VALUE or KEY=VALUE");
    toml::table* where = &root;
    std::string key = path;
    if (dot != std::string::npos) {
      const std::string role = path.substr(0, dot);
      toml::table* const roles = root["role"].as_table();
      where = roles == nullptr ? nullptr : (*roles)[role].as_table();
      if (where == nullptr) bad(fmt::format("there is no role '{}'", role));
      key = path.substr(dot + 1);
    }
    if (key == "role" || key.empty()) bad("the form is ROLE.KEY=VALUE or KEY=VALUE");
    const std::string value = setting.substr(equals + 1);
    where->insert_or_assign(key, value);
    if (line_of_deep_key(value) != 0) return;
    try {
      toml::table parsed = toml::parse("value = " + value);
      if (parsed.size() != 1) return;
      parsed["value"].visit([&](auto& node) { where->insert_or_assign(key, node); });
    } catch (const toml::parse_error&) {
      // The value is a string without quotes.
    }
  }

  // ---- values -----------------------------------------------------------------------------------

  std::string text_in(const std::string& key, const toml::node& value) const {
    const auto text = value.value_exact<std::string>();
    if (!text || text->empty()) refuse(value, fmt::format("{}: must be a non-empty string", key));
    return *text;
  }

  int restarts_in(const toml::node& value) const {
    const auto number = value.value_exact<std::int64_t>();
    if (!number || *number < 0 || *number > elastic::limits::job_restarts) {
      refuse(value, fmt::format("restarts: must be a whole number from 0 to {}",
                                elastic::limits::job_restarts));
    }
    return static_cast<int>(*number);
  }

  names texts_in(const std::string& key, const toml::node& value) const {
    names texts;
    const toml::array* const list = value.as_array();
    if (list == nullptr) refuse(value, fmt::format("{}: must be a list of strings", key));
    for (const toml::node& each : *list) {
      const auto text = each.value_exact<std::string>();
      if (!text) refuse(each, fmt::format("{}: must be a list of strings", key));
      texts.push_back(*text);
    }
    return texts;
  }

  /// The value of an option as on a command line; empty: a flag that is off.
  std::optional<std::string> option_text(const std::string& key, const std::string& option,
                                         const toml::node& value) const {
    if (is_flag(option)) {
      const auto is_on = value.value_exact<bool>();
      if (!is_on) refuse(value, fmt::format("{}: must be true or false", key));
      return *is_on ? std::optional<std::string>("1") : std::nullopt;
    }
    if (const auto text = value.value_exact<std::string>()) return *text;
    if (const auto number = value.value_exact<std::int64_t>()) return fmt::format("{}", *number);
    if (const auto number = value.value_exact<double>()) return fmt::format("{}", *number);
    if (!value.is_array()) {
      refuse(value, fmt::format("{}: must be a string, a number or a list of these", key));
    }
    std::string joined;
    for (const toml::node& each : *value.as_array()) {
      if (each.is_array() || each.is_table()) {
        refuse(each, fmt::format("{}: must be a list of strings or numbers", key));
      }
      joined += (joined.empty() ? "" : ",") + *option_text(key, option, each);
    }
    return joined;
  }

  /// The end of a message about an unknown key: the place where the key belongs, or a similar key.
  std::string hint_for(const std::string& key, const names& allowed) const {
    const auto is_key = [&](const std::string& option) { return key_of(option) == key; };
    const auto is_among = [&](const names& options) {
      return std::any_of(options.begin(), options.end(), is_key);
    };
    if (contains(keys_of_job, key) || is_among(job_options_)) {
      return ": it is a key of the job, not of a role";
    }
    if (contains(keys_of_role, key) || is_among(role_options_)) {
      return ": it is a key of a role, not of the job";
    }
    const std::string nearest = detail::nearest_name(key, allowed);
    return nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest);
  }

  /// Adds the option of a key to the arguments.
  void add_option(const std::string& key, const toml::source_region& place, const toml::node& value,
                  const names& allowed, names other_keys, names& arguments) const {
    const auto option = std::find_if(allowed.begin(), allowed.end(),
                                     [&](const std::string& each) { return key_of(each) == key; });
    if (option == allowed.end()) {
      for (const std::string& each : allowed) other_keys.push_back(key_of(each));
      refuse(place, elastic::printable_text(
                        fmt::format("unknown key '{}'{}", key, hint_for(key, other_keys))));
    }
    if (const toml::table* const table = value.as_table()) {
      add_variables(key, *option, *table, arguments);
      return;
    }
    // A list would become a single variable.
    if (value.is_array() && detail::option_named(*option).repeats) {
      refuse(value, fmt::format("{}: must be a table such as {{ NAME = \"value\" }}", key));
    }
    const std::optional<std::string> text = option_text(key, *option, value);
    if (!text) return leave_out_flag(key, *option, value, arguments);
    check(key, *option, *text, value);
    arguments.push_back(argument(*option, *text));
  }

  /// The advice for a value that contradicts an option beside --job.
  static std::string_view remedy(const toml::node& value) {
    return is_set(value.source()) ? "leave one of them out"
                                  : "leave one of them out, or override the file by --set";
  }

  /// Removes a flag that is off for this role, even if the whole job sets it.
  void leave_out_flag(const std::string& key, const std::string& option, const toml::node& value,
                      names& arguments) const {
    for (const command_line_option& given : outer_) {
      if (given.name != option || given.source != given.name) continue;
      refuse(value, fmt::format("{} = false contradicts {}: {}", key, given.source, remedy(value)));
    }
    std::erase(arguments, option);
  }

  /// Adds a table of variables: env = { NAME = "value" }.
  void add_variables(const std::string& key, const std::string& option, const toml::table& table,
                     names& arguments) const {
    if (!detail::option_named(option).repeats) {
      refuse(table, fmt::format("{}: must be a string, a number or a list of these", key));
    }
    for (auto&& [name, value] : table) {
      if (name.str().empty() || name.str().find('=') != std::string_view::npos) {
        refuse(value, fmt::format("{}: {} cannot be the name of a variable", key,
                                  elastic::in_quotes(std::string(name.str()))));
      }
      const std::string text =
          fmt::format("{}={}", name.str(), option_text(key, option, value).value_or(""));
      check(key, option, text, value);
      arguments.push_back(argument(option, text));
    }
  }

  void check_type(const std::string& key, const std::string& option, const std::string& text,
                  const toml::node& address) const {
    detail::option_target unused;
    unused.config.job.workers.environment = facts_.environment;
    try {
      detail::option_named(option).type.read({text, key}, facts_, unused);
    } catch (const error& refusal) {
      refuse(address, refusal.what());
    }
  }

  void check(const std::string& key, const std::string& option, const std::string& text,
             const toml::node& address) const {
    check_type(key, option, text, address);
    for (const command_line_option& given : outer_) {
      if (given.name != option || given.source != given.name || given.text == text) continue;
      if (detail::option_named(option).repeats) continue;
      refuse(address,
             elastic::printable_text(fmt::format("{} = {} contradicts {} {}: {}", key, text,
                                                 given.source, given.text, remedy(address))));
    }
  }

  // ---- roles ------------------------------------------------------------------------------------

  role_entry role_in(const std::string& name, const toml::table& table, names options) {
    role_entry role;
    role.name = name;
    role.options = std::move(options);
    for (auto&& [key, value] : table) {
      const std::string word(key.str());
      key_ = fmt::format("{}.{}", name, word);
      if (word == "command") {
        role.command = command_in(value);
      } else if (word == "on_failure") {
        role.on_failure = policy_in(value);
      } else if (word == "starts_after") {
        role.starts_after = conditions_in(value);
      } else if (word == "stops_with") {
        role.stops_with = text_in(word, value);
      } else if (word == "readiness") {
        read_readiness(value, role);
      } else if (word == replicas_key) {
        role.has_world = false;
        const std::string count = option_text(word, "--nproc-per-node", value).value_or("");
        check_type(word, "--nproc-per-node", count, value);
        role.options.push_back(argument("--nproc-per-node", count));
      } else {
        add_option(word, key.source(), value, role_options_,
                   names(keys_of_role.begin(), keys_of_role.end()), role.options);
      }
    }
    if (role.command.empty()) refuse(table, fmt::format("role '{}' has no command", name));
    if (!role.has_world) check_replicas(table);
    leave_out(role, table);
    return role;
  }

  /// Removes options of the whole job that do not apply to the role.
  static void leave_out(role_entry& role, const toml::table& table) {
    std::erase_if(role.options, [&](const std::string& argument) {
      const std::string_view option = option_in(argument);
      return is_left_out(role, option) && table.get(key_of(option)) == nullptr;
    });
  }

  /// Refuses options that need a world, because replicas have none.
  void check_replicas(const toml::table& table) const {
    for (const detail::option_row& row : detail::option_rows()) {
      if (!needs_world(row.scope)) continue;
      const std::string key = key_of(row.long_name());
      const toml::node* const found = table.get(key);
      if (found == nullptr) continue;
      refuse(*found, fmt::format("{} needs workers with a world, and replicas ({}) have none", key,
                                 replicas_key));
    }
  }

  /// A script, -m and a module, or --no-python and a program, followed by the arguments.
  names command_in(const toml::node& value) const {
    names command = texts_in("command", value);
    const bool has_option = !command.empty() && (command[0] == "-m" || command[0] == "--no-python");
    const std::size_t script = has_option ? 1 : 0;
    if (command.size() <= script || command[script].empty() || command[script][0] == '-') {
      refuse(value,
             "command: must be a script, or -m and a module, or --no-python and a program, with "
             "its arguments");
    }
    try {
      detail::port_names(command);
    } catch (const error& refusal) {
      refuse(value, fmt::format("command: {}", refusal.what()));
    }
    return command;
  }

  role_policy policy_in(const toml::node& value) const {
    const std::string word = text_in("on_failure", value);
    std::string allowed;
    for (const role_policy policy :
         {role_policy::fail_job, role_policy::restart_role, role_policy::replace,
          role_policy::restart_worker, role_policy::restart_job, role_policy::ignore}) {
      if (word == to_string(policy)) return policy;
      allowed += (allowed.empty() ? "" : ", ") + std::string(to_string(policy));
    }
    refuse(value, elastic::printable_text(
                      fmt::format("on_failure '{}': the policies are {}", word, allowed)));
  }

  void read_readiness(const toml::node& value, role_entry& role) const {
    const std::string word = text_in("readiness", value);
    constexpr std::string_view port = "port.";
    if (word == "progress" || word == "start") {
      role.readiness = word == "start" ? role_readiness::start : role_readiness::progress;
      return;
    }
    if (word.starts_with(port) && word.size() > port.size()) {
      role.readiness = role_readiness::port;
      role.ready_port = word.substr(port.size());
      return;
    }
    refuse(value, elastic::printable_text(
                      fmt::format("readiness '{}': must be progress, start or port.NAME", word)));
  }

  /// Conditions such as "trainer:ready" and "trainer:success".
  std::vector<elastic::role::condition> conditions_in(const toml::node& value) const {
    using event = elastic::role::condition::event;
    std::vector<elastic::role::condition> conditions;
    for (const std::string& text : texts_in("starts_after", value)) {
      const std::size_t colon = text.find(':');
      const std::string what = colon == std::string::npos ? "" : text.substr(colon + 1);
      if (what != "ready" && what != "success") {
        refuse(value, elastic::printable_text(fmt::format(
                          "starts_after '{}': the form is ROLE:ready or ROLE:success", text)));
      }
      const event awaited = what == "ready" ? event::ready : event::success;
      conditions.push_back({text.substr(0, colon), awaited});
    }
    return conditions;
  }

  std::string source_;
  /// The key that is being read, as --set names it.
  std::string key_;
  const elastic::command_line::facts& facts_;
  names role_options_;
  names job_options_;
  std::vector<command_line_option> outer_;
  names outer_arguments_;
  std::string outer_log_dir_;
  std::string outer_journal_;
};

std::string quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      quoted += '\\';
      quoted += letter;
    } else if (code < 0x20 || code == 0x7f) {
      quoted += fmt::format("\\u{:04x}", code);
    } else {
      quoted += letter;
    }
  }
  return quoted + '"';
}

/// The options of a role with their values as TOML. If an option occurs several times, the last one
/// counts.
std::vector<std::pair<std::string, std::string>> values_of(const role_entry& role) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& argument : role.options) {
    const std::string option(option_in(argument));
    if (option == "--env") continue;
    const bool is_flag = option.size() == argument.size();
    std::erase_if(values, [&](const auto& each) { return each.first == option; });
    values.emplace_back(option, is_flag ? "true" : quoted(argument.substr(option.size() + 1)));
  }
  return values;
}

/// The variables of a role as TOML: NAME = "value", …
std::string variables_of(const role_entry& role) {
  std::string variables;
  for (const std::string& argument : role.options) {
    if (option_in(argument) != "--env") continue;
    const std::string text = argument.substr(std::string_view("--env=").size());
    const std::size_t end = text.find('=');
    variables += fmt::format("{}{} = {}", variables.empty() ? "" : ", ",
                             quoted(text.substr(0, end)), quoted(text.substr(end + 1)));
  }
  return variables;
}

std::string quoted(const names& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + quoted(text);
  return "[" + list + "]";
}

}  // namespace

job_file parse_job_file(std::string_view text, const std::string& source, const names& settings,
                        const std::vector<command_line_option>& outer,
                        const elastic::command_line::facts& facts) {
  return job_file_reader(source, outer, facts).read(text, settings);
}

std::string read_job_file(const std::string& path) {
  struct closer {
    void operator()(std::FILE* file) const {
      if (file != stdin) std::fclose(file);
    }
  };
  const std::unique_ptr<std::FILE, closer> file(path == "-" ? stdin
                                                            : std::fopen(path.c_str(), "rbe"));
  const auto refuse = [&](int number) {
    throw error(errc::file_access,
                fmt::format("the job file {} cannot be read: {}", elastic::in_quotes(path),
                            elastic::errno_text(number)));
  };
  if (!file) refuse(errno);
  std::string text(limits::job_file_bytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) refuse(errno);
  if (text.size() > limits::job_file_bytes) {
    throw error(errc::invalid_argument,
                fmt::format("the job file {} is larger than {} bytes", elastic::in_quotes(path),
                            limits::job_file_bytes));
  }
  return text;
}

std::string text_of(const job_file& job) {
  std::string text = fmt::format("name = {}\nrestarts = {}\n", quoted(job.name), job.restarts);
  if (!job.log_dir.empty()) text += fmt::format("log_dir = {}\n", quoted(job.log_dir));
  if (!job.journal.empty()) text += fmt::format("journal = {}\n", quoted(job.journal));
  // Every role has the options of the whole job, so the first one shows them.
  for (const auto& [option, value] : values_of(job.roles.front())) {
    if (scope_of(option) == option_scope::job)
      text += fmt::format("{} = {}\n", key_of(option), value);
  }
  for (const role_entry& role : job.roles) {
    text += fmt::format("\n[role.{}]\ncommand = {}\n", role.name, quoted(role.command));
    for (const auto& [option, value] : values_of(role)) {
      const bool is_of_world = option == "--nnodes" && !role.has_world;
      if (scope_of(option) == option_scope::job || is_of_world) continue;
      const bool counts_replicas = option == "--nproc-per-node" && !role.has_world;
      text += fmt::format("{} = {}\n", counts_replicas ? replicas_key : key_of(option), value);
    }
    const std::string variables = variables_of(role);
    if (!variables.empty()) text += fmt::format("env = {{ {} }}\n", variables);
    if (role.on_failure) {
      text += fmt::format("on_failure = \"{}\"\n", to_string(*role.on_failure));
    }
    if (!role.starts_after.empty()) {
      names conditions;
      for (const elastic::role::condition& each : role.starts_after) {
        const bool is_ready = each.what == elastic::role::condition::event::ready;
        conditions.push_back(each.role + (is_ready ? ":ready" : ":success"));
      }
      text += fmt::format("starts_after = {}\n", quoted(conditions));
    }
    if (!role.stops_with.empty()) text += fmt::format("stops_with = {}\n", quoted(role.stops_with));
    if (role.readiness == role_readiness::start) text += "readiness = \"start\"\n";
    if (role.readiness == role_readiness::port) {
      text += fmt::format("readiness = {}\n", quoted("port." + role.ready_port));
    }
  }
  return text;
}

}  // namespace elasticrun
