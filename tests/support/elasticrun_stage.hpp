// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/run_program.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {

/// The environment of one test of elasticrun: a directory for its files, a temporary folder for the
/// program, and a mark on everything that it starts.
struct elasticrun_stage {
  using words = std::vector<std::string>;
  using variables = std::map<std::string, std::string>;

  elasticrun_stage() { std::filesystem::create_directory(temporary()); }

  temporary_directory folder;
  leftovers left;

  std::string temporary() const { return folder / "tmp"; }
  std::string logs() const { return folder / "logs"; }

  variables environment(variables more = {}) const {
    more.emplace(left.name, left.value);
    more.emplace("TMPDIR", temporary());
    return more;
  }

  /// The command line of elasticrun with these words in order.
  static words elasticrun(const std::vector<words>& parts) {
    words command{ELASTIC_ELASTICRUN};
    for (const words& part : parts) command.insert(command.end(), part.begin(), part.end());
    return command;
  }

  /// Runs a command to its end and checks that it leaves nothing.
  program_result run_command(const words& command, variables more = {}) const {
    auto result = run_program(command, environment(std::move(more)));
    CHECK(left.processes().empty());
    return result;
  }

  /// Checks that the temporary folder contains the journal of one failed run and no worker's file;
  /// then empties it.
  void take_journal() const {
    words files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(temporary())) {
      if (entry.is_regular_file()) files.push_back(entry.path().filename());
    }
    std::sort(files.begin(), files.end());
    CHECK(files == words{"journal.jsonl", "report.json"});
    for (const auto& entry : std::filesystem::directory_iterator(temporary())) {
      std::filesystem::remove_all(entry.path());
    }
  }

  /// The directory of the only run in the log directory.
  std::filesystem::path log_root() const {
    words found;
    for (const auto& entry : std::filesystem::directory_iterator(logs())) {
      found.push_back(entry.path());
    }
    REQUIRE(found.size() == 1);
    return found[0];
  }
};

}  // namespace elastic::test
