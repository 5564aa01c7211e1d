// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/base64.hpp>
#include <elastic/base/error.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>

#include <support/catch.hpp>
#include <support/golden_vectors.hpp>
#include <support/sanitized.hpp>
#include <support/torch_states.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace torch_state_tests {

using namespace std::chrono_literals;
using namespace std::string_literals;
using elastic::errc;
using elastic::detail::node_id;
using elastic::detail::decode_torch_state;
using elastic::detail::encode_torch_state;
using elastic::detail::torch_dialect;
using elastic::detail::torch_state;
using elastic::detail::torch_time;
using elastic::test::contains_text;
using elastic::test::state_of;
using elastic::test::time_of;

constexpr torch_dialect dialects[] = {torch_dialect::torch_1_13, torch_dialect::torch_2_0,
                                      torch_dialect::torch_2_6};

// ---- states of PyTorch, from tests/vectors -----------------------------------------------------

struct state_vector {
  std::string name;
  std::string pickle;
  std::string base64;
  torch_state state;
};

std::vector<state_vector> vectors_of(const std::string& file) {
  std::vector<state_vector> vectors;
  for (const auto& each : elastic::test::load_vectors(file)) {
    state_vector vector;
    vector.name = each.at("name");
    vector.pickle = elastic::test::from_hex(each.at("hex").get<std::string>());
    vector.base64 = each.at("base64");
    vector.state = state_of(each.at("decoded"));
    const bool has_nodes = !vector.state.participants.empty() || !vector.state.wait_list.empty();
    const std::string dialect = each.value("dialect", "1.13");
    if (dialect == "2.6+")
      vector.state.seen_dialect = torch_dialect::torch_2_6;
    else if (has_nodes && dialect == "1.13")
      vector.state.seen_dialect = torch_dialect::torch_1_13;
    else if (has_nodes)
      vector.state.seen_dialect = torch_dialect::torch_2_0;
    vectors.push_back(vector);
  }
  return vectors;
}

const std::vector<state_vector>& all_vectors() {
  static const std::vector<state_vector> vectors = [] {
    auto states = vectors_of("rendezvous_pickles.json");
    for (auto& each : vectors_of("rendezvous_pickles_2x_derived.json")) states.push_back(each);
    for (auto& each : vectors_of("rendezvous_pickles_213.json")) states.push_back(each);
    return states;
  }();
  return vectors;
}

// A state with something in each field.
torch_state full_state(torch_dialect dialect) {
  torch_state state;
  state.round = 70'000;
  state.complete = true;
  state.closed = true;
  state.deadline = time_of("2031-12-31T23:59:59.999999");
  state.participants = {{{"a", 1, 0}, 1}, {{"b.example", 70'000, 300}, 300}};
  state.wait_list = {{"c", std::int64_t{1} << 40, -1}, {std::string(300, 'h'), 2, 0}};
  state.last_heartbeats = {{{"a", 1, 0}, time_of("2024-02-29T00:00:00.000000")},
                           {{"c", 3, 0}, time_of("1969-12-31T23:59:59.999999")}};
  if (dialect == torch_dialect::torch_2_6) state.redundancy_list = {{"d", 1, 1}, {"e", 1, 1}};
  state.seen_dialect = dialect;
  return state;
}

// ---- pickles by hand ----------------------------------------------------------------------------

using texts = std::vector<std::pair<std::string, std::string>>;

const std::string torch_module = "torch.distributed.elastic.rendezvous.dynamic_rendezvous";

std::string bytes(std::initializer_list<int> values) {
  std::string result;
  for (const int value : values) result.push_back(static_cast<char>(value));
  return result;
}

std::string text(const std::string& value) {
  return bytes({0x8c, static_cast<int>(value.size())}) + value;
}
std::string global(const std::string& from, const std::string& name) {
  return text(from) + text(name) + "\x93";
}
std::string object(const std::string& type, const std::string& attributes) {
  return global(torch_module, type) + ")\x81}(" + attributes + "ub";
}
std::string node(const std::string& attribute = "fqdn", const std::string& host = "x") {
  return object("_NodeDesc", text(attribute) + text(host) + text("pid") + "K\x01" +
                                 text("local_id") + bytes({'K', 0}));
}
std::string packed_time(std::initializer_list<int> values) {
  return "C"s + bytes({static_cast<int>(values.size())}) + bytes(values);
}
const std::string some_bytes = packed_time({7, 232, 3, 5, 6, 7, 8, 1, 226, 64});
std::string span(const std::string& days, const std::string& seconds, const std::string& rest) {
  return global("datetime", "timedelta") + days + seconds + rest + "\x87R";
}
const std::string zero = bytes({'K', 0});
const std::string utc = global("datetime", "timezone") + span(zero, zero, zero) + "\x85R";
std::string time(const std::string& arguments) {
  return global("datetime", "datetime") + arguments;
}
const std::string naive_time = time(some_bytes + "\x85R");
const std::string aware_time = time(some_bytes + utc + "\x86R");

// The attributes of an empty state of PyTorch 1.13; one replaced, or left out where it is empty.
std::string attributes(const std::string& name = "", const std::string& value = "") {
  std::string result;
  for (const auto& [each, usual] : texts{{"round", zero},
                                         {"complete", "\x89"},
                                         {"deadline", "N"},
                                         {"closed", "\x89"},
                                         {"participants", "}"},
                                         {"wait_list", "\x8f"},
                                         {"last_heartbeats", "}"}}) {
    const std::string& chosen = each == name ? value : usual;
    if (!chosen.empty()) result += text(each) + chosen;
  }
  return result;
}
std::string pickle(const std::string& value) { return "\x80\x04" + value + "."; }
std::string state_pickle(const std::string& fields) {
  return pickle(object("_RendezvousState", fields));
}
std::string state_with(const std::string& name, const std::string& value) {
  return state_pickle(attributes(name, value));
}
// One with an attribute that no release knows.
std::string state_and(const std::string& name, const std::string& value) {
  return state_pickle(attributes() + text(name) + value);
}
std::string participants(const std::string& key, const std::string& rank = zero) {
  return state_with("participants", "}" + key + rank + "s");
}

// Why it is refused; fails where it is not, or in another way than it should be.
std::string refusal(std::string_view pickle) {
  try {
    decode_torch_state(pickle);
  } catch (const elastic::error& problem) {
    const std::string message = problem.what();
    if (problem.code() != errc::rendezvous_state) FAIL("refused by another code: " << message);
    if (message.find('\n') != std::string::npos) FAIL("more than a line: " << message);
    return message;
  }
  return "";
}

errc code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const elastic::error& problem) {
    return static_cast<errc>(problem.code().value());
  }
  return {};
}

// ---- what agents write --------------------------------------------------------------------------

TEST_CASE("torch state: what PyTorch writes is read", "[rendezvous]") {
  REQUIRE(all_vectors().size() == 33);
  for (const state_vector& each : all_vectors()) {
    CAPTURE(each.name);
    CHECK(decode_torch_state(each.pickle) == each.state);
  }
}

TEST_CASE("torch state: what a store holds is read", "[rendezvous]") {
  for (const state_vector& each : all_vectors()) {
    CAPTURE(each.name);
    CHECK(elastic::detail::parse_stored_text(each.base64) == each.state);
  }
  CHECK(elastic::detail::parse_stored_text("") == std::nullopt);
  CHECK(elastic::detail::parse_stored_text(elastic::detail::torch_no_state) == std::nullopt);
  CHECK(elastic::detail::from_base64(elastic::detail::torch_no_state) == "canimadam");
  const torch_state state = full_state(torch_dialect::torch_2_6);
  CHECK(elastic::detail::parse_stored_text(
            elastic::detail::stored_text(state, torch_dialect::torch_2_6)) == state);

  const std::string good = all_vectors().front().base64;
  for (const std::string& bad : {"x"s, "===="s, good + "\n", good + "====", " " + good,
                                 good.substr(1), std::string(2'000'000, 'A')}) {
    CHECK(code_of([&] { elastic::detail::parse_stored_text(bad); }) == errc::rendezvous_state);
  }
}

TEST_CASE("torch state: what is written is read back, in every dialect", "[rendezvous]") {
  for (const torch_dialect dialect : dialects) {
    CAPTURE(to_text(dialect));
    const torch_state full = full_state(dialect);
    CHECK(decode_torch_state(encode_torch_state(full, dialect)) == full);

    const bool is_shown = dialect == torch_dialect::torch_2_6;
    torch_state empty;
    empty.seen_dialect = is_shown ? std::optional(dialect) : std::nullopt;
    CHECK(decode_torch_state(encode_torch_state(torch_state(), dialect)) == empty);

    for (const state_vector& each : all_vectors()) {
      CAPTURE(each.name);
      if (!each.state.redundancy_list.empty() && dialect != torch_dialect::torch_2_6) continue;
      torch_state expected = each.state;
      const bool has_nodes = !expected.participants.empty() || !expected.wait_list.empty();
      expected.seen_dialect = has_nodes || is_shown ? std::optional(dialect) : std::nullopt;
      CHECK(decode_torch_state(encode_torch_state(each.state, dialect)) == expected);
    }
  }
}

TEST_CASE("torch state: every size of integers and texts is written and read", "[rendezvous]") {
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{255}, std::int64_t{256}, std::int64_t{65'535},
        std::int64_t{65'536}, std::int64_t{2'147'483'647}, std::int64_t{2'147'483'648},
        std::int64_t{-1}, std::int64_t{-2'147'483'648}, std::int64_t{-2'147'483'649},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    torch_state state;
    state.wait_list = {{"x", number, 0}};
    const std::string pickle = encode_torch_state(state, torch_dialect::torch_1_13);
    CHECK(decode_torch_state(pickle).wait_list == state.wait_list);
  }
  for (const std::size_t size : {0, 1, 255, 256, 1024}) {
    torch_state state;
    state.wait_list = {{std::string(size, 'h'), 1, 0}};
    const std::string pickle = encode_torch_state(state, torch_dialect::torch_1_13);
    CHECK(decode_torch_state(pickle).wait_list == state.wait_list);
  }
  // Python writes the shortest form that keeps the sign.
  for (const auto& [written, number] : std::vector<std::pair<std::string, std::int64_t>>{
           {bytes({0x8a, 0}), 0},
           {bytes({0x8a, 1, 0xff}), -1},
           {bytes({0x8a, 2, 0xff, 0}), 255},
           {bytes({0x8a, 5, 0, 0, 0, 0, 1}), std::int64_t{1} << 32},
           {bytes({0x8a, 5, 0, 0, 0, 0, 0xff}), -(std::int64_t{1} << 32)}}) {
    const torch_state state = decode_torch_state(participants(object(
        "_NodeDesc", text("fqdn") + text("x") + text("pid") + written + text("local_id") + zero)));
    CHECK(state.participants.begin()->first.pid == number);
  }
}

TEST_CASE("torch state: times are exact, before 1970 too", "[rendezvous]") {
  for (const std::string text :
       {"0001-01-01T00:00:00.000000", "1969-12-31T23:59:59.000001", "1970-01-01T00:00:00.000000",
        "2000-02-29T12:34:56.654321", "9999-12-31T23:59:59.999999"}) {
    CAPTURE(text);
    for (const torch_dialect dialect : dialects) {
      torch_state state;
      state.deadline = time_of(text);
      CHECK(decode_torch_state(encode_torch_state(state, dialect)).deadline == state.deadline);
    }
  }
  // The bit of Python's that tells the second of two equal local times.
  const auto folded = time(packed_time({7, 232, 0x83, 5, 6, 7, 8, 1, 226, 64}) + "\x85R");
  CHECK(decode_torch_state(state_with("deadline", folded)).deadline ==
        time_of("2024-03-05T06:07:08.123456"));
}

TEST_CASE("torch state: thousands of nodes fit, as many as can be read", "[rendezvous]") {
  torch_state state;
  for (int i = 0; i < 10'000; ++i) {
    const node_id id{fmt::format("node-{:05}.cluster.example", i), 100'000 + i, 0};
    state.participants[id] = i;
    state.last_heartbeats[id] = time_of("2024-03-05T06:07:08.123456");
  }
  state.seen_dialect = torch_dialect::torch_2_6;
  CHECK(decode_torch_state(encode_torch_state(state, torch_dialect::torch_2_6)) == state);
  // The shortest nodes there are.
  torch_state short_nodes;
  for (int i = 0; i < 256; ++i) {
    for (int k = 0; k < 180; ++k) short_nodes.wait_list.insert({"x", i, k});
  }
  short_nodes.seen_dialect = torch_dialect::torch_2_0;
  CHECK(decode_torch_state(encode_torch_state(short_nodes, torch_dialect::torch_2_0)) ==
        short_nodes);

  for (int i = 10'000; i < 40'000; ++i) state.wait_list.insert({"x", i, 0});
  CHECK(code_of([&] { encode_torch_state(state, torch_dialect::torch_2_6); }) ==
        errc::invalid_argument);
}

TEST_CASE("torch state: what could not be read is not written", "[rendezvous]") {
  const auto refused = [](const torch_state& state, torch_dialect dialect) {
    return code_of([&] { encode_torch_state(state, dialect); }) == errc::invalid_argument;
  };
  torch_state spare;
  spare.redundancy_list = {{"x", 1, 0}};
  CHECK(refused(spare, torch_dialect::torch_1_13));
  CHECK(refused(spare, torch_dialect::torch_2_0));
  CHECK_FALSE(refused(spare, torch_dialect::torch_2_6));
  for (const torch_dialect dialect : dialects) {
    torch_state state;
    state.round = -1;
    CHECK(refused(state, dialect));
    for (const int rank : {-1, 100'000}) {
      state = {};
      state.participants = {{{"x", 1, 0}, rank}};
      CHECK(refused(state, dialect));
    }
    for (const std::string& host : {std::string(1025, 'h'), "\xff"s, "\xc3"s}) {
      state = {};
      state.wait_list = {{host, 1, 0}};
      CHECK(refused(state, dialect));
    }
    for (const int year : {0, 10'000}) {
      state = {};
      state.deadline = std::chrono::sys_days(std::chrono::year(year) / 6 / 1);
      CHECK(refused(state, dialect));
    }
  }
}

// ---- dialects -----------------------------------------------------------------------------------

TEST_CASE("torch state: the dialect shows in what a state holds", "[rendezvous]") {
  const auto seen = [](const std::string& pickle) {
    return decode_torch_state(pickle).seen_dialect;
  };
  const auto with_list = [](const std::string& more) {
    return state_pickle(attributes() + text("redundancy_list") + "\x8f" + more);
  };
  CHECK(seen(state_pickle(attributes())) == std::nullopt);
  CHECK(seen(state_with("deadline", naive_time)) == std::nullopt);
  CHECK(seen(participants(node("fqdn"))) == torch_dialect::torch_1_13);
  CHECK(seen(participants(node("addr"))) == torch_dialect::torch_2_0);
  CHECK(seen(with_list("")) == torch_dialect::torch_2_6);
  CHECK(seen(state_pickle(attributes("wait_list", "\x8f(" + node("addr") + "\x90") +
                          text("redundancy_list") + "\x8f")) == torch_dialect::torch_2_6);
  CHECK(seen(state_pickle(attributes("deadline", aware_time) + text("redundancy_list") + "\x8f")) ==
        torch_dialect::torch_2_6);
}

TEST_CASE("torch state: an older agent that met an empty state of 2.6 keeps its list",
          "[rendezvous]") {
  const std::string list = text("redundancy_list") + "\x8f";
  for (const auto& [host, dialect] : std::vector<std::pair<std::string, torch_dialect>>{
           {"fqdn", torch_dialect::torch_1_13}, {"addr", torch_dialect::torch_2_0}}) {
    const std::string heartbeats = "}" + node(host) + naive_time + "s";
    const torch_state state =
        decode_torch_state(state_pickle(attributes("last_heartbeats", heartbeats) + list));
    CHECK(state.seen_dialect == dialect);
    CHECK(state.extra.count("redundancy_list") == 1);
    const std::string written = encode_torch_state(state, dialect);
    CHECK(written.find("redundancy_list") != std::string::npos);
    CHECK(decode_torch_state(written) == state);
    // The dialect that has it by itself has it once.
    CHECK_NOTHROW(decode_torch_state(encode_torch_state(state, torch_dialect::torch_2_6)));
  }
}

TEST_CASE("torch state: a mixture of dialects is refused and said to be one", "[rendezvous]") {
  const std::string list = text("redundancy_list") + "\x8f";
  const auto heartbeats = [](const std::string& host, const std::string& when) {
    return attributes("last_heartbeats", "}" + node(host) + when + "s");
  };
  const auto spare = [](const std::string& host) {
    return text("redundancy_list") + "\x8f(" + node(host) + "\x90";
  };
  for (const auto& [pickle, part] :
       texts{{state_with("wait_list", "\x8f(" + node("fqdn") + node("addr", "y") + "\x90"),
              "nodes with fqdn (PyTorch 1.13) and with addr (2.0)"},
             {state_pickle(attributes("deadline", naive_time) + list + text("more") + aware_time),
              "times without a timezone (PyTorch 1.13, 2.0) and in UTC (2.6)"},
             {state_pickle(heartbeats("fqdn", aware_time) + list),
              "nodes with fqdn (PyTorch 1.13) and times in UTC"},
             {state_pickle(heartbeats("addr", aware_time)), "without a redundancy_list"},
             {state_pickle(attributes() + spare("fqdn")), "nodes in a redundancy_list"},
             {state_pickle(heartbeats("addr", naive_time) + spare("addr")), "2.3 to 2.5"}}) {
    CHECK_THAT(refusal(pickle), contains_text("mixes dialects") && contains_text(part));
  }
}

TEST_CASE("torch dialect: as text", "[rendezvous]") {
  for (const torch_dialect dialect : dialects) {
    CHECK(elastic::detail::parse_torch_dialect(to_text(dialect)) == dialect);
  }
  CHECK(to_text(torch_dialect::torch_1_13) == "1.13");
  for (const std::string bad : {"", "2", "2.1", "1.13 ", "torch_1_13"}) {
    CHECK_THROWS_WITH(elastic::detail::parse_torch_dialect(bad),
                      "dialect '" + bad + "': 1.13, 2.0 or 2.6 is needed");
    CHECK(code_of([&] { elastic::detail::parse_torch_dialect(bad); }) == errc::invalid_argument);
  }
}

// ---- attributes that no dialect knows -----------------------------------------------------------

TEST_CASE("torch state: an unknown attribute is kept, whatever it is made of", "[rendezvous]") {
  for (const auto& [name, value] :
       texts{{"none", "N"},
             {"bool", "\x88"},
             {"integer", "J\xfe\xff\xff\xff"},
             {"text", text("line\nline")},
             {"long_text", "X"s + bytes({1, 1, 0, 0}) + std::string(257, 't')},
             {"bytes", "C\x02xy"},
             {"time", naive_time},
             {"zone", utc},
             {"span", span("J\xff\xff\xff\xff", "K\x05", "M\x10\x27")},
             {"node", node()},
             {"empty_tuple", ")"},
             {"tuples", "K\x01\x85K\x02\x86\x88N\x87"},
             {"dict", "}(K\x01N" + text("a") + ")" + node() + "}" + "u"},
             {"set", "\x8f(K\x01K\x02\x85\x90"},
             {"shared", text("x") + "\x94" + bytes({'h', 0, 'h', 0, 0x87})}}) {
    CAPTURE(name);
    const torch_state state = decode_torch_state(state_and(name, value));
    REQUIRE(state.extra.size() == 1);
    CHECK(state.extra.begin()->first == name);
    // What is kept is what was read, where nothing was shared.
    if (name != "shared") CHECK(state.extra.begin()->second == value);
    for (const torch_dialect dialect : {torch_dialect::torch_1_13}) {
      const torch_state again = decode_torch_state(encode_torch_state(state, dialect));
      CHECK(again == state);
    }
  }
}

TEST_CASE("torch state: an unknown attribute that cannot be written again is refused",
          "[rendezvous]") {
  for (const auto& [value, part] :
       texts{{object("_RendezvousState", attributes()), "is not a node"},
             {global(torch_module, "_NodeDesc") + ")\x81", "is not a node"},
             {object("_NodeDesc", ""), "not made of fqdn or addr"},
             {global("datetime", "datetime"), "name stands where a value"},
             {global("datetime", "datetime") + "\x85", "name stands where a value"},
             {"}}Ns", "cannot be hashed"},
             {"\x8f(}\x85\x90", "cannot be hashed"},
             {"\x8f(" + global(torch_module, "_NodeDesc") + ")\x81\x90", "cannot be hashed"}}) {
    CHECK_THAT(refusal(state_and("more", value)), contains_text(part));
  }
}

TEST_CASE("torch state: values that double at each step are refused, and at once", "[rendezvous]") {
  // A tuple of twice the tuple before, as deep as allowed: 2^28 values in some 200 bytes.
  std::string doubled = text("x");
  for (int i = 0; i < 28; ++i) doubled += "\x94" + bytes({'h', i, 0x86});
  CHECK_THAT(refusal(state_and("more", doubled)), contains_text("unknown attributes take over"));
  // And many that are small, together.
  std::string many = text("a") + "X"s + bytes({0, 0, 1, 0}) + std::string(65'536, 'x') + "\x94";
  for (char name = 'b'; name <= 'z'; ++name) {
    many += text(std::string(1, name)) + bytes({'h', 0});
  }
  CHECK_THAT(refusal(state_pickle(attributes() + many)),
             contains_text("unknown attributes take over"));
}

// ---- refusals -----------------------------------------------------------------------------------

TEST_CASE("torch state: no name of Python but five is known", "[rendezvous]") {
  for (const auto& [from, name] : texts{{"os", "system"},
                                        {"posix", "system"},
                                        {"builtins", "eval"},
                                        {"builtins", "exec"},
                                        {"builtins", "getattr"},
                                        {"builtins", "set"},
                                        {"subprocess", "Popen"},
                                        {"datetime", "date"},
                                        {"datetime", "datetime.now"},
                                        {"datetime", "timezone.utc"},
                                        {"datetime", ""},
                                        {"", "datetime"},
                                        {"torch", "_RendezvousState"},
                                        {torch_module, "datetime"},
                                        {torch_module, "_NodeDesc.__init__"},
                                        {torch_module, "_RendezvousState "},
                                        {torch_module + ".x", "_RendezvousState"},
                                        {"a\nb", "c"}}) {
    CAPTURE(from, name);
    const std::string named = global(from, name);
    CHECK_THAT(refusal(pickle(named + text("x") + "\x85R")), contains_text("has no place"));
    CHECK_THAT(refusal(state_and("more", named)), contains_text("has no place"));
  }
  CHECK_THAT(refusal(pickle(text("os") + "K\x01\x93")), contains_text("not named by texts"));
  CHECK_THAT(refusal(pickle("K\x01" + text("os") + "\x93")), contains_text("not named by texts"));
}

TEST_CASE("torch state: no operation but those of a state is known", "[rendezvous]") {
  const std::string known_ops =
      "()CJKMNRXbhjsu}\x81\x85\x86\x87\x88\x89\x8a\x8c\x8f\x90\x93\x94\x95";
  const std::string body = object("_RendezvousState", attributes());
  for (int code = 0; code < 256; ++code) {
    CAPTURE(code);
    const char op = static_cast<char>(code);
    if (op == '.') continue;
    const std::string message = refusal(pickle(std::string(1, op) + body));
    const bool is_unknown =
        message.find(fmt::format("operation 0x{:02x} is not", code)) != std::string::npos;
    CHECK(is_unknown == (known_ops.find(op) == std::string::npos));
    CHECK_FALSE(message.empty());
  }
  // In the places where they would do harm.
  for (const std::string& harm : {"cos\nsystem\n"s,
                                  "(S'true'\nios\nsystem\n"s,
                                  "(cos\nsystem\nS'true'\no"s,
                                  "\x82\x01"s,
                                  "\x83\x01\x00"s,
                                  "\x84\x01\x00\x00\x00"s,
                                  "Pname\n"s,
                                  "K\x01Q"s,
                                  ")}\x92"s,
                                  "I1\n"s,
                                  "V1\n"s,
                                  "(l"s,
                                  "]"s,
                                  "G????????"s,
                                  "\x8b\x01\x00\x00\x00\x01"s,
                                  "\x96"s,
                                  "\x97"s,
                                  "0"s,
                                  "2"s,
                                  "1"s,
                                  "(d"s,
                                  "(t"s,
                                  "p0\n"s,
                                  "g0\n"s,
                                  "q\x01"s,
                                  "r\x01\x00\x00\x00"s}) {
    CHECK_THAT(refusal(state_and("more", harm)), contains_text("is not one that the state"));
  }
}

TEST_CASE("torch state: only times are called, only states and nodes are made", "[rendezvous]") {
  const std::string delta = span(zero, zero, zero);
  for (const auto& [value, part] :
       texts{{global(torch_module, "_NodeDesc") + ")R", "it calls what is neither"},
             {global(torch_module, "_RendezvousState") + ")R", "it calls what is neither"},
             {text("os.system") + text("x") + "\x85R", "it calls what is neither"},
             {"N)R", "it calls what is neither"},
             {global("datetime", "datetime") + "NR", "arguments of a call are not a tuple"},
             {global("datetime", "datetime") + ")\x81", "neither a state nor a node"},
             {"N)\x81", "neither a state nor a node"},
             {global(torch_module, "_NodeDesc") + "N\x85\x81", "made with arguments"},
             {global(torch_module, "_NodeDesc") + "N\x81", "made with arguments"},
             {naive_time + "}b", "cannot hold"},
             {"}}b", "cannot hold"},
             {global(torch_module, "_NodeDesc") + "}b", "cannot hold"},
             {global(torch_module, "_NodeDesc") + ")\x81Nb", "are not a dict"},
             {global(torch_module, "_NodeDesc") + ")\x81}N\x86" + "b", "are not a dict"},
             {global(torch_module, "_NodeDesc") + ")\x81}K\x01Nsb", "attribute is not a string"},
             {node() + "}b", "gets its attributes twice"},
             {"NNNs", "cannot hold"},
             {"N(NNu", "cannot hold"},
             {"}(N\x90", "cannot hold"},
             {"\x8f(NNu", "cannot hold"},
             {"}(NNNu", "a key has no value"}}) {
    CAPTURE(value);
    CHECK_THAT(refusal(state_and("more", value)), contains_text(part));
  }
}

TEST_CASE("torch state: times that are none are refused", "[rendezvous]") {
  const auto packed = [](std::initializer_list<int> values) {
    return time(packed_time(values) + "\x85R");
  };
  for (const std::string& bad :
       {packed({0, 0, 1, 1, 0, 0, 0, 0, 0, 0}), packed({0x27, 0x10, 1, 1, 0, 0, 0, 0, 0, 0}),
        packed({7, 232, 0, 1, 0, 0, 0, 0, 0, 0}), packed({7, 232, 13, 1, 0, 0, 0, 0, 0, 0}),
        packed({7, 232, 1, 0, 0, 0, 0, 0, 0, 0}), packed({7, 231, 2, 29, 0, 0, 0, 0, 0, 0}),
        packed({7, 232, 1, 1, 24, 0, 0, 0, 0, 0}), packed({7, 232, 1, 1, 0, 60, 0, 0, 0, 0}),
        packed({7, 232, 1, 1, 0, 0, 60, 0, 0, 0}),
        packed({7, 232, 1, 1, 0, 0, 0, 0x0f, 0x42, 0x40})}) {
    CHECK_THAT(refusal(state_with("deadline", bad)), contains_text("out of its range"));
  }
  for (const std::string& bad :
       {packed({7, 232, 1, 1, 0, 0, 0, 0, 0}), packed({7, 232, 1, 1, 0, 0, 0, 0, 0, 0, 0}),
        time(")R"), time("N\x85R"), time(text("2024-01-01") + "\x85R"), time(some_bytes + "N\x86R"),
        time(some_bytes + utc + "N\x87R")}) {
    CHECK_THAT(refusal(state_with("deadline", bad)), contains_text("not made of 10 bytes"));
  }
  for (const std::string& offset : {span(zero, "K\x01", zero), span("K\x01", zero, zero),
                                    span(zero, zero, "K\x01"), "K\x00"s, "N"s}) {
    const std::string zone = global("datetime", "timezone") + offset + "\x85R";
    CHECK_THAT(refusal(state_with("deadline", time(some_bytes + zone + "\x86R"))),
               contains_text("not UTC"));
  }
  CHECK_THAT(refusal(state_and("more", global("datetime", "timezone") + ")R")),
             contains_text("not UTC"));
  for (const std::string& bad :
       {span("J\x00\xe1\xf5\x05"s, zero, zero), span(zero, "J\x80\x51\x01\x00"s, zero),
        span(zero, "J\xff\xff\xff\xff", zero), span(zero, zero, "J\x40\x42\x0f\x00"s),
        span(zero, zero, "\x88"), span("N", zero, zero)}) {
    CHECK_THAT(refusal(state_and("more", bad)), contains_text("out of its range"));
  }
  CHECK_THAT(refusal(state_and("more", global("datetime", "timedelta") + "K\x01\x85R")),
             contains_text("days, seconds and microseconds"));
}

TEST_CASE("torch state: attributes that miss or are of another type are named", "[rendezvous]") {
  for (const std::string name : {"round", "complete", "deadline", "closed", "participants",
                                 "wait_list", "last_heartbeats"}) {
    CAPTURE(name);
    CHECK_THAT(refusal(state_with(name, "")), contains_text("no attribute '" + name + "'"));
    for (const std::string& other : {"C\x01x"s, text("x"), utc, ")"s}) {
      CHECK_FALSE(refusal(state_with(name, other)).empty());
    }
    CHECK_THAT(refusal(state_pickle(attributes() + text(name) + "N")), contains_text("twice"));
  }
  CHECK_THAT(refusal(state_with("round", "\x88")), contains_text("round is not an integer"));
  CHECK_THAT(refusal(state_with("round", "J\xff\xff\xff\xff")), contains_text("round is -1"));
  // Of Python's integers no one is the largest; torchrun would count on.
  CHECK_THAT(refusal(state_with("round", "\x8a\x08\0\0\0\0\0\0\0\x40"s)),
             contains_text("round is 4611686018427387904, 0 to 2305843009213693952 are allowed"));
  CHECK_THAT(refusal(state_with("complete", zero)), contains_text("complete is not a bool"));
  CHECK_THAT(refusal(state_with("closed", "N")), contains_text("closed is not a bool"));
  CHECK_THAT(refusal(state_with("deadline", zero)), contains_text("not a datetime"));
  CHECK_THAT(refusal(state_with("participants", "\x8f")),
             contains_text("participants is not a dict"));
  CHECK_THAT(refusal(state_with("wait_list", "}")), contains_text("wait_list is not a set"));
  CHECK_THAT(refusal(state_with("last_heartbeats", "N")),
             contains_text("last_heartbeats is not a dict"));
  CHECK_THAT(refusal(state_and("redundancy_list", "}")),
             contains_text("redundancy_list is not a set"));
  CHECK_THAT(refusal(state_with("last_heartbeats", "}" + node() + "Ns")),
             contains_text("not a datetime"));
}

TEST_CASE("torch state: nodes that are none are refused", "[rendezvous]") {
  const std::string host = text("fqdn") + text("x");
  const std::string pid = text("pid") + "K\x01";
  const std::string local_id = text("local_id") + zero;
  const auto made = [](const std::string& fields) {
    return participants(object("_NodeDesc", fields));
  };
  REQUIRE(refusal(made(local_id + pid + host)) == "");
  for (const std::string& bad :
       {""s, host + pid, pid + local_id, host + local_id, host + pid + text("other") + zero,
        host + pid + local_id + text("other") + zero, host + text("addr") + text("x") + pid,
        pid + pid + local_id, host + text("addr") + text("x") + pid + local_id}) {
    CHECK_THAT(refusal(made(bad)), contains_text("not made of fqdn or addr, pid and local_id"));
  }
  CHECK_THAT(refusal(made(text("fqdn") + "N" + pid + local_id)), contains_text("by no text"));
  CHECK_THAT(refusal(made(host + text("pid") + "\x88" + local_id)),
             contains_text("not an integer"));
  CHECK_THAT(refusal(made(host + pid + text("local_id") + text("0"))),
             contains_text("not an integer"));
  CHECK_THAT(refusal(participants(text("x"))), contains_text("is not a node"));
  CHECK_THAT(refusal(state_with("wait_list", "\x8f(N\x90")), contains_text("is not a node"));
  CHECK_THAT(refusal(participants(global(torch_module, "_NodeDesc") + ")\x81")),
             contains_text("cannot be hashed"));
  const std::string long_host = "X"s + bytes({1, 4, 0, 0}) + std::string(1025, 'h');
  CHECK_THAT(refusal(made(text("fqdn") + long_host + pid + local_id)),
             contains_text("has 1025 bytes, 1024 are allowed"));

  CHECK_THAT(refusal(participants(node(), "J\xff\xff\xff\xff")), contains_text("has the rank -1"));
  CHECK_THAT(refusal(participants(node(), "J\xa0\x86\x01\x00"s)), contains_text("100000"));
  CHECK_THAT(refusal(participants(node(), "N")), contains_text("rank is not an integer"));
  const std::string twice = "}(" + node() + zero + node() + zero + "u";
  CHECK_THAT(refusal(state_with("participants", twice)),
             contains_text("participants has the node \"x_1_0\" twice"));
  const std::string heard = "}(" + node() + naive_time + node() + naive_time + "u";
  CHECK_THAT(refusal(state_with("last_heartbeats", heard)), contains_text("twice"));
  CHECK_THAT(refusal(state_with("wait_list", "\x8f(" + node() + node() + "\x90")),
             contains_text("twice"));
}

TEST_CASE("torch state: a pickle that is none is refused", "[rendezvous]") {
  const std::string body = object("_RendezvousState", attributes());
  REQUIRE(refusal(pickle(body)) == "");
  for (const auto& [pickled, part] : texts{
           {"", "cut off"},
           {"canimadam", "does not begin with the protocol"},
           {body + ".", "does not begin with the protocol"},
           {"\x80\x03" + body + ".", "pickle protocol 3 is not read"},
           {"\x80\x06" + body + ".", "pickle protocol 6 is not read"},
           {"\x80\x04\x80\x04" + body + ".", "operation 0x80"},
           {pickle(""), "0 values are left"},
           {pickle("N" + body), "2 values are left"},
           {pickle(body + "("), "must be 1"},
           {pickle("N"), "its value is not a state"},
           {pickle(node()), "its value is not a state"},
           {pickle(global(torch_module, "_RendezvousState")), "its value is not a state"},
           {pickle(global(torch_module, "_RendezvousState") + ")\x81"), "its value is not a state"},
           {pickle(body) + "x", "bytes follow its end"},
           {pickle("\x94" + body), "not there"},
           {pickle("s" + body), "not there"},
           {pickle("}s" + body), "not there"},
           {pickle("u" + body), "no mark precedes"},
           {pickle("N(\x85" + body), "not there"},
           {pickle("N(b" + body), "not there"},
           {pickle("(u" + body), "not there"},
           {pickle("h"s + '\0' + body), "was not memoized"},
           {pickle("j\xff\xff\xff\xff" + body), "was not memoized"},
           {pickle("\x95\xff\xff\xff\xff\xff\xff\xff\xff" + body), "cut off"},
           {pickle("X\xff\xff\xff\xff" + body), "cut off"},
           {pickle("\x8c\x02\xc3\xa9"), "its value is not a state"},
           {pickle("\x8a\x09" + std::string(9, '\0')), "an integer has 9 bytes, 8 are allowed"}}) {
    CAPTURE(pickled);
    CHECK_THAT(refusal(pickled), contains_text(part));
  }
  for (const std::string bad :
       {"\x80", "\xc0\x80", "\xc3", "\xc3(", "\xe0\x80\x80", "\xe2\x82", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    CHECK_THAT(refusal(pickle(text(bad))), contains_text("is not UTF-8"));
  }
  // Python writes halves of surrogate pairs as well.
  for (const std::string good : {"\xc3\xa9", "\xe2\x82\xac", "\xed\xa0\x80", "\xf0\x9f\x98\x80"}) {
    CHECK_THAT(refusal(pickle(text(good))), contains_text("its value is not a state"));
  }
}

TEST_CASE("torch state: a value cannot change after it was used, nor be part of itself",
          "[rendezvous]") {
  const std::string get = bytes({'h', 0});
  for (const std::string& bad :
       {"}\x94" + text("self") + get + "s",        // a dict that holds itself
        "\x8f\x94(" + get + "\x85\x90",            // a set that holds a tuple of itself
        "}\x94)" + get + text("late") + "Ns\x86",  // a dict that grows after it was recalled
        "}\x94" + text("self") + get + "\x85s"}) {
    CHECK_FALSE(refusal(state_and("more", bad)).empty());
  }
  CHECK_THAT(refusal(state_and("more", "}\x94" + text("self") + get + "s")),
             contains_text("changes after it was used"));
}

TEST_CASE("torch state: what takes too much is refused", "[rendezvous]") {
  const auto repeated = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  SECTION("bytes") {
    const std::string large(1024 * 1024 + 1, 'N');
    CHECK_THAT(refusal(large), contains_text("1048577 bytes, 1048576 are allowed"));
  }
  SECTION("depth") {
    // The state and its dict lie around it.
    CHECK(refusal(state_and("more", "N" + repeated("\x85", 29))) == "");
    CHECK_THAT(refusal(state_and("more", "N" + repeated("\x85", 30))),
               contains_text("over 32 deep"));
    CHECK_THAT(refusal(pickle(repeated("}N", 40) + repeated("Ns", 1))), contains_text("left"));
  }
  SECTION("marks") {
    CHECK_THAT(refusal(pickle(repeated("(", 33))), contains_text("over 32 marks"));
  }
  SECTION("memo") {
    CHECK_THAT(refusal(pickle("N" + repeated("\x94", 64 * 1024))), contains_text("not a state"));
    CHECK_THAT(refusal(pickle("N" + repeated("\x94", 64 * 1024 + 1))),
               contains_text("over 65536 values are memoized"));
  }
  SECTION("stack") {
    CHECK_THAT(refusal(pickle("N\x94" + repeated(bytes({'h', 0}), 400'064))),
               contains_text("its stack is over 400064"));
  }
  SECTION("values") {
    CHECK_THAT(refusal(pickle(repeated("N", 256 * 1024 + 1))), contains_text("over 262144 values"));
  }
  SECTION("nodes") {
    const std::string first = node() + "\x94";
    const std::string many = first + repeated(bytes({'h', 0}), 100'000);
    CHECK_THAT(refusal(state_with("wait_list", "\x8f(" + many + "\x90")),
               contains_text("wait_list has 100001 nodes, 100000 are allowed"));
  }
}

// ---- bytes that are not what they were ----------------------------------------------------------

TEST_CASE("torch state: a pickle that is cut off anywhere is refused", "[rendezvous]") {
  for (const state_vector& each : all_vectors()) {
    CAPTURE(each.name);
    for (std::size_t size = 0; size < each.pickle.size(); ++size) {
      if (refusal(std::string_view(each.pickle).substr(0, size)).empty()) FAIL("read " << size);
    }
    for (const char more : {'.', '\0', 'N'}) {
      CHECK_THAT(refusal(each.pickle + more), contains_text("bytes follow its end"));
    }
  }
}

TEST_CASE("torch state: whatever a byte is changed to, a pickle is refused, or read and kept",
          "[rendezvous]") {
  int read = 0;
  int refused = 0;
  for (const state_vector& each : all_vectors()) {
    CAPTURE(each.name);
    // Every value of each byte in the largest pickle of either kind, every bit in the others.
    const bool is_large =
        !elastic::test::is_sanitized &&
        (each.name == "three_participants_complete_one_waiting" || each.name == "recorded 10");
    for (std::size_t at = 0; at < each.pickle.size(); ++at) {
      std::string changed = each.pickle;
      for (int change = 1; change < 256; change = is_large ? change + 1 : change * 2) {
        changed[at] = static_cast<char>(each.pickle[at] ^ change);
        if (!refusal(changed).empty()) {
          ++refused;
          continue;
        }
        ++read;
        const torch_state state = decode_torch_state(changed);
        const auto dialect = state.seen_dialect.value_or(torch_dialect::torch_1_13);
        if (decode_torch_state(encode_torch_state(state, dialect)) != state) {
          FAIL("not kept: byte " << at << " changed by " << change);
        }
      }
    }
  }
  CHECK(read > 0);
  CHECK(refused > read);
}

// ---- base64 -------------------------------------------------------------------------------------

TEST_CASE("base64: both ways", "[rendezvous]") {
  for (const auto& [plain, encoded] : texts{{"", ""},
                                            {"f", "Zg=="},
                                            {"fo", "Zm8="},
                                            {"foo", "Zm9v"},
                                            {"foob", "Zm9vYg=="},
                                            {"fooba", "Zm9vYmE="},
                                            {"foobar", "Zm9vYmFy"},
                                            {"\xfb\xff\xbf", "+/+/"},
                                            {"\0\0"s, "AAA="}}) {
    CHECK(elastic::detail::to_base64(plain) == encoded);
    CHECK(elastic::detail::from_base64(encoded) == plain);
    CHECK(elastic::detail::base64_size(plain.size()) == encoded.size());
  }
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) {
    every_byte.push_back(static_cast<char>(byte));
    CHECK(elastic::detail::from_base64(elastic::detail::to_base64(every_byte)) == every_byte);
  }
}

TEST_CASE("base64: what is not exactly it is refused", "[rendezvous]") {
  for (const std::string bad : {"Z",
                                "Zg",
                                "Zg=",
                                "Zg===",
                                "Zg==Zg==",
                                "=",
                                "==",
                                "===",
                                "====",
                                "Z===",
                                "=Zg=",
                                "Zg=g",
                                "Zm9v\n",
                                "Zm9 ",
                                " Zm9",
                                "Zm-_",
                                "Zm9v====",
                                "Zh==",
                                "Zm9=",
                                "Zm\xff"
                                "v",
                                "Zm\n9"}) {
    CAPTURE(bad);
    CHECK(elastic::detail::from_base64(bad) == std::nullopt);
  }
  CHECK(elastic::detail::from_base64("Zm9\0"s) == std::nullopt);
}

// ---- nodes --------------------------------------------------------------------------------------

TEST_CASE("node id: ordered by host, then by the numbers", "[rendezvous]") {
  const std::vector<node_id> ordered = {{"", 9, 9},    {"a", 3, 1}, {"a", 20, 0},      {"a", 20, 1},
                                        {"a.b", 1, 0}, {"b", 1, 0}, {"\xc3\xa9", 1, 0}};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t k = 0; k < ordered.size(); ++k) {
      CHECK((ordered[i] < ordered[k]) == (i < k));
      CHECK((ordered[i] == ordered[k]) == (i == k));
    }
  }
  CHECK(ordered[3].text() == "a_20_1");
}

}  // namespace torch_state_tests
