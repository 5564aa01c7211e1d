// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/doctor/node_report.hpp>

#include <elastic/base/detail/asio_address.hpp>
#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/version.hpp>
#include <program/limits.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

using elastic::detail::json_fields;
using elastic::detail::json_object;
using elastic::detail::record_rows;

namespace {

constexpr std::array<std::string_view, 3> level_names{"ok", "warning", "problem"};

/// A text for users. It is made printable when it is read, because another node wrote it.
void shown_row(record_rows& rows, const char* name, std::string& value) {
  if (rows.sentence(name, value, limits::doctor_text_bytes)) {
    value = elastic::printable_line(value);
  }
}

void texts_row(record_rows& rows, const char* name, std::vector<std::string>& values) {
  std::string written;
  for (const std::string& value : values) {
    written += (written.empty() ? "" : ", ") + elastic::detail::json_string(value);
  }
  const auto* list = rows.list(name, "[" + written + "]", limits::doctor_list_entries);
  if (list == nullptr) return;
  for (const nlohmann::ordered_json& each : *list) {
    if (!each.is_string())
      rows.refuse(fmt::format("has an entry in {} that is not a string", name));
    const std::string text = each.get<std::string>();
    values.push_back(elastic::printable_line(
        elastic::detail::beginning_of(text, limits::doctor_text_bytes)));
  }
}

/// A list of objects.
template <class Record>
void records_row(record_rows& rows, const char* name, std::vector<Record>& values,
                 std::size_t most) {
  std::string written;
  for (const Record& value : values) {
    json_object object;
    write_record(object, value);
    written += (written.empty() ? "" : ", ") + object.text();
  }
  const auto* list = rows.list(name, "[" + written + "]", most);
  if (list == nullptr) return;
  for (const nlohmann::ordered_json& each : *list) {
    if (!each.is_object())
      rows.refuse(fmt::format("has an entry in {} that is not an object", name));
    const json_fields fields("a node's report", each);
    read_record(fields, values.emplace_back());
  }
}

}  // namespace

void describe(finding& found, record_rows& rows) {
  rows.choice("level", found.how, level_names);
  shown_row(rows, "subject", found.subject);
  shown_row(rows, "text", found.text);
  shown_row(rows, "advice", found.advice);
}

void describe(node_report& report, record_rows& rows) {
  shown_row(rows, "name", report.name);
  if (rows.text("address", report.address, elastic::limits::host_name_bytes)) {
    elastic::detail::asio_error_code failure;
    elastic::asio::ip::make_address(report.address, failure);
    // Only a numeric address: a name would make every node query its resolver.
    if (failure) rows.refuse("has an invalid address");
  }
  rows.number("port", report.port, 1, 65535);
  rows.text("token", report.token, limits::doctor_token_bytes);
  shown_row(rows, "program", report.program);
  shown_row(rows, "kernel", report.kernel);
  shown_row(rows, "torch", report.torch);
  shown_row(rows, "cuda", report.cuda);
  shown_row(rows, "nccl", report.nccl);
  shown_row(rows, "driver", report.driver);
  rows.number("accelerators", report.accelerators, 0, elastic::limits::local_world_size);
  texts_row(rows, "cards", report.cards);
  records_row(rows, "findings", report.findings, limits::doctor_list_entries);
}

void describe(link_report& link, record_rows& rows) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
  rows.number("peer", link.peer, 0, elastic::limits::nodes - 1);
  shown_row(rows, "address", link.address);
  shown_row(rows, "interface", link.interface);
  shown_row(rows, "failure", link.failure);
  rows.number("latency_ns", link.latency_ns, 0, most);
  rows.number("bytes_per_second", link.bytes_per_second, 0, most);
  rows.number("clock_ahead_ms", link.clock_ahead_ms, -most, most);
}

namespace {

/// The links of a node as one message.
struct link_list {
  std::vector<link_report> links;
};

void describe(link_list& list, record_rows& rows) {
  records_row(rows, "links", list.links, static_cast<std::size_t>(elastic::limits::nodes));
}

}  // namespace

node_report report_of(const host_facts& facts, const std::string& name) {
  node_report report;
  report.name = name;
  report.program = elastic::version_text;
  report.kernel = facts.kernel;
  report.torch = facts.torch;
  report.cuda = facts.cuda;
  report.nccl = facts.nccl;
  report.driver = facts.driver;
  report.accelerators = facts.accelerators;
  for (const network_card& card : facts.cards) report.cards.push_back(text_of(card));
  for (finding& each : examine(facts)) {
    // The doctor itself may use such a port.
    if (each.how == finding::level::ok || each.subject == "ports") continue;
    report.findings.push_back(std::move(each));
  }
  return report;
}

std::string text_of(const node_report& report) {
  json_object object;
  write_record(object, report);
  return object.text();
}

node_report parse_node_report(std::string_view text) {
  node_report report;
  read_record(json_fields("a node's report", text, limits::doctor_report_bytes),
              report);
  return report;
}

std::string text_of(const std::vector<link_report>& links) {
  json_object object;
  write_record(object, link_list{links});
  return object.text();
}

std::vector<link_report> parse_link_reports(std::string_view text, int nodes) {
  link_list list;
  read_record(json_fields("a node's list of links", text, limits::doctor_links_bytes), list);
  std::erase_if(list.links, [nodes](const link_report& link) { return link.peer >= nodes; });
  return std::move(list.links);
}

}  // namespace elasticrun
