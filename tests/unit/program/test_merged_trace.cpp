// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/commands/merged_trace.hpp>

#include <support/catch.hpp>
#include <support/traced_run.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

namespace merged_trace_tests {

using elastic::journal_record;
using elastic::detail::journal_contents;
using elastic::test::journal_of;
using elastic::test::spans_of;
using elasticrun::clock_offsets;
using elasticrun::merged_trace;
using json = nlohmann::json;

TEST_CASE("merged trace: clocks are aligned by the rounds that nodes have in common", "[program]") {
  const journal_contents first_journal = journal_of("host0", 0);
  const journal_contents ahead_journal = journal_of("host1", 7'000'000);
  const journal_contents behind_journal = journal_of("host2", -300'000);
  using offsets = std::vector<std::optional<std::int64_t>>;
  CHECK(clock_offsets({first_journal, ahead_journal, behind_journal}) ==
        offsets{0, -7'000'000, 300'000});
  CHECK(clock_offsets({}).empty());
  const json trace = json::parse(merged_trace({first_journal, ahead_journal}));
  const auto spans = spans_of(trace.at("traceEvents"));
  REQUIRE(spans.size() == 26);
  CHECK(spans[13] == "2/0 rendezvous 1000000+6000");
}

TEST_CASE("merged trace: a clock that met no other is left as it is", "[program]") {
  using offsets = std::vector<std::optional<std::int64_t>>;
  journal_contents other_journal = journal_of("host1", 5'000'000);
  for (journal_record& record : other_journal.records) record.event.run_id += record.event.run_id;
  CHECK(clock_offsets({journal_of("host0", 0), other_journal}) == offsets{0, std::nullopt});
  // Another run with the same run id.
  CHECK(clock_offsets({journal_of("host0", 0), journal_of("host1", 7'200'000'000)}) ==
        offsets{0, std::nullopt});
  // Nodes of one round each have nobody to be compared with.
  const journal_contents single_journal = journal_of("host1", 5'000'000, 1);
  CHECK(clock_offsets({journal_of("host0", 0), single_journal}) == offsets{0, std::nullopt});
}

TEST_CASE("merged trace: a clock is aligned by way of others", "[program]") {
  journal_contents first_journal = journal_of("host0", 0);
  journal_contents second_journal = journal_of("host1", 100);
  journal_contents third_journal = journal_of("host2", 1000);
  // Round 1 had the first two, round 2 the last two.
  for (journal_record& record : first_journal.records) {
    if (record.event.round == 2) record.event.round = 20;
  }
  for (journal_record& record : third_journal.records) {
    if (record.event.round == 1) record.event.round = 10;
  }
  using offsets = std::vector<std::optional<std::int64_t>>;
  CHECK(clock_offsets({first_journal, second_journal, third_journal}) == offsets{0, -100, -1000});
}

TEST_CASE("merged trace: hostile numbers of journals make a trace all the same", "[program]") {
  const journal_contents journal = elastic::test::hostile_journal();
  CHECK_NOTHROW(json::parse(merged_trace({journal, journal})));
}

}  // namespace merged_trace_tests
