// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/signal_number.hpp>

#include <elastic/base/error.hpp>

#include <array>
#include <csignal>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

// Of the C libraries only glibc has such a table, from 2.32 on.
inline constexpr std::array<std::pair<int, std::string_view>, 31> signal_abbreviations{{
    {SIGHUP, "HUP"},   {SIGINT, "INT"},       {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},
    {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"},     {SIGBUS, "BUS"},   {SIGFPE, "FPE"},
    {SIGKILL, "KILL"}, {SIGUSR1, "USR1"},     {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
    {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"},     {SIGTERM, "TERM"}, {SIGSTKFLT, "STKFLT"},
    {SIGCHLD, "CHLD"}, {SIGCONT, "CONT"},     {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"},
    {SIGTTIN, "TTIN"}, {SIGTTOU, "TTOU"},     {SIGURG, "URG"},   {SIGXCPU, "XCPU"},
    {SIGXFSZ, "XFSZ"}, {SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"},
    {SIGPOLL, "POLL"}, {SIGPWR, "PWR"},       {SIGSYS, "SYS"},
}};

ELASTIC_DECL std::optional<int> signal_number(std::string_view name) {
  if (name.substr(0, 3) == "SIG") name.remove_prefix(3);
  for (const auto& [number, abbreviation] : signal_abbreviations) {
    if (name == abbreviation) return number;
  }
  return std::nullopt;
}

ELASTIC_DECL std::string_view signal_abbreviation(int number) {
  for (const auto& [other, abbreviation] : signal_abbreviations) {
    if (other == number) return abbreviation;
  }
  return {};
}

ELASTIC_DECL bool is_signal(int number) {
  return (number >= 1 && number <= 31) || (number >= SIGRTMIN && number <= SIGRTMAX);
}

ELASTIC_DECL void require_signal(int number, std::string_view what) {
  if (is_signal(number)) return;
  throw error(errc::invalid_argument, fmt::format("{}: there is no signal {}: 1 to 31 and {} to {} "
                                                  "are allowed",
                                                  what, number, SIGRTMIN, SIGRTMAX));
}

}  // namespace elastic::detail
