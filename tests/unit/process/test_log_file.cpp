// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/internals.hpp>
#include <elastic/process/log_file.hpp>

#include <elastic/base/detail/random.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/limits.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace log_file_tests {

namespace fs = std::filesystem;
using elastic::log_file;
using elastic::limits::copy_line_bytes;
using elastic::test::contains_text;

/// A log in a directory of its own.
class log_stage {
 public:
  explicit log_stage(log_file::rotation rotation = {}) {
    std::string name = (fs::temp_directory_path() / "elastic_log_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name;
    log_ = log_file::open(path(), rotation);
  }
  ~log_stage() { fs::remove_all(folder_); }

  void write(std::string_view bytes) { log_->write(bytes, records->log()); }
  std::string path() const { return folder_ / "stdout.log"; }
  const fs::path& folder() const { return folder_; }

  /// The content of the log or of a rotated file; "none" if there is no such file.
  std::string text(int number = 0) const {
    const std::string name = number == 0 ? path() : path() + "." + std::to_string(number);
    std::ifstream file(name);
    if (!file) return "none";
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
  }

  /// The rotated files, the oldest first, and the log itself.
  std::string whole_text(int files) const {
    std::string content;
    for (int number = files; number >= 0; --number) {
      if (text(number) != "none") content += text(number);
    }
    return content;
  }

  std::shared_ptr<elastic::test::log_recorder> records =
      std::make_shared<elastic::test::log_recorder>();

 private:
  fs::path folder_;
  std::shared_ptr<log_file> log_;
};

log_file::rotation rotation_of(std::uint64_t bytes, int files) {
  log_file::rotation rotation;
  rotation.max_size = bytes;
  rotation.max_files = files;
  return rotation;
}

TEST_CASE("log file: without a size it grows", "[process]") {
  log_stage stage;
  for (int i = 0; i < 1000; ++i) stage.write("a line\n");
  CHECK(stage.text().size() == 7000);
  CHECK(stage.text(1) == "none");
}

TEST_CASE("log file: a full one is rotated at the end of a line", "[process]") {
  log_stage stage(rotation_of(10, 3));
  stage.write("aaaa\nbbbb\n");
  CHECK(stage.text() == "aaaa\nbbbb\n");
  stage.write("cccc\n");
  CHECK(stage.text() == "cccc\n");
  CHECK(stage.text(1) == "aaaa\nbbbb\n");
  stage.write("dddddd\neeee\n");
  CHECK(stage.text() == "eeee\n");
  CHECK(stage.text(1) == "dddddd\n");
  CHECK(stage.text(2) == "cccc\n");
  CHECK(stage.text(3) == "none");
  CHECK(stage.records->text().empty());
}

TEST_CASE("log file: one write may fill many files", "[process]") {
  log_stage stage(rotation_of(10, 4));
  stage.write("1111\n2222\n3333\n4444\n5555\n6666\n7777\n");
  CHECK(stage.text() == "7777\n");
  CHECK(stage.text(1) == "5555\n6666\n");
  CHECK(stage.text(2) == "3333\n4444\n");
  CHECK(stage.text(3) == "1111\n2222\n");
}

TEST_CASE("log file: with one file the old one is dropped", "[process]") {
  log_stage stage(rotation_of(10, 1));
  stage.write("aaaa\nbbbb\ncccc\n");
  CHECK(stage.text() == "cccc\n");
  CHECK(stage.text(1) == "none");
}

TEST_CASE("log file: a line under way is finished in its file", "[process]") {
  log_stage stage(rotation_of(10, 3));
  stage.write("aaaa\nbbb");
  stage.write("bbbbbb\ncc");
  CHECK(stage.text(1) == "aaaa\nbbbbbbbbb\n");
  CHECK(stage.text() == "cc");
}

TEST_CASE("log file: a line that is much longer than a file is cut", "[process]") {
  log_stage stage(rotation_of(10, 9));
  const std::string line(3 * copy_line_bytes, 'y');
  stage.write(line);
  stage.write("\nnext\n");
  for (int number = 0; number < 9; ++number) {
    if (stage.text(number) != "none") CHECK(stage.text(number).size() <= copy_line_bytes + 10);
  }
  CHECK(stage.whole_text(9) == line + "\nnext\n");
}

TEST_CASE("log file: however a stream is written, files keep to their size and lose nothing",
          "[process]") {
  elastic::detail::random_source chance(11);
  for (int round = 0; round < 50; ++round) {
    log_stage stage(rotation_of(1 + chance.below(300), 1000));
    std::string content;
    for (int i = 0; i < 100; ++i) content += std::string(chance.below(40), 'x') + "\n";
    for (std::string_view rest = content; !rest.empty();) {
      const std::size_t size = 1 + chance.below(std::min<std::size_t>(rest.size(), 200));
      stage.write(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    REQUIRE(stage.whole_text(1000) == content);
    for (int number = 1; stage.text(number) != "none"; ++number) {
      REQUIRE(stage.text(number).ends_with('\n'));
    }
  }
}

TEST_CASE("log file: one that cannot be rotated keeps growing, and the log says so once",
          "[process]") {
  log_stage stage(rotation_of(10, 3));
  // A directory that is not empty cannot be replaced by a file.
  fs::create_directories(stage.path() + ".1/in the way");
  for (int i = 0; i < 10; ++i) stage.write("aaaaaaa\n");
  CHECK(stage.text().size() == 80);
  CHECK(stage.records->count("cannot be rotated") == 1);
}

/// A log whose file system is full at times.
class full_stage : public log_stage {
 public:
  explicit full_stage(log_file::rotation rotation = {})
      : full_(::open("/dev/full", O_WRONLY | O_CLOEXEC)),
        file_(::open(path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)),
        used_(::dup(file_.get())),
        limited_(elastic::detail::internals::make<log_file>(
            elastic::detail::unique_fd(used_), path(), rotation, false)) {}

  void fill() { ::dup3(full_.get(), used_, O_CLOEXEC); }
  void make_room() { ::dup3(file_.get(), used_, O_CLOEXEC); }
  void write(std::string_view bytes) { limited_->write(bytes, records->log()); }

 private:
  elastic::detail::unique_fd full_;
  elastic::detail::unique_fd file_;
  int used_;
  std::shared_ptr<log_file> limited_;
};

TEST_CASE("log file: what is written to a full disk is lost, and the rest follows", "[process]") {
  full_stage stage;
  stage.write("one\ntw");
  stage.fill();
  stage.write("o\n");
  stage.write("three\n");
  CHECK(stage.records->count("cannot be written, output is lost: No space left on device") == 1);
  CHECK(stage.records->count("can be written again") == 0);
  stage.make_room();
  stage.write("four\n");
  CHECK(stage.text() == "one\ntw\nfour\n");
  CHECK(stage.records->count("can be written again: 8 bytes of output are lost") == 1);
  stage.write("five\n");
  CHECK(stage.text() == "one\ntw\nfour\nfive\n");
  CHECK(stage.records->count("can be written again") == 1);
}

TEST_CASE("log file: a disk that is full again and again is logged a few times", "[process]") {
  full_stage stage;
  for (int i = 0; i < 20; ++i) {
    stage.fill();
    stage.write("lost\n");
    stage.make_room();
    stage.write("kept\n");
  }
  CHECK(stage.text().size() == 20 * 5);
  CHECK(stage.records->count("output is lost") == log_file::most_reports);
  CHECK(stage.records->count("further losses are not logged") == 1);
  CHECK(stage.records->count("can be written again") == log_file::most_reports - 1);
}

TEST_CASE("log file: no file is rotated for output that is lost", "[process]") {
  full_stage stage(rotation_of(10, 3));
  stage.write("aaaa\n");
  stage.fill();
  for (int i = 0; i < 10; ++i) stage.write("bbbb\nbbbb\nbbbb\n");
  stage.make_room();
  CHECK(stage.text() == "aaaa\n");
  CHECK_FALSE(fs::exists(stage.path() + ".1"));
}

TEST_CASE("log file: one that cannot be written is abandoned, which is logged once", "[process]") {
  const auto records = std::make_shared<elastic::test::log_recorder>();
  const auto made = elastic::detail::internals::make<log_file>(
      elastic::detail::unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "read only",
      log_file::rotation(), false);
  log_file& log = *made;
  log.write("one\n", records->log());
  log.write("two\n", records->log());
  CHECK(records->count("'read only' cannot be written, output is lost") == 1);
}

TEST_CASE("log file: one that cannot be opened is named", "[process]") {
  CHECK_THROWS_WITH(log_file::open("/nowhere/x.log"), contains_text("/nowhere/x.log"));
}

}  // namespace log_file_tests
