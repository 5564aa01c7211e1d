// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

let job = null, gone = false;
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

const feed = new Feed({
  what: "job",
  isOver: () => job && isOver(job),
  take(document) {
    job = document;
    gone = false;
    show();
  },
  lose() {
    gone = true;
    if (job) show();
  },
});

feed.refresh();
