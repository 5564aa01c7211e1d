// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// PMI-1: the lines of workers, which may write anything, and what they are answered.

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/wire/detail/pmi_request.hpp>
#include <elastic/wire/detail/pmi_session.hpp>
#include <support/catch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace pmi_test {

using detail::parse_pmi_request;
using detail::pmi_session;
using detail::pmi_space;
using stage = pmi_session::stage;

/// What a worker is refused with; empty: it is not.
template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const error& refused) {
    CHECK(refused.code() == errc::protocol_violation);
    return refused.what();
  }
  return {};
}

/// One worker of a job of four.
struct conversation {
  std::shared_ptr<pmi_space> space = std::make_shared<pmi_space>();
  pmi_session session{space, 4};

  std::string ask(const std::string& lines) {
    session.consume(lines);
    return std::exchange(session.output(), {});
  }
  std::string begin() { return ask("cmd=init pmi_version=1 pmi_subversion=1\n"); }
};

TEST_CASE("pmi: a line is a command and words", "[wire]") {
  const auto request = parse_pmi_request("cmd=put kvsname=k  key=a value=b=c ");
  CHECK(request.command == "put");
  CHECK(request.words.size() == 3);
  CHECK(request.word("kvsname") == "k");
  CHECK(request.word("key") == "a");
  CHECK(request.word("value") == "b=c");
  CHECK(parse_pmi_request("cmd=barrier_in").words.empty());
}

TEST_CASE("pmi: any other line is refused", "[wire]") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "an empty line"},
      {"   ", "an empty line"},
      {"put key=a", "not a PMI-1 request: 'put key=a'"},
      {"key=a cmd=put", "not a PMI-1 request: 'key=a cmd=put'"},
      {"cmd= key=a", "not a PMI-1 request: 'cmd= key=a'"},
      {"cmd=put =a", "not a PMI-1 request: 'cmd=put =a'"},
      {"cmd=put key", "not a PMI-1 request: 'cmd=put key'"},
      {"cmd=put key=a key=b", "a line that repeats key: 'cmd=put key=a key=b'"},
      {"cmd=put\tkey=a", "a line with characters other than printable ASCII"},
      {"cmd=put key=\xc3\xa9", "a line with characters other than printable ASCII"},
      {std::string("cmd=put\0key", 11), "a line with characters other than printable ASCII"},
  };
  for (const auto& [line, message] : rows) {
    INFO(line);
    CHECK_THAT(refusal_of([&] { parse_pmi_request(line); }), test::contains_text(message));
  }
}

TEST_CASE("pmi: a number of a line has 32 bits", "[wire]") {
  const auto number = [](const std::string& text) {
    return parse_pmi_request("cmd=abort exitcode=" + text).number("exitcode");
  };
  CHECK(number("0") == 0);
  CHECK(number("2147483647") == 2'147'483'647);
  // MPI_Abort takes any number.
  CHECK(number("-1") == -1);
  for (const char* text : {"", "-", "1x", "x", "+1", "0x1", "2147483648", "9999999999999999999"}) {
    INFO(text);
    CHECK_THAT(refusal_of([&] { number(text); }), test::contains_text("which is not a number"));
  }
  CHECK(refusal_of([] { parse_pmi_request("cmd=abort").number("exitcode"); }) ==
        "'abort' without exitcode");
}

TEST_CASE("pmi: a worker asks for all that MPI_Init asks for", "[wire]") {
  conversation with;
  CHECK(with.session.at() == stage::silent);
  CHECK(with.begin() == "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  CHECK(with.session.at() == stage::talking);
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"cmd=get_maxes", "cmd=maxes kvsname_max=64 keylen_max=64 vallen_max=1024"},
      {"cmd=get_appnum", "cmd=appnum appnum=0"},
      {"cmd=get_universe_size", "cmd=universe_size size=4"},
      {"cmd=get_my_kvsname", "cmd=my_kvsname kvsname=elastic"},
      {"cmd=put kvsname=elastic key=a value=1", "cmd=put_result rc=0 msg=success"},
      {"cmd=put kvsname=elastic key=a value=2", "cmd=put_result rc=-1 msg=refused"},
      {"cmd=put kvsname=other key=b value=1", "cmd=put_result rc=-1 msg=refused"},
      {"cmd=put kvsname=elastic key=a=b value=1", "cmd=put_result rc=-1 msg=refused"},
      {"cmd=put kvsname=elastic key= value=1", "cmd=put_result rc=-1 msg=refused"},
      {"cmd=get kvsname=elastic key=a", "cmd=get_result rc=0 msg=success value=1"},
      {"cmd=get kvsname=elastic key=b", "cmd=get_result rc=-1 msg=unknown_key value=unknown"},
      {"cmd=get kvsname=other key=a", "cmd=get_result rc=-1 msg=unknown_key value=unknown"},
      {"cmd=publish_name service=s port=p", "cmd=publish_result rc=-1 info=not_supported"},
      {"cmd=unpublish_name service=s", "cmd=unpublish_result rc=-1 info=not_supported"},
      {"cmd=lookup_name service=s", "cmd=lookup_result rc=-1 info=not_supported"},
      {"cmd=finalize", "cmd=finalize_ack rc=0"},
  };
  for (const auto& [request, reply] : rows) {
    INFO(request);
    CHECK(with.ask(request + "\n") == reply + "\n");
  }
  CHECK(with.session.at() == stage::finalized);
}

TEST_CASE("pmi: keys and values have the lengths that a worker is told", "[wire]") {
  conversation with;
  with.begin();
  const auto put = [&](std::size_t key, std::size_t value) {
    return with.ask(fmt::format("cmd=put kvsname=elastic key={} value={}\n", std::string(key, 'k'),
                                std::string(value, 'v')));
  };
  CHECK(put(64, 1024) == "cmd=put_result rc=0 msg=success\n");
  CHECK(put(65, 1) == "cmd=put_result rc=-1 msg=refused\n");
  CHECK(put(1, 1025) == "cmd=put_result rc=-1 msg=refused\n");
}

TEST_CASE("pmi: replies do not depend on the pieces in which requests arrive", "[wire]") {
  const std::string requests =
      "cmd=init pmi_version=1 pmi_subversion=1\ncmd=get_appnum\n"
      "cmd=put kvsname=elastic key=a value=1\ncmd=get kvsname=elastic key=a\ncmd=finalize\n";
  conversation whole;
  const std::string replies = whole.ask(requests);
  for (std::size_t size = 1; size < 8; ++size) {
    conversation pieces;
    std::string heard;
    for (std::size_t at = 0; at < requests.size(); at += size) {
      heard += pieces.ask(requests.substr(at, size));
    }
    CHECK(heard == replies);
  }
}

TEST_CASE("pmi: a worker in a barrier is answered when it is over", "[wire]") {
  conversation with;
  with.begin();
  CHECK(with.ask("cmd=barrier_in\n") == "");
  CHECK(with.session.at() == stage::in_barrier);
  CHECK(with.ask("cmd=get_appnum\n") == "");
  with.session.leave_barrier();
  CHECK(with.session.at() == stage::talking);
  CHECK(with.ask("") == "cmd=barrier_out rc=0\ncmd=appnum appnum=0\n");
}

TEST_CASE("pmi: further processes are refused once all of their programs are named", "[wire]") {
  conversation with;
  with.begin();
  const std::string first = "mcmd=spawn\nnprocs=2\nexecname=/bin/a b\ntotspawns=2\nspawnssofar=1\n";
  const std::string second =
      "mcmd=spawn\nnprocs=1\nargcnt=1\narg1=\xff\ntotspawns=2\nspawnssofar=2\n";
  CHECK(with.ask(first + "endcmd\n") == "");
  CHECK(with.ask(second + "endcmd\n") == "cmd=spawn_result rc=-1 status=not_supported\n");
  CHECK(with.session.take_complaint() ==
        "asked for more processes (MPI_Comm_spawn), which elasticrun does not start");
  CHECK_FALSE(with.session.take_complaint());
  CHECK(with.ask("cmd=get_appnum\n") == "cmd=appnum appnum=0\n");
}

TEST_CASE("pmi: a worker that aborts is not answered", "[wire]") {
  conversation with;
  with.begin();
  CHECK(with.ask("cmd=abort exitcode=-1\n") == "");
  CHECK(with.session.at() == stage::aborted);
  CHECK(with.session.take_complaint() == "aborts the MPI program with exit code -1");
}

TEST_CASE("pmi: a worker that breaks the protocol is refused", "[wire]") {
  const std::string init = "cmd=init pmi_version=1 pmi_subversion=1\n";
  std::string endless = init + "mcmd=spawn\n";
  for (int line = 0; line <= limits::pmi_spawn_lines; ++line) endless += "a\n";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"cmd=get_maxes\n", "'get_maxes' before init"},
      {"cmd=init pmi_version=2 pmi_subversion=0\n", "PMI 2; only PMI 1 is supported"},
      {"cmd=init\n", "'init' without pmi_version"},
      {init + init, "a second init"},
      {init + "cmd=fly\n", "unknown request 'fly'"},
      {init + "cmd=put key=a value=b\n", "'put' without kvsname"},
      {init + "cmd=get kvsname=elastic\n", "'get' without key"},
      {init + "cmd=finalize\ncmd=get_maxes\n", "a request after the last one"},
      {init + "GET / HTTP/1.1\n", "not a PMI-1 request: 'GET / HTTP/1.1'"},
      {init + std::string(limits::pmi_line_bytes + 1, 'a'), "a line of more than 4096 bytes"},
      {init + "cmd=barrier_in\n" + std::string(limits::pmi_line_bytes + 1, 'a'),
       "requests in the middle of a barrier"},
      {init + "mcmd=spawn\ntotspawns=x\n", "'spawn' with totspawns=='x', which is not a number"},
      {endless, "a request to start processes that does not end"},
  };
  for (const auto& [lines, message] : rows) {
    INFO(lines.substr(0, 200));
    conversation with;
    CHECK_THAT(refusal_of([&] { with.session.consume(lines); }), test::contains_text(message));
  }
}

TEST_CASE("pmi: what workers of other nodes put is learned from their news", "[wire]") {
  pmi_space here;
  pmi_space there;
  CHECK(here.put("a", "1"));
  CHECK(here.put("b", "x=y"));
  const std::string news = here.take_news();
  CHECK(news == "a=1\nb=x=y\n");
  CHECK(here.take_news().empty());
  there.add_news(news);
  CHECK(there.get("a") == "1");
  CHECK(there.get("b") == "x=y");
  CHECK(there.take_news().empty());
  CHECK_FALSE(there.put("a", "2"));
  here.add_news(news);
  CHECK(here.get("a") == "1");
}

TEST_CASE("pmi: news that no node writes are refused", "[wire]") {
  const std::vector<std::string> rows = {
      "a", "a=1", "=1\n", "\n", "a\n", "a=1\nb\n", std::string(65, 'k') + "=1\n",
      "k=" + std::string(1025, 'v') + "\n"};
  for (const std::string& text : rows) {
    INFO(text);
    pmi_space space;
    CHECK_THAT(refusal_of([&] { space.add_news(text); }),
               test::contains_text("a node sent a malformed PMI key"));
  }
  pmi_space space;
  CHECK(refusal_of([&] { space.add_news(std::string(limits::pmi_puts_bytes + 1, 'a')); }) ==
        "a node sent too many bytes of PMI keys");
}

TEST_CASE("pmi: workers cannot put more between two barriers than a node can tell", "[wire]") {
  pmi_space space;
  const std::string value(limits::pmi_value_bytes, 'v');
  int taken = 0;
  while (space.put(fmt::format("{}", taken), value)) ++taken;
  CHECK(space.take_news().size() <= limits::pmi_puts_bytes);
  CHECK(space.put("more", value));
}

}  // namespace pmi_test

}  // namespace
}  // namespace elastic
