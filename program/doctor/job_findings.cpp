// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/doctor/job_findings.hpp>

#include <elastic/base/detail/json_object.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

namespace {

using level = finding::level;
using label_list = std::vector<std::string>;

/// The maximum number of names on a line.
constexpr std::size_t most_names = 8;

/// "node0, node1 and 3 more".
std::string list_of(const label_list& all) {
  const std::size_t shown = std::min(all.size(), most_names);
  std::string text;
  for (std::size_t index = 0; index < shown; ++index) text += (index == 0 ? "" : ", ") + all[index];
  if (shown < all.size()) text += fmt::format(" and {} more", all.size() - shown);
  return text;
}

std::string list_of(const label_list& some, std::size_t nodes) {
  if (some.size() == nodes && nodes > 1) return fmt::format("all {} nodes", nodes);
  return list_of(some);
}

std::string time_text(std::int64_t nanoseconds) {
  const double microseconds = static_cast<double>(nanoseconds) / 1e3;
  if (microseconds < 1000) return fmt::format("{:.0f} us", microseconds);
  return fmt::format("{:.1f} ms", microseconds / 1e3);
}

std::string rate_text(std::int64_t bytes_per_second) {
  return fmt::format("{:.2g} Gbit/s", static_cast<double>(bytes_per_second) * 8 / 1e9);
}

finding nodes_finding(const job_view& view, const label_list& labels) {
  const std::string joined = list_of(labels);
  if (static_cast<int>(view.nodes.size()) >= view.expected) {
    return {level::ok, "nodes", fmt::format("all {} joined: {}", view.nodes.size(), joined)};
  }
  const std::size_t missing = static_cast<std::size_t>(view.expected) - view.nodes.size();
  return {level::problem, "nodes",
          fmt::format("{} of {} joined within {:.0f} s: {}; {} missing", view.nodes.size(),
                      view.expected, view.waited, joined,
                      missing == 1 ? "one is" : fmt::format("{} are", missing)),
          "on each missing node, check that the command runs and that it reaches the endpoint"};
}

// ---- properties that nodes should share ---------------------------------------------------------

struct likeness {
  const char* subject;
  std::function<std::string(const node_report&)> value;
  /// The level of a difference.
  level difference;
  const char* advice;
};

const std::vector<likeness>& likenesses() {
  static const std::vector<likeness> rows{
      {"elasticrun", [](const auto& node) { return node.program; }, level::problem,
       "install the same version on all nodes"},
      {"kernel", [](const auto& node) { return node.kernel; }, level::ok, ""},
      {"PyTorch", [](const auto& node) { return node.torch; }, level::problem,
       "collectives hang or fail if versions differ: install the same one on all nodes"},
      {"CUDA", [](const auto& node) { return node.cuda; }, level::warning,
       "install the same build of PyTorch on all nodes"},
      {"NCCL", [](const auto& node) { return node.nccl; }, level::problem,
       "collectives hang or fail if versions differ: install the same one on all nodes"},
      {"driver", [](const auto& node) { return node.driver; }, level::warning,
       "install the same driver on all nodes"},
      {"GPUs", [](const auto& node) { return std::to_string(node.accelerators); }, level::warning,
       "a GPU may have failed (check nvidia-smi and dmesg), or CUDA_VISIBLE_DEVICES hides it"},
      {"network cards",
       [](const auto& node) {
         std::string text;
         for (const std::string& card : node.cards) text += (text.empty() ? "" : ", ") + card;
         return text;
       },
       level::warning, "a slow or inactive card slows down the whole job"},
  };
  return rows;
}

finding likeness_finding(const likeness& row, const job_view& view, const label_list& labels) {
  std::map<std::string, label_list> values;
  for (std::size_t rank = 0; rank < view.nodes.size(); ++rank) {
    std::string value = row.value(view.nodes[rank]);
    if (value.empty()) value = "none";
    values[value].push_back(labels[rank]);
  }
  if (values.size() == 1) {
    return {level::ok, row.subject, fmt::format("{} on all nodes", values.begin()->first)};
  }
  std::vector<std::pair<std::string, label_list>> groups(values.begin(), values.end());
  // The most common value comes first.
  std::sort(groups.begin(), groups.end(), [](const auto& left, const auto& right) {
    if (left.second.size() != right.second.size()) return left.second.size() > right.second.size();
    return left.first < right.first;
  });
  std::string text;
  for (std::size_t index = 0; index < std::min(groups.size(), most_names); ++index) {
    text += fmt::format("{}{} on {}", index == 0 ? "" : "; ", groups[index].first,
                        list_of(groups[index].second));
  }
  return {row.difference, row.subject, std::move(text), row.advice};
}

// ---- links between nodes ------------------------------------------------------------------------

/// A link as one of its nodes measured it.
struct node_link {
  std::size_t source = 0;
  const link_report* about = nullptr;
};

std::vector<node_link> links_of(const job_view& view) {
  std::vector<node_link> all;
  for (std::size_t source = 0; source < view.links.size(); ++source) {
    for (const link_report& each : view.links[source]) {
      if (static_cast<std::size_t>(each.peer) < view.nodes.size()) all.push_back({source, &each});
    }
  }
  return all;
}

std::string name_of(const node_link& each, const label_list& labels) {
  return fmt::format("{} to {}", labels[each.source],
                     labels[static_cast<std::size_t>(each.about->peer)]);
}

finding reach_finding(const std::vector<node_link>& links, const label_list& labels) {
  label_list failures;
  for (const node_link& each : links) {
    if (!each.about->address.empty()) continue;
    failures.push_back(fmt::format("{} does not reach {} ({})", labels[each.source],
                                   labels[static_cast<std::size_t>(each.about->peer)],
                                   each.about->failure));
  }
  if (failures.empty()) {
    return {level::ok, "reach", "every node reaches every other node"};
  }
  return {level::problem, "reach", list_of(failures),
          "open all ports between the nodes (firewall, security group, NetworkPolicy), or name "
          "another address with --local-addr"};
}

finding interface_finding(const std::vector<node_link>& links, const label_list& labels) {
  std::map<std::string, std::set<std::string>> users;
  for (const node_link& each : links) {
    if (each.about->address.empty()) continue;
    const std::string& name = each.about->interface;
    users[name.empty() ? "unknown" : name].insert(labels[each.source]);
  }
  std::string text;
  for (const auto& [name, nodes] : users) {
    text += fmt::format("{}{} on {}", text.empty() ? "" : "; ", name,
                        list_of(label_list(nodes.begin(), nodes.end()), labels.size()));
  }
  if (users.size() <= 1) return {level::ok, "interface", text.empty() ? "none" : text};
  return {level::warning, "interface", std::move(text),
          "if the nodes share a faster network, choose it: --local-addr, NCCL_SOCKET_IFNAME, "
          "GLOO_SOCKET_IFNAME"};
}

/// The median of measured values, and the worst value with its link.
struct spread {
  std::int64_t median = 0;
  std::int64_t worst = 0;
  std::string where;
};

/// @param is_worse  whether the first of two values is worse
spread spread_of(const std::vector<node_link>& links, const label_list& labels,
                 std::int64_t link_report::*member, bool (*is_worse)(std::int64_t, std::int64_t)) {
  std::vector<std::int64_t> values;
  spread found;
  for (const node_link& each : links) {
    const std::int64_t value = each.about->*member;
    if (each.about->address.empty() || value <= 0) continue;
    if (values.empty() || is_worse(value, found.worst)) {
      found.worst = value;
      found.where = name_of(each, labels);
    }
    values.push_back(value);
  }
  if (values.empty()) return found;
  std::sort(values.begin(), values.end());
  found.median = values[values.size() / 2];
  return found;
}

finding latency_finding(const std::vector<node_link>& links, const label_list& labels) {
  const spread all = spread_of(links, labels, &link_report::latency_ns,
                               [](std::int64_t left, std::int64_t right) { return left > right; });
  if (all.where.empty()) return {level::ok, "latency", "not measured"};
  std::string text = fmt::format("{} round trip, at most {} from {}", time_text(all.median),
                                 time_text(all.worst), all.where);
  constexpr std::int64_t slow = 5'000'000;
  if (all.worst < slow || all.worst < 4 * all.median) {
    return {level::ok, "latency", std::move(text)};
  }
  return {level::warning, "latency", std::move(text),
          "these nodes are far apart, or the path between them is congested"};
}

finding rate_finding(const std::vector<node_link>& links, const label_list& labels) {
  const spread all = spread_of(links, labels, &link_report::bytes_per_second,
                               [](std::int64_t left, std::int64_t right) { return left < right; });
  if (all.where.empty()) return {level::ok, "rate", "not measured"};
  std::string text = fmt::format("{} over one TCP connection, at least {} from {}",
                                 rate_text(all.median), rate_text(all.worst), all.where);
  if (all.worst > all.median / 4) return {level::ok, "rate", std::move(text)};
  return {level::warning, "rate", std::move(text),
          "one slow link slows down the whole job: check the cards, cables and switches of these "
          "nodes, or repeat the check when the network is idle"};
}

finding clock_finding(const job_view& view, const label_list& labels) {
  constexpr std::int64_t much = 1000;
  std::int64_t most = 0;
  label_list wrong;
  const std::vector<link_report> none;
  for (const link_report& each : view.links.empty() ? none : view.links.front()) {
    if (each.address.empty() || static_cast<std::size_t>(each.peer) >= labels.size()) continue;
    most = std::max(most, std::abs(each.clock_ahead_ms));
    if (std::abs(each.clock_ahead_ms) < much) continue;
    wrong.push_back(fmt::format("{} by {:.1f} s", labels[static_cast<std::size_t>(each.peer)],
                                static_cast<double>(each.clock_ahead_ms) / 1e3));
  }
  if (wrong.empty()) {
    return {level::ok, "clocks", fmt::format("within {} ms of each other", most + 1)};
  }
  return {level::warning, "clocks",
          fmt::format("ahead of {}: {}", labels.front(), list_of(wrong)),
          "times in the logs cannot be compared, and certificates may count as expired: run chrony "
          "or systemd-timesyncd"};
}

// ---- hosts --------------------------------------------------------------------------------------

/// Merges equal findings of several nodes into one.
std::vector<finding> host_findings(const job_view& view, const label_list& labels) {
  std::vector<finding> all;
  std::vector<label_list> finders;
  for (std::size_t rank = 0; rank < view.nodes.size(); ++rank) {
    for (const finding& each : view.nodes[rank].findings) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const finding& known) {
        return known.subject == each.subject && known.text == each.text && known.how == each.how;
      });
      const auto index = static_cast<std::size_t>(same - all.begin());
      if (same == all.end()) {
        all.push_back(each);
        finders.emplace_back();
      }
      finders[index].push_back(labels[rank]);
    }
  }
  for (std::size_t index = 0; index < all.size(); ++index) {
    all[index].text =
        fmt::format("{}: {}", list_of(finders[index], labels.size()), all[index].text);
  }
  return all;
}

std::string node_json(const job_view& view, std::size_t rank) {
  std::string findings;
  const node_report& node = view.nodes[rank];
  for (const finding& each : node.findings) {
    findings += (findings.empty() ? "" : ", ") + finding_json(each);
  }
  elastic::detail::json_object object;
  object.add("rank", rank)
      .add("name", node.name)
      .add("elasticrun", node.program)
      .add("kernel", node.kernel)
      .add("torch", node.torch)
      .add("cuda", node.cuda)
      .add("nccl", node.nccl)
      .add("driver", node.driver)
      .add("gpus", node.accelerators)
      .add_json("findings", "[" + findings + "]");
  return object.text();
}

std::string link_json(const node_link& link) {
  elastic::detail::json_object object;
  object.add("from", link.source).add("to", link.about->peer);
  if (link.about->address.empty()) return object.add("failure", link.about->failure).text();
  object.add("address", link.about->address)
      .add("interface", link.about->interface)
      .add("latency_us", static_cast<double>(link.about->latency_ns) / 1e3)
      .add("clock_ahead_ms", link.about->clock_ahead_ms);
  if (link.about->bytes_per_second > 0) {
    object.add("bytes_per_second", link.about->bytes_per_second);
  }
  return object.text();
}

}  // namespace

label_list labels_of(const std::vector<node_report>& nodes) {
  std::map<std::string, int> counts;
  for (const node_report& node : nodes) ++counts[node.name];
  label_list labels;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const std::string& name = nodes[rank].name;
    labels.push_back(counts[name] == 1 ? name : fmt::format("{} (rank {})", name, rank));
  }
  return labels;
}

std::vector<finding> examine(const job_view& view) {
  const label_list labels = labels_of(view.nodes);
  const std::vector<node_link> links = links_of(view);
  std::vector<finding> findings{nodes_finding(view, labels)};
  if (view.nodes.size() > 1) {
    findings.push_back(reach_finding(links, labels));
    findings.push_back(interface_finding(links, labels));
    findings.push_back(latency_finding(links, labels));
    findings.push_back(rate_finding(links, labels));
    findings.push_back(clock_finding(view, labels));
  }
  for (const likeness& row : likenesses()) {
    findings.push_back(likeness_finding(row, view, labels));
  }
  for (finding& each : host_findings(view, labels)) findings.push_back(std::move(each));
  return findings;
}

std::string job_json(const job_view& view, const std::vector<finding>& findings) {
  std::string nodes;
  for (std::size_t rank = 0; rank < view.nodes.size(); ++rank) {
    nodes += (nodes.empty() ? "" : ", ") + node_json(view, rank);
  }
  std::string links;
  for (const node_link& each : links_of(view)) {
    links += (links.empty() ? "" : ", ") + link_json(each);
  }
  elastic::detail::json_object document;
  document.add("expected_nodes", view.expected)
      .add_json("nodes", "[" + nodes + "]")
      .add_json("links", "[" + links + "]");
  add_findings(document, findings);
  return document.text() + '\n';
}

}  // namespace elasticrun
