// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace elastic::test {

/// A FUSE file system whose daemon can be stopped: then it does not answer, like NFS without its
/// server. It is not in the temporary folder of the tested program.
class stalling_mount {
 public:
  /// Why it is not possible on this machine; empty if it is.
  static std::string missing() {
    if (::geteuid() != 0) return "it takes root";
    if (::access("/dev/fuse", R_OK | W_OK) != 0) return "there is no /dev/fuse";
    if (::access("/usr/bin/bindfs", X_OK) != 0) return "there is no bindfs";
    return "";
  }

  stalling_mount() {
    std::filesystem::create_directory(folder_ / "behind");
    std::filesystem::create_directory(path());
    daemon_ = std::make_unique<running_program>(
        std::vector<std::string>{"bindfs", "-f", folder_ / "behind", path()});
    struct stat above{};
    struct stat mounted{};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    do {
      if (std::chrono::steady_clock::now() > deadline) FAIL("bindfs mounts nothing");
      std::this_thread::yield();
      ::stat(folder_.path().c_str(), &above);
      ::stat(path().c_str(), &mounted);
    } while (above.st_dev == mounted.st_dev);
  }

  ~stalling_mount() {
    daemon_->signal(SIGCONT);
    ::umount2(path().c_str(), MNT_DETACH);
  }

  /// The mount point, and the folder with the real files.
  std::string path() const { return folder_ / "mount"; }
  std::string behind() const { return folder_ / "behind"; }

  void stall() const { daemon_->stop(); }
  void go_on() const { daemon_->signal(SIGCONT); }

 private:
  temporary_directory folder_;
  std::unique_ptr<running_program> daemon_;
};

}  // namespace elastic::test
