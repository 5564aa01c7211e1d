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

// Its tables order themselves, and its errors are exceptions; nothing else of it is needed.
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#include <toml++/toml.h>

namespace elasticrun {

namespace detail = elastic::detail;
using command_line_option = elastic::command_line::option;
using elastic::errc;
using elastic::error;
using role_policy = elastic::role::policy;
using role_readiness = elastic::role::readiness;
using names = std::vector<std::string>;

namespace {

/// The options that the workers of one role have, by the names of --help.
constexpr std::array options_of_role{
    "--nproc-per-node",         "--env",
    "--virtual-local-rank",     "--numa-binding",
    "--cpu-affinity",           "--nnodes",
    "--max-restarts",           "--restart-delay",
    "--restart-delay-max",      "--restart-healthy-uptime",
    "--restart-window",         "--restart-while-progress",
    "--restart-never-after",    "--restart-only-after",
    "--rejoin-timeout",         "--shutdown-timeout",
    "--exit-barrier-timeout",   "--preempt-grace",
    "--node-check",             "--node-check-timeout",
    "--heartbeat-timeout",      "--first-heartbeat-timeout",
    "--learn-timeouts",         "--hang-hook",
    "--hang-hook-timeout",      "--redirects",
    "--tee",                    "--log-line-prefix-template",
    "--log-format",             "--local-ranks-filter",
    "--duplicate-stdout-filters", "--duplicate-stderr-filters",
    "--log-max-size",           "--log-max-files",
    "--monitor-interval"};

/// Of these, those that replicas do not have.
constexpr std::array options_of_world{"--nproc-per-node",           "--nnodes",
                                      "--rejoin-timeout",           "--exit-barrier-timeout",
                                      "--node-check",               "--node-check-timeout",
                                      "--duplicate-stdout-filters", "--duplicate-stderr-filters",
                                      "--monitor-interval"};

/// How many replicas a role has on each node.
constexpr const char* replicas_key = "processes_per_node";

/// Those that are the same for all roles of a job.
constexpr std::array options_of_job{
    "--standalone",    "--scale-up-delay",    "--rdzv-backend",    "--rdzv-endpoint",
    "--rdzv-conf",     "--local-addr",        "--exclude-for",     "--node-name",
    "--guard",         "--signals-to-handle", "--forward-signals", "--preempt-signal",
    "--event-log-handler"};

/// "--nproc-per-node" as a key.
std::string key_of(std::string_view option) {
  if (option == "--nnodes") return "nodes";
  std::string key(option.substr(2));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

class job_file_reader {
 public:
  static constexpr const char* standard_input = "standard input";

  job_file_reader(const std::string& source, const std::vector<command_line_option>& outer,
                  const elastic::command_line_facts& facts)
      : source_(source == "-" ? standard_input : source), facts_(facts) {
    for (const char* const option : options_of_role) role_options_.push_back(option);
    job_options_ = role_options_;
    for (const char* const option : options_of_job) job_options_.push_back(option);
    take_outer(outer);
  }

  job_file read(std::string_view text, const names& settings) {
    toml::table root = parse(text);
    for (const std::string& setting : settings) set(root, setting);
    job_file job;
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
      } else if (name == "role") {
        roles = value.as_table();
        if (roles == nullptr) refuse(value, "role: tables such as [role.trainer] are needed");
      } else {
        add_option(name, key.source(), value, job_options_, {"name", "restarts", "log_dir", "role"},
                   options);
      }
    }
    if (job.log_dir.empty()) job.log_dir = outer_log_dir_;
    if (roles == nullptr || roles->empty()) {
      throw error(errc::invalid_argument,
                  fmt::format("{}: a job needs a role: a table such as [role.trainer]", source_));
    }
    // In the order of the file, which the tables of TOML do not keep.
    std::map<std::size_t, role_entry> by_line;
    for (auto&& [key, value] : *roles) {
      const toml::table* const table = value.as_table();
      if (table == nullptr) {
        refuse(value, fmt::format("role.{}: a table is needed", key.str()));
      }
      const auto& place = table->source().begin;
      by_line.emplace(std::size_t{place.line} << 32 | place.column,
                      role_in(std::string(key.str()), *table, options));
    }
    for (auto& [line, role] : by_line) job.roles.push_back(std::move(role));
    return job;
  }

 private:
  [[noreturn]] void refuse(const toml::source_region& place, const std::string& sentence) const {
    if (place.begin.line == 0) {
      throw error(errc::invalid_argument,
                  elastic::printable_text(fmt::format("--set {}: {}", key_, sentence)));
    }
    throw error(errc::invalid_argument,
                fmt::format("{}:{}: {}", source_, place.begin.line, sentence));
  }
  [[noreturn]] void refuse(const toml::node& at, const std::string& sentence) const {
    refuse(at.source(), sentence);
  }

  toml::table parse(std::string_view text) const {
    try {
      return toml::parse(text);
    } catch (const toml::parse_error& failure) {
      refuse(failure.source(),
             elastic::printable_text(fmt::format("no TOML: {}", failure.description())));
    }
  }

  // ---- what was given outside -------------------------------------------------------------------

  void take_outer(const std::vector<command_line_option>& outer) {
    for (const command_line_option& given : outer) {
      if (given.name == "--job" || given.name == "--set" || given.name == "--print-job") continue;
      if (given.name == "--log-dir") {
        outer_log_dir_ = given.text;
        continue;
      }
      if (std::find(job_options_.begin(), job_options_.end(), given.name) == job_options_.end()) {
        throw error(errc::invalid_argument,
                    fmt::format("{} and --job exclude each other", given.source));
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

  /// "trainer.nproc_per_node=4". The value is one of TOML, or else a text.
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
    try {
      toml::table parsed = toml::parse("value = " + value);
      if (parsed.size() != 1) return;
      parsed["value"].visit([&](auto& node) { where->insert_or_assign(key, node); });
    } catch (const toml::parse_error&) {
      // A text without quotes.
    }
  }

  // ---- values -----------------------------------------------------------------------------------

  std::string text_in(const std::string& key, const toml::node& value) const {
    const auto text = value.value_exact<std::string>();
    if (!text || text->empty()) refuse(value, fmt::format("{}: a text is needed", key));
    return *text;
  }

  int restarts_in(const toml::node& value) const {
    const auto number = value.value_exact<std::int64_t>();
    if (!number || *number < 0 || *number > elastic::limits::job_restarts) {
      refuse(value, "restarts: a whole number from 0 on is needed");
    }
    return static_cast<int>(*number);
  }

  names texts_in(const std::string& key, const toml::node& value) const {
    names texts;
    const toml::array* const list = value.as_array();
    if (list == nullptr) refuse(value, fmt::format("{}: a list of texts is needed", key));
    for (const toml::node& each : *list) {
      const auto text = each.value_exact<std::string>();
      if (!text) refuse(each, fmt::format("{}: a list of texts is needed", key));
      texts.push_back(*text);
    }
    return texts;
  }

  /// The value of an option as its text on a command line; none: a flag that is off.
  std::optional<std::string> option_text(const std::string& key, const std::string& option,
                                         const toml::node& value) const {
    if (is_flag(option)) {
      const auto is_on = value.value_exact<bool>();
      if (!is_on) refuse(value, fmt::format("{}: true or false is needed", key));
      return *is_on ? std::optional<std::string>("1") : std::nullopt;
    }
    if (const auto text = value.value_exact<std::string>()) return *text;
    if (const auto number = value.value_exact<std::int64_t>()) return fmt::format("{}", *number);
    if (const auto number = value.value_exact<double>()) return fmt::format("{}", *number);
    if (!value.is_array()) {
      refuse(value, fmt::format("{}: a text, a number or a list of them is needed", key));
    }
    std::string joined;
    for (const toml::node& each : *value.as_array()) {
      if (each.is_array() || each.is_table()) {
        refuse(each, fmt::format("{}: a list of texts or numbers is needed", key));
      }
      joined += (joined.empty() ? "" : ",") + *option_text(key, option, each);
    }
    return joined;
  }

  /// Adds the key of an option to the arguments.
  void add_option(const std::string& key, const toml::source_region& place, const toml::node& value,
                  const names& allowed, names other_keys, names& arguments) const {
    const auto option = std::find_if(allowed.begin(), allowed.end(), [&](const std::string& each) {
      return key_of(each) == key;
    });
    if (option == allowed.end()) {
      for (const std::string& each : allowed) other_keys.push_back(key_of(each));
      const std::string nearest = detail::nearest_name(key, other_keys);
      const bool is_of_job = std::find_if(job_options_.begin(), job_options_.end(),
                                          [&](const std::string& each) {
                                            return key_of(each) == key;
                                          }) != job_options_.end();
      refuse(place, elastic::printable_text(fmt::format(
                        "unknown key '{}'{}", key,
                        is_of_job           ? ": it is one of the job, not of a role"
                        : nearest.empty() ? std::string()
                                          : fmt::format("; did you mean '{}'?", nearest))));
    }
    if (const toml::table* const table = value.as_table()) {
      add_variables(key, *option, *table, arguments);
      return;
    }
    const std::optional<std::string> text = option_text(key, *option, value);
    if (!text) return;
    check(key, *option, *text, value);
    arguments.push_back(argument(*option, *text));
  }

  /// env = { NAME = "value" }
  void add_variables(const std::string& key, const std::string& option, const toml::table& table,
                     names& arguments) const {
    if (!detail::option_named(option).repeats) {
      refuse(table, fmt::format("{}: a text, a number or a list of them is needed", key));
    }
    for (auto&& [name, value] : table) {
      const std::string text =
          fmt::format("{}={}", name.str(), option_text(key, option, value).value_or(""));
      check(key, option, text, value);
      arguments.push_back(argument(option, text));
    }
  }

  void check_type(const std::string& key, const std::string& option, const std::string& text,
                  const toml::node& at) const {
    detail::option_target unused;
    unused.config.job.workers.environment = facts_.environment;
    try {
      detail::option_named(option).type.read({text, key}, facts_, unused);
    } catch (const error& refusal) {
      refuse(at, refusal.what());
    }
  }

  void check(const std::string& key, const std::string& option, const std::string& text,
             const toml::node& at) const {
    check_type(key, option, text, at);
    for (const command_line_option& given : outer_) {
      if (given.name != option || given.source != given.name || given.text == text) continue;
      if (detail::option_named(option).repeats) continue;
      refuse(at, elastic::printable_text(
                     fmt::format("{} = {} contradicts {} {}: use --set, or leave one of them out",
                                 key, text, given.source, given.text)));
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
        role.readiness = readiness_in(value);
      } else if (word == replicas_key) {
        role.has_world = false;
        const std::string count = option_text(word, "--nproc-per-node", value).value_or("");
        check_type(word, "--nproc-per-node", count, value);
        role.options.push_back(argument("--nproc-per-node", count));
      } else {
        add_option(word, key.source(), value, role_options_,
                   {"command", "on_failure", "starts_after", "stops_with", "readiness",
                    replicas_key},
                   role.options);
      }
    }
    if (role.command.empty()) refuse(table, fmt::format("role '{}' has no command", name));
    if (!role.has_world) check_replicas(table);
    return role;
  }

  /// Replicas neither meet nor wait for each other.
  void check_replicas(const toml::table& table) const {
    for (const char* const option : options_of_world) {
      const std::string key = key_of(option);
      const toml::node* const found = table.get(key);
      if (found == nullptr) continue;
      refuse(*found, fmt::format("{} is for workers with a world; those of {} have none", key,
                                 replicas_key));
    }
  }

  /// "train.py", "-m" and a module, or "--no-python" and a program; then its arguments.
  names command_in(const toml::node& value) const {
    names command = texts_in("command", value);
    const bool has_option =
        !command.empty() && (command[0] == "-m" || command[0] == "--no-python");
    const std::size_t script = has_option ? 1 : 0;
    if (command.size() <= script || command[script].empty() || command[script][0] == '-') {
      refuse(value,
             "command: a script is needed, or -m and a module, or --no-python and a program; then "
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
                      fmt::format("on_failure '{}': allowed are {}", word, allowed)));
  }

  role_readiness readiness_in(const toml::node& value) const {
    const std::string word = text_in("readiness", value);
    if (word == "progress") return role_readiness::progress;
    if (word == "start") return role_readiness::start;
    refuse(value, elastic::printable_text(
                      fmt::format("readiness '{}': allowed are progress and start", word)));
  }

  /// "trainer:ready" or "trainer:success".
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
  /// What is read now, as --set names it.
  std::string key_;
  const elastic::command_line_facts& facts_;
  names role_options_;
  names job_options_;
  std::vector<command_line_option> outer_;
  names outer_arguments_;
  std::string outer_log_dir_;
};

/// Whether what the job says for all of its roles is not for a role.
bool is_left_out(const role_entry& role, const std::string& option) {
  if (role.has_world || option == "--nproc-per-node") return false;
  return std::find(options_of_world.begin(), options_of_world.end(), option) !=
         options_of_world.end();
}

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

std::string quoted(const names& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + quoted(text);
  return "[" + list + "]";
}

}  // namespace

job_file parse_job_file(std::string_view text, const std::string& source, const names& settings,
                        const std::vector<command_line_option>& outer,
                        const elastic::command_line_facts& facts) {
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
    throw error(errc::file_access, fmt::format("the job file {} cannot be read: {}",
                                               elastic::in_quotes(path),
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
  for (const role_entry& role : job.roles) {
    text += fmt::format("\n[role.{}]\ncommand = {}\n", role.name, quoted(role.command));
    std::string variables;
    // Of an option that was given several times, the last counts.
    std::vector<std::pair<std::string, std::string>> options;
    for (const std::string& argument : role.options) {
      const std::size_t equals = argument.find('=');
      const std::string option = argument.substr(0, equals);
      const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
      if (option == "--env") {
        const std::size_t end = value.find('=');
        variables += fmt::format("{}{} = {}", variables.empty() ? "" : ", ",
                                 quoted(value.substr(0, end)), quoted(value.substr(end + 1)));
        continue;
      }
      std::erase_if(options, [&](const auto& each) { return each.first == option; });
      options.emplace_back(option, equals == std::string::npos ? "true" : quoted(value));
    }
    for (const auto& [option, value] : options) {
      if (is_left_out(role, option)) continue;
      const bool counts_replicas = option == "--nproc-per-node" && !role.has_world;
      text += fmt::format("{} = {}\n", counts_replicas ? replicas_key : key_of(option), value);
    }
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
  }
  return text;
}

}  // namespace elasticrun
