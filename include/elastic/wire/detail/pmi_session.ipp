// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/wire/detail/pmi_session.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <cstddef>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void pmi_session::consume(std::string_view bytes) {
  input_ += bytes;
  take_lines();
}

ELASTIC_DECL void pmi_session::leave_barrier() {
  stage_ = stage::talking;
  reply("cmd=barrier_out rc=0");
  take_lines();
}

ELASTIC_DECL std::optional<std::string> pmi_session::take_complaint() {
  return std::exchange(complaint_, std::nullopt);
}

ELASTIC_DECL void pmi_session::take_lines() {
  std::size_t taken = 0;
  while (stage_ != stage::in_barrier) {
    const std::size_t end = input_.find('\n', taken);
    const std::size_t length = (end == std::string::npos ? input_.size() : end) - taken;
    if (length > limits::pmi_line_bytes) {
      throw error(errc::protocol_violation,
                  fmt::format("a line of more than {} bytes", limits::pmi_line_bytes));
    }
    if (end == std::string::npos) break;
    const std::string line = input_.substr(taken, length);
    taken = end + 1;
    take_line(line);
  }
  input_.erase(0, taken);
  // A worker waits for each reply before its next request, so it has nothing more to say now.
  if (input_.size() > limits::pmi_line_bytes) {
    throw error(errc::protocol_violation, "requests in the middle of a barrier");
  }
}

ELASTIC_DECL void pmi_session::take_line(std::string_view line) {
  if (stage_ == stage::finalized || stage_ == stage::aborted) {
    throw error(errc::protocol_violation, "a request after the last one");
  }
  if (spawn_lines_ >= 0) return take_spawn_line(line);
  if (line == "mcmd=spawn") {
    spawn_lines_ = 0;
    spawns_ = spawns_so_far_ = 1;
    return;
  }
  take(parse_pmi_request(line));
}

/// "nprocs=2", "execname=/bin/true" and others, up to "endcmd".
ELASTIC_DECL void pmi_session::take_spawn_line(std::string_view line) {
  if (++spawn_lines_ > limits::pmi_spawn_lines) {
    throw error(errc::protocol_violation, "a request to start processes that does not end");
  }
  const auto number_in = [&](std::string_view name, int& value) {
    if (!line.starts_with(name)) return;
    pmi_request counted;
    counted.command = "spawn";
    counted.words.emplace(name, line.substr(name.size()));
    value = counted.number(name);
  };
  number_in("totspawns=", spawns_);
  number_in("spawnssofar=", spawns_so_far_);
  if (line != "endcmd") return;
  spawn_lines_ = -1;
  if (spawns_so_far_ < spawns_) return;
  complaint_ =
      "asked for more processes (MPI_Comm_spawn), which elasticrun does not start";
  reply("cmd=spawn_result rc=-1 status=not_supported");
}

ELASTIC_DECL void pmi_session::take(const pmi_request& request) {
  const std::string& command = request.command;
  if (command == "init") {
    if (stage_ != stage::silent) throw error(errc::protocol_violation, "a second init");
    if (request.number("pmi_version") != 1) {
      throw error(errc::protocol_violation, fmt::format("PMI {}; only PMI 1 is supported",
                                                        request.number("pmi_version")));
    }
    stage_ = stage::talking;
    return reply("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
  }
  if (stage_ == stage::silent) {
    throw error(errc::protocol_violation,
                fmt::format("{} before init", in_quotes(command)));
  }
  if (command == "get_maxes") {
    return reply(fmt::format("cmd=maxes kvsname_max={0} keylen_max={0} vallen_max={1}",
                             limits::pmi_key_bytes, limits::pmi_value_bytes));
  }
  if (command == "get_appnum") return reply("cmd=appnum appnum=0");
  if (command == "get_universe_size") {
    return reply(fmt::format("cmd=universe_size size={}", size_));
  }
  if (command == "get_my_kvsname") {
    return reply(fmt::format("cmd=my_kvsname kvsname={}", space_name));
  }
  if (command == "put") return answer_put(request);
  if (command == "get") return answer_get(request);
  if (command == "barrier_in") {
    stage_ = stage::in_barrier;
    return;
  }
  if (command == "finalize") {
    stage_ = stage::finalized;
    return reply("cmd=finalize_ack rc=0");
  }
  if (command == "abort") {
    stage_ = stage::aborted;
    const int code = request.number("exitcode");
    complaint_ = fmt::format("aborts the MPI program with exit code {}", code);
    return;
  }
  for (const std::string_view name : {"publish", "unpublish", "lookup"}) {
    if (command != std::string(name) + "_name") continue;
    return reply(fmt::format("cmd={}_result rc=-1 info=not_supported", name));
  }
  throw error(errc::protocol_violation, fmt::format("unknown request {}", in_quotes(command)));
}

ELASTIC_DECL void pmi_session::answer_put(const pmi_request& request) {
  const std::string& key = request.word("key");
  const std::string& value = request.word("value");
  const bool is_valid = request.word("kvsname") == space_name && !key.empty() &&
                        key.find('=') == std::string::npos &&
                        key.size() <= limits::pmi_key_bytes &&
                        value.size() <= limits::pmi_value_bytes;
  if (is_valid && space_->put(key, value)) return reply("cmd=put_result rc=0 msg=success");
  reply("cmd=put_result rc=-1 msg=refused");
}

ELASTIC_DECL void pmi_session::answer_get(const pmi_request& request) {
  const auto value = request.word("kvsname") == space_name ? space_->get(request.word("key"))
                                                            : std::nullopt;
  if (value) return reply(fmt::format("cmd=get_result rc=0 msg=success value={}", *value));
  reply("cmd=get_result rc=-1 msg=unknown_key value=unknown");
}

ELASTIC_DECL void pmi_session::reply(std::string_view line) {
  output_ += line;
  output_ += '\n';
}

}  // namespace elastic::detail
