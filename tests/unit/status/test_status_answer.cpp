// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/status/detail/embedded.hpp>
#include <elastic/status/detail/event_sentence.hpp>
#include <elastic/status/detail/job_curves.hpp>
#include <elastic/status/detail/status_answer.hpp>
#include <elastic/status/detail/status_gate.hpp>
#include <elastic/status/status_address.hpp>

#include <elastic/base/error.hpp>
#include <support/catch.hpp>
#include <support/journal_story.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace status_answer_tests {

using elastic::parse_status_address;
using elastic::status_address;
using elastic::detail::admission;
using elastic::detail::answer_of;
using elastic::detail::event_cursor;
using elastic::detail::http_head;
using elastic::detail::job_view;
using elastic::detail::status_answer;
using elastic::detail::status_gate;
using elastic::test::contains_text;
using elastic::test::journal_story;

const std::string token = "0123456789abcdef";
const std::string session = "fedcba9876543210fedcba9876543210";

http_head get(std::string target, std::string header = {}, std::string value = {}) {
  http_head request;
  request.method = "GET";
  const std::size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string::npos) request.query = target.substr(question + 1);
  request.headers["host"] = "localhost:8080";
  if (!header.empty()) request.headers[header] = value;
  return request;
}

/// What the server looks at for an answer.
elastic::detail::status_source view_source(const job_view& view) {
  elastic::detail::status_source source;
  source.view = source.look = [view] { return std::make_shared<const job_view>(view); };
  source.stores = []() -> std::optional<elastic::detail::viewed_stores> { return {}; };
  source.curves = [] { return elastic::detail::job_curves().json(); };
  source.records = [] { return std::vector<elastic::journal_record>(); };
  source.disclosure = [] { return elastic::detail::job_disclosure(); };
  return source;
}

TEST_CASE("status answer: whose output is asked for", "[status]") {
  const auto rank_of = [&](std::string path) {
    const status_answer answer = answer_of(get("/api/v1/ranks/" + path), {}, view_source({}), 0);
    CHECK(answer.status == (answer.output_of_rank ? 200 : 404));
    return answer.output_of_rank.value_or(-1);
  };
  CHECK(rank_of("0/output") == 0);
  CHECK(rank_of("1023/output") == 1023);
  for (const char* path :
       {"", "output", "/output", "-1/output", "+1/output", "1/outputs", "1 /output", "0x1/output",
        "1/2/output", "99999999999999999999/output", "1"}) {
    CAPTURE(path);
    CHECK(rank_of(path) == -1);
  }
}

TEST_CASE("status answer: the journal is a file of the records that the agent has", "[status]") {
  journal_story story;
  story.begin().start(0, 1);
  elastic::detail::status_source source = view_source({});
  source.records = [&] { return story.records; };
  const status_answer answer = answer_of(get("/api/v1/journal"), {}, source, 0);
  CHECK(answer.type == "application/jsonl");
  CHECK(answer.headers.front().second == "attachment; filename=\"journal.jsonl\"");
  std::string lines;
  for (const elastic::journal_record& record : story.records) lines += to_json_line(record) + "\n";
  CHECK(answer.body == lines);
}

TEST_CASE("status address: what it may be", "[status]") {
  struct row {
    const char* text;
    const char* meaning;
    bool is_local;
  };
  const row rows[] = {{"8080", "127.0.0.1:8080", true},
                      {"0", "127.0.0.1:0", true},
                      {"localhost:1", "127.0.0.1:1", true},
                      {"127.0.0.2:65535", "127.0.0.2:65535", true},
                      {"0.0.0.0:8080", "0.0.0.0:8080", false},
                      {"10.0.0.7:80", "10.0.0.7:80", false},
                      {"[::1]:8080", "[::1]:8080", true},
                      {"[::]:8080", "[::]:8080", false},
                      {"unix:/run/a b.sock", "unix:/run/a b.sock", true}};
  for (const row& entry : rows) {
    CAPTURE(entry.text);
    const status_address address = parse_status_address(entry.text);
    CHECK(to_text(address) == entry.meaning);
    CHECK(address.is_local() == entry.is_local);
    CHECK(parse_status_address(to_text(address)) == address);
  }
  for (const char* text : {"", ":", "a", "65536", "-1", "+1", "80 ", ":80", "::1:80",
                           "[127.0.0.1]:80", "node7:80", "[]:80", "unix:", "1.2.3.4:", "\x1b[2J"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_status_address(text), contains_text("[ADDRESS:]PORT"));
  }
}

TEST_CASE("status gate: who may ask", "[status]") {
  status_gate open_gate;
  open_gate.hosts = {"node7"};
  status_gate closed_gate = open_gate;
  closed_gate.token = token;
  closed_gate.cookie = "elastic_status_80";
  closed_gate.session = session;
  status_gate local_gate = open_gate;
  local_gate.checks_host = false;
  struct row {
    const status_gate& gate;
    http_head request;
    admission verdict;
  };
  // Prometheus, which uses a name that this host does not know as its own.
  http_head named_request = get("/metrics", "authorization", "Bearer " + token);
  named_request.headers["host"] = "job7.cluster.example";
  const auto linked_request = [](const std::string& target, const std::string& mode = "navigate",
                                 const std::string& destination = "document") {
    http_head request = get(target, "sec-fetch-site", "cross-site");
    request.headers["sec-fetch-mode"] = mode;
    request.headers["sec-fetch-dest"] = destination;
    return request;
  };
  http_head link_to_other_host = linked_request("/");
  link_to_other_host.headers["host"] = "evil.example";
  http_head link_with_cookie = linked_request("/");
  link_with_cookie.headers["cookie"] = "elastic_status_80=" + session;
  http_head post = linked_request("/");
  post.method = "POST";
  const std::vector<row> rows = {
      {open_gate, get("/"), admission::granted},
      {open_gate, get("/", "host", "LocalHost"), admission::granted},
      {open_gate, get("/", "host", "127.0.0.1:80"), admission::granted},
      {open_gate, get("/", "host", "[::1]:80"), admission::granted},
      {open_gate, get("/", "host", "10.1.2.3"), admission::granted},
      {open_gate, get("/", "host", "Node7:80"), admission::granted},
      {open_gate, get("/", "host", "evil.example"), admission::wrong_host},
      {open_gate, get("/", "host", "localhost.evil.example"), admission::wrong_host},
      {open_gate, get("/", "host", "evil.example:80"), admission::wrong_host},
      {open_gate, get("/", "host", ""), admission::wrong_host},
      {open_gate, get("/", "host", "[evil"), admission::wrong_host},
      {local_gate, get("/", "host", "evil.example"), admission::granted},
      {open_gate, get("/", "sec-fetch-site", "same-origin"), admission::granted},
      {open_gate, get("/", "sec-fetch-site", "none"), admission::granted},
      {open_gate, get("/", "sec-fetch-site", "same-site"), admission::cross_site},
      {open_gate, get("/", "sec-fetch-site", "cross-site"), admission::cross_site},
      {closed_gate, get("/"), admission::token_needed},
      {closed_gate, get("/", "authorization", "Bearer " + token), admission::granted},
      {closed_gate, get("/", "authorization", token), admission::token_needed},
      {closed_gate, get("/", "authorization", "Bearer "), admission::token_needed},
      {closed_gate, get("/", "authorization", "Bearer " + token + "0"), admission::token_needed},
      {closed_gate, named_request, admission::granted},
      {closed_gate, get("/", "cookie", "a=b; elastic_status_80=" + session), admission::granted},
      {closed_gate, get("/", "cookie", "elastic_status_80=x" + session), admission::token_needed},
      {closed_gate, get("/", "cookie", "other=" + session), admission::token_needed},
      {closed_gate, get("/", "cookie", "elastic_status_80=" + token), admission::token_needed},
      {closed_gate, get("/", "authorization", "Bearer " + session), admission::token_needed},
      {closed_gate, get("/?token=" + session), admission::token_needed},
      {closed_gate, get("/?token=" + token), admission::granted_by_query},
      {closed_gate, get("/?a=b&token=" + token), admission::granted_by_query},
      {closed_gate, get("/?token="), admission::token_needed},
      {closed_gate, get("/?xtoken=" + token), admission::token_needed},
      {closed_gate, get("/?token=" + token, "sec-fetch-site", "cross-site"), admission::cross_site},
      {open_gate, linked_request("/"), admission::granted},
      {open_gate, linked_request("/", "navigate", "iframe"), admission::cross_site},
      {open_gate, linked_request("/", "navigate", ""), admission::cross_site},
      {open_gate, linked_request("/", "no-cors", "document"), admission::cross_site},
      {open_gate, linked_request("/", "cors", "empty"), admission::cross_site},
      {open_gate, linked_request("/api/v1/job"), admission::cross_site},
      {open_gate, linked_request("/metrics"), admission::cross_site},
      {open_gate, linked_request("/page.js"), admission::cross_site},
      {open_gate, post, admission::cross_site},
      {open_gate, link_to_other_host, admission::wrong_host},
      {closed_gate, linked_request("/"), admission::token_needed},
      {closed_gate, linked_request("/?token=x" + token), admission::token_needed},
      {closed_gate, linked_request("/?token=" + token), admission::granted_by_query},
      {closed_gate, link_with_cookie, admission::granted}};
  for (const row& entry : rows) {
    CAPTURE(entry.request.path, entry.request.query, entry.request.headers);
    CHECK(admission_of(entry.request, entry.gate) == entry.verdict);
  }
}

std::string answer_line(const http_head& request, const status_gate& gate,
                        const job_view& view) {
  const status_answer answer = answer_of(request, gate, view_source(view), 1'800'000'000'000'000);
  return std::to_string(answer.status) + " " + answer.type;
}

TEST_CASE("status: each path has its answer", "[status]") {
  const job_view view = elastic::test::view_of(journal_story().begin().start(1, 2).records);
  const status_gate gate;
  const std::string plain_text = "text/plain; charset=utf-8";
  CHECK(answer_line(get("/"), gate, view) == "200 text/html; charset=utf-8");
  CHECK(answer_line(get("/page.js"), gate, view) == "200 text/javascript; charset=utf-8");
  CHECK(answer_line(get("/page.css"), gate, view) == "200 text/css; charset=utf-8");
  CHECK(answer_line(get("/metrics"), gate, view) == "200 text/plain; version=0.0.4; charset=utf-8");
  CHECK(answer_line(get("/metrics", "accept", "application/openmetrics-text"), gate, view) ==
        "200 application/openmetrics-text; version=1.0.0; charset=utf-8");
  CHECK(answer_line(get("/api/v1/job"), gate, view) == "200 application/json");
  CHECK(answer_line(get("/api/v1/job", "accept", "text/plain"), gate, view) == "200 " + plain_text);
  CHECK(answer_line(get("/api/v1/events"), gate, view) == "200 text/event-stream");
  CHECK(answer_line(get("/livez"), gate, view) == "200 " + plain_text);
  CHECK(answer_line(get("/readyz"), gate, view) == "200 " + plain_text);
  CHECK(answer_line(get("/nothing"), gate, view) == "404 " + plain_text);
  CHECK(answer_line(get("//evil.example"), gate, view) == "404 " + plain_text);
  CHECK(answer_line(get("/../etc/passwd"), gate, view) == "404 " + plain_text);
  CHECK(answer_line(get("/", "sec-fetch-site", "cross-site"), gate, view) == "403 " + plain_text);
  CHECK(answer_line(get("/livez", "host", "evil.example"), gate, view) == "421 " + plain_text);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get"}) {
    http_head request = get("/");
    request.method = method;
    CHECK(answer_line(request, gate, view) == "405 " + plain_text);
  }
}

TEST_CASE("status: a job without roles says so to who asks about one", "[status]") {
  status_gate gate;
  gate.token = token;
  const job_view view;
  for (const char* method : {"GET", "POST"}) {
    http_head request = get("/roles/trainer/api/v1/commands/pause");
    request.method = method;
    CHECK(answer_of(request, gate, view_source(view), 0).status == 401);
    const status_answer answer = answer_of(request, {}, view_source(view), 0);
    CHECK(answer.status == 404);
    CHECK(answer.body == "this job has no roles\n");
  }
}

TEST_CASE("status: probes are for everybody, reasons for those who may look", "[status]") {
  status_gate gate;
  gate.token = token;
  journal_story story;
  story.begin().tell(journal_story::of(elastic::job_event::type::rendezvous_started));
  const job_view view = elastic::test::view_of(story.records);
  const auto body = [&](const http_head& request) {
    const status_answer answer = answer_of(request, gate, view_source(view), story.now_us);
    return std::to_string(answer.status) + " " + answer.body;
  };
  CHECK(body(get("/livez")) == "200 ok\n");
  CHECK(body(get("/readyz")) == "503 rendezvous\n");
  CHECK(body(get("/readyz", "authorization", "Bearer " + token)) ==
        "503 rendezvous: waiting for the nodes of the next round\n");
  CHECK(body(get("/readyz?verbose")) == "503 rendezvous\n");
  CHECK(body(get("/readyz?a=b&verbose=1", "authorization", "Bearer " + token)) ==
        "503 [-]agent rendezvous: waiting for the nodes of the next round\n"
        "[-]round none yet\n"
        "[-]workers 0 of 0 run\n"
        "not ready\n");
  CHECK(body(get("/readyz?verbosely", "authorization", "Bearer " + token)) ==
        "503 rendezvous: waiting for the nodes of the next round\n");
  CHECK(body(get("/livez?verbose", "authorization", "Bearer " + token)) ==
        "200 [+]loop answers\nok\n");
  CHECK(body(get("/api/v1/job")).substr(0, 24) == "401 a token is needed: o");
  CHECK(body(get("/metrics")).substr(0, 4) == "401 ");
}

TEST_CASE("status: the job is looked at once, and for nobody who is refused", "[status]") {
  status_gate gate;
  gate.token = token;
  http_head post = get("/metrics", "authorization", "Bearer " + token);
  post.method = "POST";
  http_head cross_site_request = get("/metrics", "authorization", "Bearer " + token);
  cross_site_request.headers["sec-fetch-site"] = "cross-site";
  struct row {
    http_head request;
    int status;
    int looks;
  };
  const std::vector<row> rows = {{get("/metrics"), 401, 0},
                                 {get("/api/v1/job"), 401, 0},
                                 {get("/api/v1/curves"), 401, 0},
                                 {get("/api/v1/journal"), 401, 0},
                                 {get("/api/v1/job?token=x" + token), 401, 0},
                                 {get("/metrics", "host", "evil.example"), 421, 0},
                                 {post, 405, 0},
                                 {cross_site_request, 403, 0},
                                 {get("/livez"), 200, 0},
                                 {get("/readyz"), 503, 1},
                                 {get("/nothing", "authorization", "Bearer " + token), 404, 0},
                                 {get("/page.js", "authorization", "Bearer " + token), 200, 0},
                                 {get("/api/v1/job", "authorization", "Bearer " + token), 200, 1},
                                 {get("/metrics", "authorization", "Bearer " + token), 200, 1}};
  for (const row& entry : rows) {
    CAPTURE(entry.request.path, entry.request.query, entry.request.headers);
    int looks = 0;
    elastic::detail::status_source source = view_source({});
    source.view = source.look = [&] {
      ++looks;
      return std::make_shared<const job_view>();
    };
    CHECK(answer_of(entry.request, gate, source, 0).status == entry.status);
    CHECK(looks == entry.looks);
  }
}

TEST_CASE("status gate: secrets are for the user of the job, root, and who has shown a token",
          "[status]") {
  status_gate open_gate;
  status_gate closed_gate;
  closed_gate.token = token;
  constexpr std::uint32_t owner = 1000;
  struct row {
    const status_gate& gate;
    std::optional<std::uint32_t> client;
    bool may_see;
  };
  // A token does not make another user of a Unix socket the owner.
  const std::vector<row> rows = {
      {open_gate, std::nullopt, false}, {closed_gate, std::nullopt, true},
      {open_gate, owner, true},         {closed_gate, owner, true},
      {open_gate, 0U, true},            {closed_gate, 0U, true},
      {open_gate, 1001U, false},        {closed_gate, 1001U, false}};
  for (const row& entry : rows) {
    CAPTURE(entry.gate.token, entry.client.value_or(9999));
    CHECK(may_see_secrets(entry.gate, entry.client, owner) == entry.may_see);
  }
}

TEST_CASE("status answer: only a request for the job measures what workers use", "[status]") {
  elastic::detail::status_source source = view_source({});
  int looks = 0;
  source.look = [&] {
    ++looks;
    return std::make_shared<const job_view>();
  };
  for (const char* path : {"/", "/metrics", "/readyz", "/api/v1/curves", "/api/v1/events"}) {
    CHECK(answer_of(get(path), {}, source, 0).status != 404);
  }
  CHECK(looks == 0);
  CHECK(answer_of(get("/api/v1/job"), {}, source, 0).status == 200);
  CHECK(looks == 1);
}

TEST_CASE("status: a token in the query becomes a cookie", "[status]") {
  status_gate gate;
  gate.token = token;
  gate.cookie = "elastic_status_80";
  gate.session = session;
  const status_answer answer = answer_of(get("/?token=" + token), gate, view_source({}), 0);
  const std::string text = response_text(answer, true, true);
  CHECK_THAT(text, contains_text("HTTP/1.1 303 See Other\r\n"));
  CHECK_THAT(text, contains_text("\r\nLocation: /\r\n"));
  CHECK_THAT(text, contains_text("\r\nSet-Cookie: elastic_status_80=" + session +
                                 "; Path=/; HttpOnly; SameSite=Lax\r\n"));
  CHECK(answer_of(get("//evil.example?token=" + token), gate, view_source({}), 0).status == 404);
}

TEST_CASE("status: every answer forbids what a page does not need", "[status]") {
  const std::string text = response_text(elastic::detail::refusal_answer(404, "no"), true, false);
  for (const char* header :
       {"Content-Length: 3", "Cache-Control: no-store", "X-Content-Type-Options: nosniff",
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy: same-origin", "Referrer-Policy: no-referrer",
        "Connection: close"}) {
    CHECK_THAT(text, contains_text(std::string("\r\n") + header + "\r\n"));
  }
  CHECK(text.ends_with("\r\n\r\nno\n"));
  CHECK(text.find("Access-Control") == std::string::npos);
}

TEST_CASE("status page: is small, and takes nothing from outside", "[status]") {
  const std::string html = elastic::detail::page_html;
  const std::string js =
      std::string(elastic::detail::common_js) + elastic::detail::page_js;
  const std::string css = elastic::detail::page_css;
  CHECK(html.size() + js.size() + css.size() < 40 * 1024);
  for (const std::string& text : {html, js, css}) {
    CHECK(text.find("://") == std::string::npos);
    CHECK(text.find("innerHTML") == std::string::npos);
    CHECK(text.find("style=") == std::string::npos);
    CHECK(text.find("eval(") == std::string::npos);
  }
}

// ---- events -------------------------------------------------------------------------------------

TEST_CASE("status events: where a viewer goes on", "[status]") {
  const auto cursor_at = [](http_head request) {
    return elastic::detail::cursor_of(request);
  };
  CHECK(cursor_at(get("/", "last-event-id", "7-12")) == event_cursor{7, 12});
  CHECK(cursor_at(get("/?after=7-3")) == event_cursor{7, 3});
  CHECK(cursor_at(get("/?after=7-3", "last-event-id", "7-12")) == event_cursor{7, 12});
  for (const char* text : {"", "7", "-", "7-", "-7", "7-x", "7-1x", "x-1", "7--1", "-7-1",
                           "99999999999999999999-1", "7-1\n"}) {
    CAPTURE(text);
    CHECK(cursor_at(get("/", "last-event-id", text)) == event_cursor{});
  }
}

TEST_CASE("status events: what a viewer is sent", "[status]") {
  journal_story story;
  story.begin().start(1, 1);
  const auto records_after = [&](std::int64_t sequence) {
    return std::vector<elastic::journal_record>(story.records.begin() + sequence,
                                                story.records.end());
  };
  const std::string reset = "event: reset\ndata: {}\n\n";
  struct row {
    event_cursor cursor;
    std::vector<elastic::journal_record> records;
    bool is_reset;
    std::string begin;
  };
  const std::vector<row> rows = {{{0, 0}, records_after(0), false, "id: 7-1\ndata: {\"seq\": 1"},
                                 {{7, 2}, records_after(2), false, "id: 7-3\ndata: {\"seq\": 3"},
                                 {{7, 5}, {}, false, ""},
                                 {{7, 1}, records_after(3), true, "id: 7-4\n"},
                                 {{0, 0}, records_after(3), true, "id: 7-4\n"},
                                 {{6, 99}, records_after(0), true, "id: 7-1\n"}};
  for (const row& entry : rows) {
    event_cursor cursor = entry.cursor;
    const std::string text = events_text(entry.records, 7, cursor);
    CAPTURE(text);
    CHECK(text.starts_with((entry.is_reset ? reset : "") + entry.begin));
    if (!entry.records.empty()) {
      const std::string sentence = elastic::detail::event_sentence(entry.records.back().event);
      CHECK_THAT(text, contains_text("\"sentence\": \"" + sentence + "\"}\n\n"));
    }
    CHECK(cursor == event_cursor{7, 5});
  }
}

}  // namespace status_answer_tests
