// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/option_documents.hpp>

#include <elastic/base/assert.hpp>
#include <elastic/base/version.hpp>
#include <elastic/cli/detail/option_help.hpp>
#include <elastic/cli/detail/option_row.hpp>

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

/// The first sentence, which is what a shell has room for.
inline std::string_view first_sentence(std::string_view text) {
  return text.substr(0, std::min(text.find(". "), text.size() - 1));
}

/// Puts a backslash before each of some letters.
inline std::string escaped(std::string_view text, std::string_view letters) {
  std::string result;
  for (const char letter : text) {
    if (letters.find(letter) != std::string_view::npos) result += '\\';
    result += letter;
  }
  return result;
}

/// A text as one word of a shell.
inline std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? "'\\''" : std::string(1, letter);
  return word + "'";
}

/// "-t|--tee" of "-t,--tee".
inline std::string with_bars(const option_row& row) {
  std::string names = row.names;
  std::replace(names.begin(), names.end(), ',', '|');
  return names;
}

// ---- bash ---------------------------------------------------------------------------------------

inline constexpr char bash_script[] = R"(# Completes the options of elasticrun: the output of
# elasticrun --print-completion bash
_elasticrun() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} at previous=
  COMPREPLY=()
  if ((COMP_CWORD > 1)); then
    case ${{COMP_WORDS[1]}} in
{4}    esac
  fi
  for ((at = 1; at < COMP_CWORD; ++at)); do
    previous=${{COMP_WORDS[at]}}
    case $previous in
      {0})
        [[ ${{COMP_WORDS[at + 1]}} == "=" ]] && ((++at))
        ((++at)) ;;
      -*) ;;
      *) return ;; # the script: what follows is its own
    esac
  done
  if ((at > COMP_CWORD)); then # the value of an option
    [[ $word == "=" ]] && word=
    case $previous in
{1}    esac
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "{2}" -- "$word"))
  elif ((COMP_CWORD == 1)); then # a command, or the script
    COMPREPLY=($(compgen -W "{3}" -- "$word"))
    if ((${{#COMPREPLY[@]}})); then # else readline completes files, and quotes their names
      local IFS=$'\n'
      COMPREPLY+=($(compgen -f -- "$word"))
      compopt -o filenames 2> /dev/null
    fi
  fi
}}
complete -o default -F _elasticrun elasticrun
)";

inline std::string words_of(const std::vector<command_line::facts::command>& commands) {
  std::string words;
  for (const command_line::facts::command& command : commands) {
    words += (words.empty() ? "" : " ") + command.word;
  }
  return words;
}

/// "--watch", "--ready" and so on of "[--watch | --ready] [ADDRESS]".
inline std::vector<std::string> options_of(const command_line::facts::command& command) {
  std::vector<std::string> options;
  for (auto position = command.arguments.find("--"); position != std::string::npos;
       position = command.arguments.find("--", position)) {
    const auto end =
        std::min(command.arguments.find_first_of(" ]|", position), command.arguments.size());
    options.push_back(command.arguments.substr(position, end - position));
    position = end;
  }
  return options;
}

/// After a command: its options, or files. A path that begins with a dash is no concern here.
inline std::string bash_commands(const std::vector<command_line::facts::command>& commands) {
  std::string text;
  for (const command_line::facts::command& command : commands) {
    text += fmt::format(
        "      {})\n        [[ $word == -* ]] && COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))\n"
        "        return ;;\n",
        command.word, fmt::join(options_of(command), " "));
  }
  return text;
}

inline std::string bash_completion(const std::vector<command_line::facts::command>& commands) {
  std::vector<std::string> with_value;
  std::vector<std::string> options;
  std::string choices;
  for (const option_row& row : option_rows()) {
    options.push_back(row.long_name());
    if (row.takes_value()) with_value.push_back(with_bars(row));
    if (row.type.choices.empty()) continue;
    choices += fmt::format("      {}) COMPREPLY=($(compgen -W \"{}\" -- \"$word\")) ;;\n",
                           with_bars(row), fmt::join(row.type.choices, " "));
  }
  return fmt::format(bash_script, fmt::join(with_value, "|"), choices, fmt::join(options, " "),
                     words_of(commands), bash_commands(commands));
}

// ---- zsh ----------------------------------------------------------------------------------------

inline std::string zsh_completion(const std::vector<command_line::facts::command>& commands) {
  std::string script =
      "#compdef elasticrun\n# The output of elasticrun --print-completion zsh\n"
      "local context state state_descr line\ntypeset -A opt_args\n_arguments -s -S";
  for (const option_row& row : option_rows()) {
    const std::string help = escaped(first_sentence(row.help), "\\[]:");
    std::string value;
    if (row.takes_value()) {
      const bool any = row.type.choices.empty();
      value = fmt::format(
          ":{}:{}", escaped(row.value, "\\[]:"),
          any ? std::string("_files") : fmt::format("({})", fmt::join(row.type.choices, " ")));
    }
    const std::string name = row.long_name() + (row.takes_value() ? "=" : "");
    const std::string text = fmt::format("[{}]{}", help, value);
    if (row.short_name() != '\0') {
      script +=
          fmt::format(" \\\n  {}", shell_word(fmt::format("-{}{}", row.short_name(),
                                                          (row.takes_value() ? "+" : "") + text)));
    }
    script += fmt::format(" \\\n  {}", shell_word((row.repeats ? "*" : "") + name + text));
  }
  script += fmt::format(
      " \\\n  '1:script:{{_alternative \"commands:command:({})\" \"scripts:script:_files\"}}'"
      " '*::argument:->arguments'\n[[ $state == arguments ]] && case $words[1] in\n",
      words_of(commands));
  for (const command_line::facts::command& command : commands) {
    script += fmt::format("  {}) _arguments", command.word);
    for (const std::string& option : options_of(command)) script += " " + option;
    script += " '*:file:_files' ;;\n";
  }
  return script + "  *) _files ;;\nesac\n";
}

// ---- fish ---------------------------------------------------------------------------------------

inline std::string fish_completion(const std::vector<command_line::facts::command>& commands) {
  std::string script = "# The output of elasticrun --print-completion fish\n";
  std::string words;
  for (const command_line::facts::command& row : commands) {
    words += " " + row.word;
    script += fmt::format("complete -c elasticrun -n __fish_use_subcommand -a {} -d '{}'\n",
                          row.word, escaped(first_sentence(row.help), "\\'"));
    for (const std::string& option : options_of(row)) {
      script += fmt::format("complete -c elasticrun -n '__fish_seen_subcommand_from {}' -l {}\n",
                            row.word, option.substr(2));
    }
  }
  for (const option_row& row : option_rows()) {
    script += fmt::format(
        "complete -c elasticrun -n 'not __fish_seen_subcommand_from{}' -l {}", words,
        row.long_name().substr(2));
    if (row.short_name() != '\0') script += fmt::format(" -s {}", row.short_name());
    if (row.takes_value()) script += " -r";
    if (!row.type.choices.empty()) {
      script += fmt::format(" -f -a '{}'", fmt::join(row.type.choices, " "));
    }
    script += fmt::format(" -d '{}'\n", escaped(first_sentence(row.help), "\\'"));
  }
  return script;
}

// ---- tcsh ---------------------------------------------------------------------------------------

/// Completes no commands: at one place, tcsh completes either words or files, and the first word is
/// a script more often.
inline std::string tcsh_completion() {
  std::string script = "# The output of elasticrun --print-completion tcsh\ncomplete elasticrun";
  std::string options;
  for (const option_row& row : option_rows()) {
    options += (options.empty() ? "" : " ") + row.long_name().substr(2);
    if (row.type.choices.empty()) continue;
    script += fmt::format(" \\\n  'n/{}/({})/'", row.long_name(), fmt::join(row.type.choices, " "));
  }
  return script + fmt::format(" \\\n  'c/--/({})/' \\\n  'p/*/f/'\n", options);
}

ELASTIC_DECL const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish", "tcsh"};
  return shells;
}

ELASTIC_DECL std::string completion_script(
    std::string_view shell, const std::vector<command_line::facts::command>& commands) {
  if (shell == "bash") return bash_completion(commands);
  if (shell == "zsh") return zsh_completion(commands);
  if (shell == "fish") return fish_completion(commands);
  ELASTIC_ASSERT(shell == "tcsh");
  return tcsh_completion();
}

// ---- man ----------------------------------------------------------------------------------------

/// Text that is shown as it is. A line that begins with a dot or an apostrophe would be a request.
inline std::string roff(std::string_view text) {
  std::string result;
  bool at_start = true;
  for (const char letter : text) {
    if (at_start && (letter == '.' || letter == '\'')) result += "\\&";
    at_start = letter == '\n';
    if (letter == '\\') {
      result += "\\e";
    } else if (letter == '-') {
      result += "\\-";
    } else {
      result += letter;
    }
  }
  return result;
}

inline std::string as_it_is(std::string_view text) {
  return fmt::format(".nf\n{}.fi\n", roff(text));
}

inline std::string man_option(const option_row& row) {
  std::string names = row.names;
  if (const auto comma = names.find(','); comma != std::string::npos) names.insert(comma + 1, " ");
  std::string value;
  if (row.takes_value()) value = fmt::format(" \\fI{}\\fR", roff(row.value));
  std::string text = row.help;
  const std::string default_value = row.default_value();
  if (!default_value.empty()) text += fmt::format(" Default: {}.", default_value);
  return fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(names), value, roff(text));
}

ELASTIC_DECL std::string man_page(const std::vector<command_line::facts::command>& commands) {
  std::string page = fmt::format(
      ".TH ELASTICRUN 1 \"\" \"elasticrun {}\"\n.SH NAME\nelasticrun \\- starts the workers of a "
      "job, watches them, and restarts them when one fails\n.SH SYNOPSIS\n.B elasticrun\n"
      "[options] script [arguments of the script]\n.SH DESCRIPTION\n",
      version_text);
  page += as_it_is(help_introduction()) + ".SH OPTIONS\n";
  const char* heading = nullptr;
  for (const option_row& row : option_rows()) {
    if (row.heading != heading) page += fmt::format(".SS {}\n", roff(row.heading));
    heading = row.heading;
    page += man_option(row);
  }
  page += ".SH COMMANDS\nIn place of a script, if there is no script of that name:\n";
  for (const command_line::facts::command& row : commands) {
    page += fmt::format(".TP\n\\fB{}\\fR \\fI{}\\fR\n{}\n", roff(row.word), roff(row.arguments),
                        roff(row.help));
  }
  return page + ".SH ENVIRONMENT\n" + as_it_is(help_environment()) + ".SH EXIT STATUS\n" +
         as_it_is(help_exit_codes());
}

}  // namespace elastic::detail
