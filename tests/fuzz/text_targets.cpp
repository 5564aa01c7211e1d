// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Texts: lines, files and arguments.

#include "target.hpp"

#include <elastic/agent/detail/workers/line_template.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/cli/command_line.hpp>
#include <elastic/cli/detail/chaos_text.hpp>
#include <elastic/cli/detail/slurm_hosts.hpp>
#include <elastic/contract/detail/macros.hpp>
#include <elastic/contract/detail/roles_document.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/control/detail/control_message.hpp>
#include <elastic/control/detail/timer_request.hpp>
#include <elastic/functions/detail/call_value.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/nodes/detail/leader_record.hpp>
#include <elastic/python/detail/standby_message.hpp>
#include <elastic/telemetry/journal_record.hpp>
#include <program/chaos/chaos_schedule.hpp>
#include <program/commands/explanation.hpp>
#include <program/commands/merged_trace.hpp>
#include <program/doctor/job_findings.hpp>
#include <program/doctor/node_report.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace elastic::fuzz {
namespace {

using detail::journal_contents;
using detail::parse_chaos_plan;
using detail::parse_journal;

// ---- lines, files, arguments --------------------------------------------------------------------

/// A standby, whose imports may say anything in its name.
void standby_said(std::string_view input) {
  const detail::standby_message message = detail::parse_standby_message(input);
  require(detail::bytes_of(message) == input, "what a standby says has one form");
}

void control_line(std::string_view input) {
  const std::string line = elastic::detail::to_line(elastic::detail::parse_worker_message(input));
  require(line.size() <= limits::control_line_bytes, "a line keeps to its bound");
  require(!line.empty() && line.back() == '\n', "a line has an end");
  require(line.find('\n') == line.size() - 1, "a line has one end");
}

void agent_line(std::string_view input) {
  if (const auto message = elastic::detail::parse_agent_message(input))
    elastic::detail::to_line(*message);
}

void roles_file(std::string_view input) {
  const job_roles document = detail::parse_roles(input);
  require(detail::parse_roles(detail::roles_text(document)) == document,
          "what is written can be read");
}

void role_places(std::string_view input) {
  const auto workers = detail::parse_workers(input);
  require(detail::parse_workers(detail::workers_text(workers)) == workers,
          "what is written can be read");
}

void port_macros(std::string_view input) {
  const std::string argument(input);
  std::map<std::string, std::uint16_t, std::less<>> ports;
  for (const std::string& name : detail::port_names({argument})) ports[name] = 1;
  detail::substitute_ports(argument, 0, ports);
}

void timer_line(std::string_view input) { elastic::detail::parse_timer_request(input); }

void error_file(std::string_view input) { parse_error_file(input); }

void function_value(std::string_view input) { detail::call_value(input, "a value"); }

void line_prefix(std::string_view input) {
  const elastic::detail::line_template prefix{std::string(input)};
  worker_identity worker;
  prefix.head_of(worker, "host");
}

void endpoint_text(std::string_view input) {
  const endpoint at = parse_endpoint(input, 29400);
  require(parse_endpoint(to_text(at), 1).port == at.port, "what is written can be read");
}

void chaos_text(std::string_view input) {
  const auto plan = parse_chaos_plan(input);
  require(parse_chaos_plan(detail::to_text(plan)) == plan, "what is written can be read");
  elasticrun::chaos_schedule schedule(plan);
  duration last{};
  for (int step = 0; step < 100; ++step) {
    const auto next = schedule.next();
    require(next || !plan.noise, "random faults never end");
    if (!next) break;
    require(next->time >= last, "faults come in the order of time");
    last = next->time;
  }
}

void journal_line(std::string_view input) {
  const journal_record record = parse_journal_line(input);
  const std::string line = to_json_line(record);
  require(line.size() <= limits::journal_line_bytes, "a line keeps to its bound");
  require(line.find('\n') == line.npos, "a line has no end within it");
  require(to_json_line(parse_journal_line(line)) == line, "what is written can be read");
}

void slurm_hosts(std::string_view input) {
  const std::vector<std::string> hosts = elastic::detail::parse_slurm_hosts(input);
  require(!hosts.empty(), "a list has a first host");
  require(hosts.size() <= static_cast<std::size_t>(limits::nodes), "a list keeps to its bound");
  for (const std::string& host : {hosts.front(), hosts.back()}) {
    require(!host.empty() && host.size() <= limits::host_name_bytes, "a host has a name");
    require(elastic::detail::parse_slurm_hosts(host).front() == host, "a name is a list");
  }
}

/// What a registry says of the agent that leads a job.
void leader_record_text(std::string_view input) {
  const std::string place = "the key 'leader'";
  const auto record = elastic::detail::parse_leader_record(input, place, std::nullopt);
  const std::string text = registry_text(record, std::nullopt);
  require(elastic::detail::parse_leader_record(text, place, std::nullopt).kept == record.kept,
          "a record has one meaning");
}

/// A journal that somebody else may have written, as `explain` and `trace` show it.
void journal_text(std::string_view input) {
  const std::vector<journal_contents> journals{parse_journal(input)};
  const std::string story = elasticrun::explain(journals);
  require(story.find('\x1b') == story.npos, "what is told does nothing to a terminal");
  require(nlohmann::json::accept(elasticrun::merged_trace(journals)), "a trace is JSON");
}

/// What a node tells the doctors of the others, as one of them shows it.
void doctor_report(std::string_view input) {
  elasticrun::job_view view;
  view.expected = 2;
  view.nodes = {elasticrun::parse_node_report(input), elasticrun::node_report()};
  const std::vector<elasticrun::finding> findings = elasticrun::examine(view);
  const std::string text = elasticrun::findings_text(findings);
  require(text.find('\x1b') == text.npos, "what is shown does nothing to a terminal");
  require(nlohmann::json::accept(elasticrun::job_json(view, findings)), "a report is JSON");
  elasticrun::parse_node_report(text_of(view.nodes.front()));
}

/// The same of its links.
void doctor_links(std::string_view input) {
  elasticrun::job_view view;
  view.expected = 3;
  view.nodes.resize(3);
  view.links = {elasticrun::parse_link_reports(input, 3), {}, {}};
  const std::string text = elasticrun::findings_text(elasticrun::examine(view));
  require(text.find('\x1b') == text.npos, "what is shown does nothing to a terminal");
  require(nlohmann::json::accept(elasticrun::job_json(view, {})), "a report is JSON");
}

// Arguments, then "PET_" variables, each ended by a zero.
void arguments(std::string_view input) {
  cutter parts(input);
  std::vector<std::string> words(1 + parts.number(7));
  for (std::string& word : words) word = std::string(parts.bytes(parts.number(24)));
  command_line::facts facts;
  facts.environment = environment_from({std::string(parts.rest())});
  facts.injects_faults = true;
  facts.offers_debugger = true;
  facts.reads_job_files = true;
  const auto parsed = parse_command_line(words, facts);
  if (const auto* exit = std::get_if<early_exit>(&parsed)) {
    require(!exit->text.empty(), "an early end says why");
  }
}

}  // namespace

std::vector<target> text_targets() {
  return {
      {"standby_said", standby_said}, {"control_line", control_line},
      {"agent_line", agent_line},     {"timer_line", timer_line},
      {"error_file", error_file},     {"function_value", function_value},
      {"line_prefix", line_prefix},   {"endpoint_text", endpoint_text},
      {"arguments", arguments},       {"chaos_text", chaos_text},
      {"journal_line", journal_line}, {"journal_text", journal_text},
      {"slurm_hosts", slurm_hosts},   {"leader_record_text", leader_record_text},
      {"roles_file", roles_file},     {"role_places", role_places},
      {"port_macros", port_macros},   {"doctor_report", doctor_report},
      {"doctor_links", doctor_links},
  };
}

}  // namespace elastic::fuzz
