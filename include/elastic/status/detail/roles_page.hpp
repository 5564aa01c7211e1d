// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic::detail {

// The page of a job of several roles: what each role is at, and a link to its own page, which is
// that of a job without roles (status_page). It has the colours of that page (page.css), and its
// script begins with page_script_head.

inline constexpr char roles_page_html[] = R"page(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>elastic</title>
<link rel="stylesheet" href="page.css">
<link rel="stylesheet" href="roles.css">
<script src="roles.js" defer></script>
<header>
  <h1><span id="job">job</span> <b id="state" role="status">…</b></h1>
  <p id="reason"></p>
  <p id="notice" role="alert" hidden></p>
  <dl id="facts"></dl>
</header>
<section>
  <h2>Roles</h2>
  <p class="hint">The name of a role leads to its attempts, its workers and what happened in it.</p>
  <div id="roles"></div>
</section>
</html>
)page";

inline constexpr char roles_page_css[] = R"page(.role {
  border-left: 3px solid var(--wait); padding-left: .8rem; margin: .8rem 0;
}
.role.running, .role.succeeded { border-color: var(--run); }
.role.failed { border-color: var(--bad); }
.role.stopping, .role.stopped { border-color: var(--stop); }
.role h3 { font-size: 1rem; margin: 0; }
.role h3 b { font-weight: 600; margin-left: .5em; }
.role dl { display: flex; flex-wrap: wrap; gap: .3rem 1.6rem; margin: .3rem 0; }
.role dl div { display: flex; gap: .4em; }
.role table { border-collapse: collapse; margin: .3rem 0; font-size: .9rem; }
.role th, .role td { text-align: left; padding: .1rem 1rem .1rem 0; font-weight: 400; }
.role th { color: var(--faint); }
)page";

inline constexpr char roles_page_js[] = R"page(
let job = null, source = null, fetching = false, stale = false, gone = false;
// How often the connection has ended.
let losses = 0;
const mostWorkers = 64;

function showHead() {
  const state = gone && !isOver(job) ? "gone" : job.state;
  document.title = state + " · " + job.run_id;
  $("job").textContent = job.run_id;
  $("state").textContent = state;
  $("state").className = state;
  $("reason").textContent = job.reason;
  const shown = [["node", job.node], ["begun", clock(job.began_us)]];
  if (job.max_restarts) shown.push(["restarts of all", job.restarts + " of " + job.max_restarts]);
  $("facts").replaceChildren(...pairsOf(shown));
}

function factsOf(role) {
  const shown = [["if it fails", role.on_failure]];
  if (role.starts_after.length) shown.push(["starts after", role.starts_after.join(", ")]);
  if (role.stops_with) shown.push(["stops with", role.stops_with]);
  if (role.max_restarts) shown.push(["restarts", role.restarts + " of " + role.max_restarts]);
  if (role.epoch !== undefined) shown.push(["round", role.epoch]);
  if (role.progress.step !== undefined) {
    const { step, total } = role.progress;
    shown.push(["step", step + (total ? " of " + total : "")]);
  }
  const count = role.worker_count;
  if (count) shown.push([role.replicas ? "replicas" : "workers", count]);
  return shown;
}

// Where the workers are, by rank.
function tableOf(role) {
  const workers = role.workers.slice(0, mostWorkers);
  const ports = [...new Set(workers.flatMap(worker => Object.keys(worker.ports)))].sort();
  const table = make("table"), head = make("tr");
  for (const name of ["rank", "node", "address", ...ports]) head.append(make("th", "", name));
  table.append(head);
  for (const worker of workers) {
    const row = make("tr");
    const cells = [worker.rank, worker.node, worker.address, ...ports.map(p => worker.ports[p])];
    for (const cell of cells) row.append(make("td", "", cell === undefined ? "" : cell));
    table.append(row);
  }
  return table;
}

function showRoles() {
  $("roles").replaceChildren(...job.roles.map(role => {
    const box = make("div", "role " + role.state), head = make("h3");
    box.dataset.role = role.name;
    const link = make("a", "", role.name);
    link.href = role.path.slice(1);
    let state = role.state + (role.ready ? ", ready" : "");
    if (role.state === "running" && role.activity !== "running") state += ", " + role.activity;
    head.append(link, make("b", "", state));
    const list = make("dl");
    list.append(...pairsOf(factsOf(role)));
    box.append(head, list);
    if (role.reason && role.state !== "running") box.append(make("p", "why", role.reason));
    if (role.workers.length) box.append(tableOf(role));
    const more = role.worker_count - Math.min(role.workers.length, mostWorkers);
    if (more > 0) box.append(make("p", "hint", "and " + more + " more"));
    return box;
  }));
}

function show() {
  showHead();
  showRoles();
}

function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = !text;
}

function take(document) {
  job = document;
  gone = false;
  show();
}

// The connection has ended. Only the job itself can say that it is over.
function lose() {
  ++losses;
  if (job && isOver(job)) return notice("The job has ended.");
  notice("The job is gone, or cannot be reached. Trying again…");
  gone = true;
  if (job) show();
}

async function refresh() {
  if (fetching) {
    stale = true;
    return;
  }
  fetching = true;
  let answer = null;
  const known = job, before = losses;
  try {
    answer = await fetch("api/v1/job", { cache: "no-store" });
    if (answer.status === 401) throw new Error("a token is needed: open the address it printed");
    if (!answer.ok) throw new Error("it says " + answer.status);
    const document = await answer.json();
    // The answer is older than what the stream has said since, and than the end of the connection.
    if (job === known && losses === before) {
      take(document);
    } else if (job === known && isOver(document)) {
      take(document);
      lose();
    }
    if (!source) follow();
  } catch (failure) {
    if (answer) notice("The job is not shown (" + failure.message + "). Trying again…");
    else lose();
    if (!source) setTimeout(refresh, 2000);
  } finally {
    // Many changes in a row are looked at together.
    setTimeout(() => {
      fetching = false;
      if (!stale) return;
      stale = false;
      refresh();
    }, 100);
  }
}

function follow() {
  source = new EventSource("api/v1/events");
  source.onopen = () => {
    notice("");
    refresh();
  };
  source.addEventListener("changed", refresh);
  source.addEventListener("ended", event => take(JSON.parse(event.data)));
  source.onerror = () => {
    lose();
    if (source.readyState !== EventSource.CLOSED) return;
    source = null;
    setTimeout(refresh, 2000);
  };
}

refresh();
)page";

}  // namespace elastic::detail
