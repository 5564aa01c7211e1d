// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/preflight.hpp>

#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/error.hpp>
#include <elastic/net/detail/local_interface.hpp>
#include <elastic/process/detail/guard_image.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/wire/wire_terms.hpp>
#include <support/catch.hpp>
#include <support/raw_client.hpp>
#include <support/skip.hpp>
#include <support/stalling_mount.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace preflight_test {

namespace fs = std::filesystem;

/// A directory of its own, removed at the end.
class temporary_directory {
 public:
  temporary_directory() {
    std::string name = (fs::temp_directory_path() / "preflight_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~temporary_directory() {
    std::error_code failure;
    fs::permissions(path_, fs::perms::owner_all, failure);
    fs::remove_all(path_, failure);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  std::string file(const std::string& name, fs::perms mode = fs::perms::owner_read) const {
    std::ofstream(path_ / name) << "#!/bin/sh\n";
    fs::permissions(path_ / name, mode);
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

/// The exit code, and that the sentence names `part`; 0 if all is well.
int code_of(const elastic::program_config& config, const std::string& part = {}) {
  const auto exit = elasticrun::check_files(config);
  if (!exit) return 0;
  CHECK(exit->to_stderr);
  CHECK(exit->text.starts_with("elasticrun: error: "));
  CHECK_THAT(exit->text, elastic::test::contains_text(part));
  return exit->code;
}

const bool is_root = ::geteuid() == 0;

}  // namespace preflight_test

namespace pt = preflight_test;

TEST_CASE("preflight: the script must be a file, or a directory that Python can run", "[program]") {
  pt::temporary_directory folder;
  elastic::program_config config;
  config.script = folder.file("train.py");
  CHECK(pt::code_of(config) == 0);
  config.script = folder / "none.py";
  CHECK(pt::code_of(config, "none.py' does not exist") == 2);
  config.script = folder.path();
  CHECK(pt::code_of(config, "is a directory without a __main__.py") == 2);
  folder.file("__main__.py");
  CHECK(pt::code_of(config) == 0);
  config.script = "/dev/null";
  CHECK(pt::code_of(config, "is not a file") == 2);
  config.script = folder / "train.py/below";
  CHECK(pt::code_of(config, "below") == 2);
}

TEST_CASE("preflight: a script that cannot be read is refused", "[program][not-root]") {
  if (pt::is_root) return elastic::test::skip("root reads everything");
  pt::temporary_directory folder;
  elastic::program_config config;
  config.script = folder.file("train.py", pt::fs::perms::none);
  CHECK(pt::code_of(config, "cannot be read") == 2);
}

TEST_CASE("preflight: the log directory must be one, or become one", "[program]") {
  pt::temporary_directory folder;
  elastic::program_config config;
  for (const std::string& directory : {std::string(), std::string("/dev/null"), folder.path(),
                                       folder / "new", folder / "new/below", std::string(".")}) {
    INFO(directory);
    config.job.workers.log_dir = directory;
    CHECK(pt::code_of(config) == 0);
  }
  CHECK_FALSE(pt::fs::exists(folder / "new"));
  folder.file("file");
  config.job.workers.log_dir = folder / "file";
  CHECK(pt::code_of(config, "Not a directory") == 2);
  config.job.workers.log_dir = folder / "file/below";
  CHECK(pt::code_of(config, "Not a directory") == 2);
  // Immutable: not even root makes a directory there.
  config.job.workers.log_dir = "/proc/self/logs";
  CHECK(pt::code_of(config, "'/proc/self/logs' is not writable") == 2);
}

TEST_CASE("preflight: --local-addr is an address, a network, an interface or a host",
          "[program]") {
  elastic::detail::local_interface lo;
  lo.name = "lo";
  elastic::detail::local_interface eth0;
  eth0.name = "eth0";
  const std::vector<elastic::detail::local_interface> interfaces{lo, eth0};
  struct row {
    std::string text;
    bool is_looked_up;
    bool is_known;
    std::string error = {};
  };
  const row rows[] = {
      {"", false, false},
      {"10.0.0.1", false, false},
      {"fd00::1", false, false},
      {"10.0.0.0/8", false, false},
      {"0.0.0.0", false, false,
       "--local-addr '0.0.0.0': it means every address of a host; name the one at which other "
       "nodes reach this host"},
      {"eth0", false, false},
      {"node1", true, true},
      {"eth99", true, false,
       "--local-addr 'eth99': it is not an address, a network, or an interface of this host (which "
       "has lo, eth0), and no host has this name"},
  };
  for (const row& each : rows) {
    CAPTURE(each.text);
    bool was_looked_up = false;
    std::string error;
    try {
      elasticrun::check_local_address(each.text, interfaces, [&](const std::string& name) {
        was_looked_up = true;
        CHECK(name == each.text);
        return each.is_known;
      });
    } catch (const elastic::error& refusal) {
      error = refusal.what();
    }
    CHECK(was_looked_up == each.is_looked_up);
    CHECK(error == each.error);
  }
}

TEST_CASE("preflight: --local-addr is checked if nodes meet there", "[program]") {
  elastic::program_config config;
  elastic::rendezvous_parameters& meeting = config.job.rendezvous;
  // No resolver asks a server about a label of more than 63 letters.
  meeting.local_addr = std::string(64, 'a');
  meeting.backend = "c10d";
  meeting.max_nodes = 2;
  CHECK(pt::code_of(config, "--local-addr 'aaa") == 2);
  meeting.backend = "static";
  CHECK(pt::code_of(config) == 0);
  config.wire.kinds = {elastic::wire_up::tf};
  CHECK(pt::code_of(config, "--local-addr 'aaa") == 2);
  meeting.backend = "c10d";
  config.job.standalone = true;
  CHECK(pt::code_of(config) == 0);
  config.job.standalone = false;
  meeting.max_nodes = 1;
  CHECK(pt::code_of(config, "--local-addr 'aaa") == 2);
  meeting.backend = "static";
  CHECK(pt::code_of(config) == 0);
}

TEST_CASE("preflight: the file that ELASTIC_GUARD names must be a guard, if workers get one",
          "[program]") {
  pt::temporary_directory folder;
  elastic::program_config config;
  const auto check = [&](const std::string& file, const std::string& problem) {
    INFO(file);
    config.job.guard_file = file;
    for (const auto policy :
         {elastic::guard_policy::required, elastic::guard_policy::best_effort}) {
      config.job.guard = policy;
      const int code = pt::code_of(config, "ELASTIC_GUARD '" + file + "': " + problem);
      CHECK(code == (problem.empty() ? 0 : 2));
    }
    config.job.guard = elastic::guard_policy::none;
    CHECK(pt::code_of(config) == 0);
  };
  check("", "");
  check(folder / "missing", "No such file or directory; it has to name an executable "
                            "elastic-guard of version ");
  check(folder.file("plain"), "Permission denied; it has to name");
  check(folder.path(), "no guard is available: " + folder.path() + ": Permission denied; it has");
  check("/bin/true", "no guard is available: the guard (/bin/true) ended unexpectedly: it is of "
                     "another version");
  const std::string guard = folder / "guard";
  std::ofstream(guard).write(reinterpret_cast<const char*>(elastic::detail::guard_image),
                             sizeof elastic::detail::guard_image);
  pt::fs::permissions(guard, pt::fs::perms::owner_all);
  check(guard, "");
  // Each role of a job file has its own setting.
  config.job_file = "job.toml";
  config.job.guard = elastic::guard_policy::required;
  config.job.guard_file = folder / "missing";
  CHECK(pt::code_of(config) == 0);
}

TEST_CASE("preflight: the journal must be a file that can be appended to, or made", "[program]") {
  pt::temporary_directory folder;
  elastic::program_config config;
  folder.file("file");
  for (const std::string& file :
       {std::string(), std::string("/dev/null"), folder / "file", folder / "new"}) {
    INFO(file);
    config.job.workers.journal = file;
    CHECK(pt::code_of(config) == 0);
  }
  CHECK_FALSE(pt::fs::exists(folder / "new"));
  config.job.workers.journal = folder.path();
  CHECK(pt::code_of(config, "cannot be written: Is a directory") == 2);
  config.job.workers.journal = folder / "missing/journal";
  CHECK(pt::code_of(config, "cannot be written: No such file or directory") == 2);
  config.job.workers.journal = folder / "file/journal";
  CHECK(pt::code_of(config, "cannot be written: Not a directory") == 2);
}

TEST_CASE("preflight: a file system that may not answer is not asked", "[program]") {
  const std::string reason = elastic::test::stalling_mount::missing();
  if (!reason.empty()) return elastic::test::skip(reason);
  const elastic::test::stalling_mount mount;
  elastic::program_config config;
  config.job.workers.journal = mount.path() + "/missing/journal";
  config.program.trace = mount.path() + "/missing/trace";
  // Mounts are looked at again after a second.
  while (!elastic::detail::may_hang(config.program.trace)) std::this_thread::yield();
  CHECK(pt::code_of(config) == 0);
  config.job.workers.log_dir = mount.path() + "/logs";
  CHECK(pt::code_of(config) == 0);
  std::ofstream(mount.behind() + "/file") << "mine";
  config.job.workers.log_dir = mount.path() + "/file";
  // It has a second to answer, which a busy machine may not give it.
  CHECK(elastic::test::comes_true([&] { return pt::code_of(config, "Not a directory") == 2; }));
  mount.stall();
  config.job.workers.log_dir = mount.path() + "/not/seen/yet";
  CHECK(pt::code_of(config) == 0);
}

TEST_CASE("preflight: a log directory without permission is refused", "[program][not-root]") {
  if (pt::is_root) return elastic::test::skip("root writes everywhere");
  pt::temporary_directory folder;
  pt::fs::permissions(folder.path(), pt::fs::perms::owner_read | pt::fs::perms::owner_exec);
  elastic::program_config config;
  config.job.workers.log_dir = folder.path();
  CHECK(pt::code_of(config, "Permission denied") == 2);
  config.job.workers.log_dir = folder / "below";
  CHECK(pt::code_of(config, "Permission denied") == 2);
}

}  // namespace
