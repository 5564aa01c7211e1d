// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/contract/error_file.hpp>
#include <support/catch.hpp>
#include <support/skip.hpp>

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

// A directory for this test only; the destructor removes it with its content.
class error_file_folder {
 public:
  error_file_folder() {
    std::string pattern = "/tmp/elastic_error_file_XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~error_file_folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name = "error.json") const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string error_file_text_at(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

nlohmann::json error_file_vectors() {
  std::ifstream in(ELASTIC_SOURCE_DIR "/tests/vectors/events_and_reports_113.json");
  REQUIRE(in);
  return nlohmann::json::parse(in)["data"];
}

TEST_CASE("error file: what PyTorch's @record wrote is understood", "[contract]") {
  const auto event =
      nlohmann::json::parse(error_file_vectors()["worker_raise"][1].get<std::string>());
  const std::string text = event["metadata"]["raw_error"];
  const auto content = elastic::parse_error_file(text);
  CHECK_FALSE(content.unparsable);
  CHECK(content.message == "ValueError: boom on rank 1");
  REQUIRE(content.callstack);
  CHECK(content.callstack->starts_with("Traceback (most recent call last):\n"));
  CHECK(content.callstack->ends_with("ValueError: boom on rank 1\n"));
  CHECK(content.timestamp == 1795170764);
  CHECK(content.raw_json == text);
  CHECK_FALSE(content.written);
}

TEST_CASE("error file: the launcher's own gets the exit code as torchrun writes it", "[contract]") {
  const auto vectors = error_file_vectors();
  const auto event = nlohmann::json::parse(vectors["worker_raise"][1].get<std::string>());
  const auto content = elastic::parse_error_file(event["metadata"]["raw_error"].get<std::string>());
  CHECK(elastic::launcher_error_file_text(content, 1) ==
        vectors["launcher_error_file_raise"].get<std::string>());
  CHECK(elastic::launcher_error_file_text(content, 0) == content.raw_json);
  const auto plain_content = elastic::parse_error_file(R"({"message": "plain"})");
  CHECK(elastic::launcher_error_file_text(plain_content, -9) == R"({"message": "plain"})");
}

TEST_CASE("error file: both forms of message, complete or not", "[contract]") {
  struct row {
    const char* text;
    const char* message;
    const char* callstack;
    std::int64_t timestamp;
  };
  const std::vector<row> rows = {
      {R"({"message": "plain"})", "plain", nullptr, 0},
      {R"({"message": "plain", "timestamp": 17})", "plain", nullptr, 17},
      {R"({"message": "plain", "timestamp": "17"})", "plain", nullptr, 17},
      {R"({"message": "plain", "timestamp": 17.9})", "plain", nullptr, 17},
      {R"({"message": "plain", "timestamp": -17})", "plain", nullptr, 0},
      {R"({"message": "plain", "timestamp": 1e300})", "plain", nullptr, 0},
      {R"({"message": "plain", "timestamp": "99999999999999999999"})", "plain", nullptr, 0},
      {R"({"message": "plain", "timestamp": "12x"})", "plain", nullptr, 0},
      {R"({"message": "plain", "timestamp": [1]})", "plain", nullptr, 0},
      {R"({"message": {"message": "inner"}})", "inner", nullptr, 0},
      {R"({"message": {}})", "<N/A>", nullptr, 0},
      {R"({"message": {"message": ["a", 1]}})", R"(["a", 1])", nullptr, 0},
      {R"({"message": {"message": "m", "extraInfo": 3}})", "m", nullptr, 0},
      {R"({"message": {"message": "m", "extraInfo": {"timestamp": 5}}})", "m", nullptr, 5},
      {R"({"message": {"message": "m", "extraInfo": {"py_callstack": "a\nb"}}})", "m", "a\nb", 0},
      {R"({"message": {"message": "\u00e9\ud83d\ude00"}})", "\xc3\xa9\xf0\x9f\x98\x80", nullptr, 0},
  };
  for (const row& expected : rows) {
    INFO(expected.text);
    const auto content = elastic::parse_error_file(expected.text);
    CHECK_FALSE(content.unparsable);
    CHECK(content.message == expected.message);
    CHECK(content.callstack.has_value() == (expected.callstack != nullptr));
    if (expected.callstack) CHECK(content.callstack.value_or("") == expected.callstack);
    CHECK(content.timestamp == expected.timestamp);
    CHECK(content.raw_json == expected.text);
  }
}

TEST_CASE("error file: what cannot be understood says why and is still JSON", "[contract]") {
  const std::string many_members = [] {
    std::string text = "{\"message\": \"m\"";
    for (int number = 0; number < 5000; ++number) text += ", \"" + std::to_string(number) + "\": 1";
    return text + "}";
  }();
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "unexpected end of input"},
      {"{\"message\": \"cut", "missing closing quote"},
      {"not json", "invalid literal"},
      {"\xff\xfe", "invalid literal"},
      {"{\"message\": \"\xff\"}", "ill-formed UTF-8"},
      {"[]", "not a JSON object"},
      {"3", "not a JSON object"},
      {"{}", "has no \"message\""},
      {"{\"message\": 3}", "neither a text nor an object"},
      {"{\"message\": null}", "neither a text nor an object"},
      {std::string(1'000'000, '['), "nested more than 64 levels"},
      {"{\"message\": \"m\", \"x\": " + std::string(70, '[') + std::string(70, ']') + "}",
       "nested more than 64 levels"},
      {many_members, "more than 4096 members"},
      {std::string(5 * 1024 * 1024, ' '), "larger than 4194304 bytes"},
  };
  for (const auto& [text, reason] : rows) {
    INFO(text.substr(0, 80));
    const auto content = elastic::parse_error_file(text);
    REQUIRE(content.unparsable);
    CHECK_THAT(*content.unparsable, elastic::test::contains_text(reason));
    CHECK(content.unparsable->size() <= 300);
    CHECK(content.message == "the error file cannot be understood: " + *content.unparsable);
    CHECK(content.timestamp == 0);
    CHECK(nlohmann::json::parse(content.raw_json).contains("message"));
    CHECK(elastic::launcher_error_file_text(content, 1) == content.raw_json);
  }
}

TEST_CASE("error file: brackets within texts do not count as nesting", "[contract]") {
  const std::string text = R"({"message": "\"[[[[\\"})";
  CHECK_FALSE(elastic::parse_error_file(text).unparsable);
  const std::string stack(1000, '{');
  const std::string text_with_stack = elastic::error_file_text("m", stack, 1);
  CHECK(elastic::parse_error_file(text_with_stack).callstack == stack);
}

TEST_CASE("error file: no mutation of a good file breaks the reader", "[contract]") {
  std::mt19937 random(20261120);
  const std::string good_text = elastic::error_file_text("E: x", "a\n\"b\"\\", 1795170764);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good_text;
    for (unsigned change = 0; change <= random() % 3; ++change) {
      const std::size_t position = random() % text.size();
      switch (random() % 3) {
        case 0: text[position] = static_cast<char>(random()); break;
        case 1: text.erase(position, 1 + random() % 4); break;
        default: text.insert(position, 1, "{}[],:\"\\0e"[random() % 10]); break;
      }
      if (text.empty()) break;
    }
    const auto content = elastic::parse_error_file(text);
    INFO(text);
    REQUIRE(content.unparsable.has_value() ==
            content.message.starts_with("the error file cannot be understood"));
    REQUIRE_NOTHROW(elastic::launcher_error_file_text(content, 1));
  }
}

TEST_CASE("error file: written is what is read back", "[contract]") {
  const error_file_folder folder;
  CHECK_FALSE(elastic::read_error_file(folder.file()));
  CHECK_FALSE(elastic::read_error_file(""));
  CHECK_FALSE(elastic::read_error_file(folder.file() + "/below"));
  const std::string text =
      elastic::error_file_text("std::runtime_error: \"x\"\t\xc3\xa9", "line 1\nline 2", 99);
  elastic::write_error_file(folder.file(), text);
  CHECK(error_file_text_at(folder.file()) == text);
  const auto content = elastic::read_error_file(folder.file());
  REQUIRE(content);
  CHECK(content->message == "std::runtime_error: \"x\"\t\xc3\xa9");
  CHECK(content->callstack == "line 1\nline 2");
  CHECK(content->timestamp == 99);
  REQUIRE(content->written);
  struct stat file_status{};
  REQUIRE(::stat(folder.file().c_str(), &file_status) == 0);
  CHECK(std::chrono::floor<std::chrono::seconds>(*content->written).time_since_epoch().count() ==
        file_status.st_mtim.tv_sec);

  elastic::write_error_file(folder.file(), elastic::error_file_text("again", "", 100));
  const auto second_content = elastic::read_error_file(folder.file());
  REQUIRE(second_content);
  CHECK(second_content->message == "again");
  CHECK_FALSE(second_content->callstack);
}

TEST_CASE("error file: texts that are not UTF-8 are written as good JSON", "[contract]") {
  const auto content = elastic::parse_error_file(elastic::error_file_text("a\xff z", "\x01", 1));
  CHECK_FALSE(content.unparsable);
  CHECK(content.message == "a\xef\xbf\xbd z");
  CHECK(content.callstack == "\x01");
}

TEST_CASE("error file: what is not a file does not hold up the reader", "[contract]") {
  const error_file_folder folder;
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  const auto pipe = elastic::read_error_file(folder.file("pipe"));
  REQUIRE(pipe);
  CHECK(pipe->unparsable == "not a regular file");
  const auto directory = elastic::read_error_file(folder.path());
  REQUIRE(directory);
  CHECK(directory->unparsable == "not a regular file");
}

TEST_CASE("error file: one that is too large is not read to its end", "[contract]") {
  const error_file_folder folder;
  std::ofstream(folder.file()) << '{';
  REQUIRE(::truncate(folder.file().c_str(), 1'000'000'000) == 0);  // a hole, no bytes on the disk
  const auto content = elastic::read_error_file(folder.file());
  REQUIRE(content);
  CHECK(content->unparsable == "larger than 4194304 bytes");
}

TEST_CASE("error file: one that cannot be written is an error that names it", "[contract]") {
  const error_file_folder folder;
  const std::string path = folder.path() + "/missing/error.json";
  REQUIRE_THROWS_WITH(elastic::write_error_file(path, "{}"),
                      "cannot write error file " + path + ": No such file or directory");
  // What is no file stays as it is, such as /dev/null.
  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE_THROWS_WITH(elastic::write_error_file(pipe, "{}"),
                      "cannot write error file " + pipe +
                          ": something that is not a regular file is there");
  struct stat about{};
  REQUIRE(::stat(pipe.c_str(), &about) == 0);
  CHECK(S_ISFIFO(about.st_mode));
  REQUIRE_THROWS_AS(elastic::write_error_file(folder.path(), "{}"), elastic::error);
  CHECK(::access((folder.path() + "." + std::to_string(::getpid()) + ".tmp").c_str(), F_OK) != 0);
}

/// A file that was mounted elsewhere, as Kubernetes mounts /dev/termination-log.
struct mounted_file {
  explicit mounted_file(const error_file_folder& folder)
      : source(folder.path() + "/source"), target(folder.path() + "/target") {
    std::ofstream(source) << "a former text that is longer";
    std::ofstream{target};
    is_there = ::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) == 0;
  }
  mounted_file(const mounted_file&) = delete;
  mounted_file& operator=(const mounted_file&) = delete;
  ~mounted_file() {
    if (is_there) ::umount2(target.c_str(), MNT_DETACH);
  }

  std::string source;
  std::string target;
  bool is_there = false;
};

TEST_CASE("error file: one that is a mount is overwritten in place", "[contract]") {
  const error_file_folder folder;
  const mounted_file mount(folder);
  if (!mount.is_there) return elastic::test::skip("it takes the right to mount a file");
  elastic::write_error_file(mount.target, "{}");
  CHECK(error_file_text_at(mount.source) == "{}");
  CHECK(::access((mount.target + "." + std::to_string(::getpid()) + ".tmp").c_str(), F_OK) != 0);
}

TEST_CASE("error file: a mount of another user, and one with another name, stays as it is",
          "[contract]") {
  const error_file_folder folder;
  const mounted_file mount(folder);
  if (!mount.is_there) return elastic::test::skip("it takes the right to mount a file");
  const std::string other_name = folder.path() + "/other name";
  REQUIRE(::link(mount.source.c_str(), other_name.c_str()) == 0);
  CHECK_THROWS_AS(elastic::write_error_file(mount.target, "{}"), elastic::error);
  REQUIRE(::unlink(other_name.c_str()) == 0);
  constexpr uid_t nobody = 65534;
  REQUIRE(::chown(mount.source.c_str(), nobody, nobody) == 0);
  CHECK_THROWS_AS(elastic::write_error_file(mount.target, "{}"), elastic::error);
  CHECK(error_file_text_at(mount.source) == "a former text that is longer");
}

TEST_CASE("error file: a link is replaced, and not followed", "[contract]") {
  const error_file_folder folder;
  const std::string target = folder.path() + "/target";
  std::ofstream(target) << "of someone else";
  REQUIRE(::symlink(target.c_str(), folder.file().c_str()) == 0);
  // The same for the draft.
  const std::string draft = folder.file() + "." + std::to_string(::getpid()) + ".tmp";
  REQUIRE(::symlink(target.c_str(), draft.c_str()) == 0);
  elastic::write_error_file(folder.file(), "{}");
  CHECK(error_file_text_at(target) == "of someone else");
  struct stat about{};
  REQUIRE(::lstat(folder.file().c_str(), &about) == 0);
  CHECK(S_ISREG(about.st_mode));
}

TEST_CASE("error file: a shortened one keeps the message, the last calls and the exit code",
          "[contract]") {
  std::string stack;
  for (int call = 0; call < 2000; ++call) stack += "call " + std::to_string(call) + " \xc3\xa9\n";
  const std::string text = elastic::launcher_error_file_text(
      elastic::parse_error_file(elastic::error_file_text("ValueError: x", stack, 99)), 3);
  const std::string shorter = elastic::detail::shortened_error(text, 4096);
  CHECK(shorter.size() <= 4096);
  CHECK(shorter.size() > 4000);
  const auto content = elastic::parse_error_file(shorter);
  CHECK(content.message == "ValueError: x");
  CHECK(content.timestamp == 99);
  REQUIRE(content.callstack);
  CHECK(content.callstack->ends_with("call 1999 \xc3\xa9\n"));
  CHECK(shorter.find("\"errorCode\": 3") != std::string::npos);
  // A message alone may be too long, too, in any form.
  const std::string long_text = "{\"message\": \"" + std::string(100'000, '"' + 1) + "\"}";
  CHECK(elastic::detail::shortened_error(long_text, 4096).size() <= 4096);
  const std::string controls = elastic::error_file_text(std::string(9000, '\x01'), "", 1);
  CHECK(elastic::detail::shortened_error(controls, 4096).size() <= 4096);
  CHECK(elastic::detail::shortened_error("{}", 4096) == "{}");
}

}  // namespace
