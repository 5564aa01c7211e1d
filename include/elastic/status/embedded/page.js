// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

let job = null, skew = 0, selected = null, cells = null, ranks = new Map(), fetched = 0;
// When the agent was last heard of, if it is gone: time stands still then.
let goneAt = 0;
const now = () => goneAt || Date.now() * 1000 + skew;
const span = seconds => {
  if (seconds < 60) return seconds.toFixed(1) + " s";
  const whole = Math.floor(seconds), hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours ? hours + " h " + minutes + " min" : minutes + " min " + whole % 60 + " s";
};
const mib = bytes => Math.round(bytes / 1048576) + " MiB";
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const over = () => isOver(job);
const last = () => job.attempts[job.attempts.length - 1];
const stalled = () => job.stall && job.stall.is_there && !over() ? job.stall : null;
const blamed = worker => stalled() && stalled().rank === worker.rank;
const slow = worker => worker.state === "running" &&
  (blamed(worker) || worker.suspicion || worker.ratio > 1.25);
const lags = worker => blamed(worker) ? "holds up the job" :
  worker.suspicion || worker.ratio.toFixed(1) + " × the median";

// Every worker that is known, with its node, by rank.
function rankAll() {
  ranks = new Map();
  const add = (workers, on) => {
    for (const worker of workers) ranks.set(worker.rank, Object.assign(worker, { on }));
  };
  // Those of the round that runs come last: a rank may have been another node's before.
  const nodes = job.whole ? [...job.whole.nodes].reverse() : [];
  for (const node of nodes) add(node.workers, node.host);
  add(job.workers, job.node);
}
const workers = () => [...ranks.values()];
const isOwn = rank => job.workers.some(worker => worker.rank === rank);

// What runs, for whom and where. Only some readers get the arguments.
function launchFacts() {
  const { script, arguments: words = [], arguments_left_out: more, user, host, log_dir: logs } =
    job.launch || {};
  if (!script) return [];
  const command = [script, ...words].join(" ") + (more ? " and " + more + " more" : "");
  const facts = [["script", command], ["user", user], ["host", host]];
  if (logs) facts.push(["logs", logs]);
  return facts;
}

function showHead() {
  const state = goneAt ? "gone" : job.condition;
  document.title = state + " · " + job.run_id;
  $("job").textContent = job.run_id;
  $("state").textContent = state;
  $("state").className = state;
  $("reason").textContent = stalled() ? "" : job.condition_reason;
  const stall = stalled();
  $("stall").hidden = !stall;
  $("stall").textContent = stall ? "The job has stalled: " + stall.sentence : "";
  $("stall").title = stall ? stall.evidence : "";
  const facts = [];
  if (last() && last().round >= 0) {
    facts.push(["round", last().round], ["world", last().world_size + " workers"],
      ["node", job.node + " (" + job.group_rank + " of " + last().nodes + ")"]);
  }
  if (job.whole) {
    const { active, waiting, lost, min_nodes: min, max_nodes: max } = job.whole;
    let text = active + waiting + " of " + min + (max > min ? " to " + max : "");
    if (!job.whole.complete && active + waiting < min) {
      text += ", " + (min - active - waiting) + " missing";
    } else if (waiting) text += ", " + waiting + " waiting";
    if (lost) text += ", " + lost + " lost";
    facts.push(["nodes", text]);
  }
  facts.push(["restarts", job.restarts + " of " + job.max_restarts]);
  if (job.replacements) {
    const { worker_epoch: epoch, ranks: count, abandoned } = job.replacements;
    facts.push(["epoch", epoch], ["replaced ranks", count]);
    if (abandoned) facts.push(["restarts of all instead", abandoned]);
  }
  if (job.standbys && !over()) {
    const { ready, making, memory_bytes: bytes } = job.standbys;
    const memory = bytes ? " (" + mib(bytes) + ")" : "";
    const more = making ? ", " + making + " in the making" : "";
    facts.push(["standbys", ready + " ready" + memory + more]);
  }
  if (job.goodput !== undefined) {
    const basis = job.has_steps ? "" : " (no steps reported)";
    facts.push(["goodput", (job.goodput * 100).toFixed(1) + " %" + basis]);
  }
  facts.push(["begun", clock(job.began_us)], ["time zone", zone], ...launchFacts());
  $("facts").replaceChildren(...pairsOf(facts));
}

function showProgress() {
  const at = job.progress, slowest = workers().filter(w => w.step >= 0)
    .reduce((a, b) => a && a.step <= b.step ? a : b, null);
  $("progress").hidden = !slowest;
  if (!slowest) return;
  const total = slowest.total || 0;
  $("bar").hidden = !total;
  if (total) $("bar").value = Math.min(1, slowest.step / total);
  let text = "step " + slowest.step + (total ? " of " + total : "");
  if (at.step_seconds) {
    text += " · " + at.step_seconds.toPrecision(3) + " s a step";
    if (total > slowest.step && job.condition === "running") {
      text += " · " + span(at.step_seconds * (total - slowest.step)) + " left";
    }
  }
  if (at.text) text += " · " + at.text;
  $("steps").textContent = text;
}

const marks = { failure: "✕ failure", hang: "✕ hang", membership: "↻ nodes",
  request: "■ stopped", success: "✓ success", "": "" };

function showAttempts() {
  const begin = job.attempts.length ? job.attempts[0].began_us : 0;
  const end = over() && last() ? last().ended_us || now() : now();
  const whole = Math.max(1, end - begin);
  $("attempts").replaceChildren(...job.attempts.map(attempt => {
    const row = make("div", "attempt " + attempt.end);
    const until = attempt.ended_us || end, started = attempt.started_us;
    const track = make("div", "track");
    const part = (kind, from, to, title) => {
      const bar = make("div", "part " + kind);
      bar.style.left = (from - begin) / whole * 100 + "%";
      bar.style.width = Math.max(0, to - from) / whole * 100 + "%";
      bar.title = title;
      track.append(bar);
    };
    part("met", attempt.began_us, started || until, "met and started");
    if (started) part("ran", started, until, "ran");
    // Replicas run without having met.
    const unmet = !started ? "meeting" : attempt.end ? "ended" : "running";
    let label = attempt.round >= 0 ? "round " + attempt.round : unmet;
    if (attempt.replaced) label += attempt.replaced.length ? " · replaced" : " · kept all";
    row.append(make("div", "", label + " · " + clock(attempt.began_us)), track);
    const why = make("div", "why");
    if (attempt.replaced && attempt.replaced.length) {
      why.append(make("span", "", "replaced rank " + attempt.replaced.join(", ") + " · "));
    }
    if (attempt.end) why.append(make("span", "mark", marks[attempt.end]));
    const ran = started ? span((until - started) / 1e6) : "";
    let text = started ? " after " + ran : "";
    if (!attempt.end) {
      text = started ? (goneAt ? "ran for " + ran + " until the agent was gone" : "runs for " + ran)
        : "not yet running";
    }
    if (attempt.reason && attempt.end !== "success") text += ": " + attempt.reason;
    if (attempt.cause) text += " · " + attempt.cause;
    if (attempt.lost_seconds !== undefined) text += " · lost " + span(attempt.lost_seconds);
    if (attempt.decision) text += " · " + attempt.decision;
    why.append(make("span", "", text));
    row.append(why);
    return row;
  }));
}

// ---- ranks by nodes ---------------------------------------------------------------------------

function layOut() {
  const own = job.workers.length, attempt = last();
  const world = Math.max(attempt ? attempt.world_size : 0, job.base_rank + own);
  const nodes = attempt && attempt.nodes ? attempt.nodes : 1;
  const even = own > 0 && world === own * nodes && job.base_rank % own === 0;
  const width = $("grid").clientWidth || 300;
  const size = world > 512 ? 12 : 22, label = 64;
  const fit = Math.max(1, Math.floor((width - label) / size));
  const rows = [];
  const add = (name, first, count) => {
    for (let at = 0; at < count; at += fit) {
      rows.push({ name: at ? "" : name, first: first + at, count: Math.min(fit, count - at) });
    }
  };
  if (job.whole) {
    for (const node of job.whole.nodes) {
      const count = node.own ? own : node.workers.length;
      if (count) {
        add(node.host, node.own ? job.base_rank : node.base_rank, count);
        continue;
      }
      const since = node.presence === "lost" ? " " + clock(node.since_us) : "";
      rows.push({ name: node.host, first: -1, count: 0, note: node.presence + since });
    }
  } else if (even) {
    for (let node = 0; node < nodes; ++node) {
      add(node === job.group_rank ? "this node" : "node " + node, node * own, own);
    }
  } else {
    add("this node", job.base_rank, own);
  }
  return { rows, size, label, width };
}

const glyphs = { failed: "✕", hung: "!", stopped: "■", succeeded: "✓" };

function drawGrid() {
  cells = layOut();
  const canvas = $("grid"), scale = window.devicePixelRatio || 1;
  const { rows, size, label, width } = cells, height = Math.max(size, rows.length * size);
  canvas.style.height = height + "px";
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const colour = name => style.getPropertyValue("--" + name).trim();
  const colours = { running: colour(goneAt ? "wait" : "run"), waiting: colour("wait"),
    succeeded: colour("run"),
    failed: colour("bad"), hung: colour("bad"), stopped: colour("stop") };
  const faint = colour("line"), text = colour("text"), back = colour("back"), lag = colour("slow");
  pen.scale(scale, scale);
  pen.textBaseline = "middle";
  rows.forEach((row, y) => {
    pen.textAlign = "left";
    pen.fillStyle = text;
    pen.font = "12px system-ui, sans-serif";
    pen.fillText(row.name, 0, y * size + size / 2, label - 6);
    if (row.note) pen.fillText(row.note, label, y * size + size / 2);
    pen.textAlign = "center";
    pen.font = "bold " + (size - 9) + "px system-ui, sans-serif";
    for (let x = 0; x < row.count; ++x) {
      const worker = ranks.get(row.first + x);
      const left = label + x * size + 1, top = y * size + 1, side = size - 3;
      if (!worker) {
        pen.strokeStyle = faint;
        pen.strokeRect(left + .5, top + .5, side - 1, side - 1);
      } else {
        const late = slow(worker);
        pen.fillStyle = late ? lag : colours[worker.state];
        pen.fillRect(left, top, side, side);
        const glyph = late ? "◧" : glyphs[worker.state];
        pen.fillStyle = back;
        if (glyph && size > 14) pen.fillText(glyph, left + side / 2, top + side / 2 + 1);
      }
      if (row.first + x === selected) {
        pen.strokeStyle = text;
        pen.lineWidth = 2;
        pen.strokeRect(left - .5, top - .5, side + 1, side + 1);
        pen.lineWidth = 1;
      }
    }
  });
  const counts = {};
  for (const worker of ranks.values()) counts[worker.state] = (counts[worker.state] || 0) + 1;
  const words = Object.entries(counts).map(([state, count]) =>
    count + " " + state + (glyphs[state] ? " " + glyphs[state] : ""));
  const lagging = workers().filter(slow);
  if (lagging.length) {
    words.push(lagging.length + " slow or stuck ◧: " + lagging.slice(0, 8)
      .map(w => "rank " + w.rank + " (" + lags(w) + ")").join(", "));
  }
  const others = (last() ? last().world_size : 0) - ranks.size;
  if (others > 0) words.push(others + " on other nodes, which show them ▢");
  if (job.whole && job.whole.lost) words.push(job.whole.lost + " nodes lost");
  $("legend").textContent = (goneAt ? "before the agent was gone: " : "") + words.join(" · ");
  canvas.setAttribute("aria-label", "ranks by nodes: " + words.join(", "));
}

// Where nobody has looked yet, there are no values.
const processors = worker =>
  worker.processors >= 0 ? Math.round(worker.processors * 100) + " %" : "";
const memory = worker => worker.memory_bytes ? mib(worker.memory_bytes) : "";

// What a table and a cell say of a worker, as the columns of the table.
const columns = worker => [worker.rank, worker.on, worker.pid || "", slow(worker) ?
  worker.state + ", " + lags(worker) : worker.state, worker.step >= 0 ? worker.step : "",
  worker.step_seconds ? worker.step_seconds.toPrecision(3) : "",
  worker.ratio ? worker.ratio.toFixed(2) : "", processors(worker), memory(worker)];
const mostRows = 512;

function showTable() {
  if (!$("table").open) return;
  const all = workers().sort((a, b) => a.rank - b.rank), shown = all.slice(0, mostRows);
  $("rows").replaceChildren(...shown.map(worker => {
    const row = make("tr");
    row.append(...columns(worker).map(value => make("td", "", value)));
    row.addEventListener("click", () => select(worker.rank));
    return row;
  }));
  $("more").textContent = all.length > mostRows ? "and " + (all.length - mostRows) + " more" : "";
}

$("table").addEventListener("toggle", () => showTable());

function showRank() {
  const box = $("rank");
  const worker = selected === null ? null : ranks.get(selected);
  if (!worker) {
    box.replaceChildren();
    if (selected !== null) box.append(make("p", "", "rank " + selected + " is another node's"));
    return;
  }
  let head = "rank " + worker.rank + " · " + worker.on + " · local " + worker.local_rank;
  if (worker.pid) head += " · pid " + worker.pid;
  head += " · " + worker.state;
  if (worker.exit_code !== undefined) head += " · exit code " + worker.exit_code;
  if (worker.signal !== undefined) head += " · signal " + worker.signal;
  if (worker.replacements) head += " · replaced " + worker.replacements + " ×";
  const lines = [make("b", "", head)];
  const attempt = job.attempts.filter(a => a.failed_rank === worker.rank).pop();
  if (attempt) {
    lines.push(make("p", "", "what ended round " + attempt.round + ": " + attempt.reason));
    if (attempt.cause) lines.push(make("p", "", attempt.cause));
    if (attempt.last_lines) lines.push(make("pre", "", attempt.last_lines));
  }
  if (worker.step >= 0) {
    let text = "step " + worker.step + (worker.total ? " of " + worker.total : "");
    if (worker.step_seconds) text += " · " + worker.step_seconds.toPrecision(3) + " s a step";
    if (worker.ratio) text += " · " + worker.ratio.toFixed(2) + " × the median";
    if (worker.progress_us) text += " · said " + span((now() - worker.progress_us) / 1e6) + " ago";
    lines.push(make("p", "", text));
  }
  if (worker.memory_bytes) {
    const used = worker.processors >= 0 ? "CPU " + processors(worker) + " · " : "";
    lines.push(make("p", "", used + "memory " + memory(worker)));
  }
  if (worker.suspicion) {
    lines.push(make("p", "mark", "seems " + worker.suspicion + ": " + worker.suspicion_reason));
  }
  if (worker.text) lines.push(make("p", "", worker.text));
  if (worker.reason) lines.push(make("pre", "", worker.reason));
  if (!job.shows_output && !isOwn(worker.rank)) {
    lines.push(make("p", "hint", "its output is shown to who has a token (--status-token-file)"));
  }
  if (wrote.rank === selected) {
    for (const stream of wrote.streams) {
      if (!stream.lines.length) continue;
      lines.push(make("p", "hint", "last lines of " + stream.name + " " + stream.path),
        make("pre", "", stream.lines.join("\n")));
    }
  }
  box.replaceChildren(...lines);
  for (const text of box.querySelectorAll("pre")) text.scrollTop = text.scrollHeight;
  askOutput();
}

// ---- the output of the chosen rank --------------------------------------------------------------

// Where everybody of the host may look, only the last lines of this node's ranks are shown.
let wrote = {}, reader = null, isDrawing = false, asking = 0;

function addLines(rank, name, lines) {
  const stream = wrote.streams.find(each => each.name === name);
  stream.lines = stream.lines.concat(lines).slice(-200);
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    showRank();
  });
}

function textOf({ text, base64 }) {
  if (text !== undefined) return text;
  return new TextDecoder().decode(Uint8Array.from(atob(base64), letter => letter.charCodeAt(0)));
}

function readOutput() {
  if (reader) reader.close();
  reader = null;
  wrote = {};
  if (selected === null || !job.shows_output) return;
  const source = reader = new EventSource("api/v1/output?follow&lines=40&ranks=" + selected);
  const rank = selected;
  // A connection that is made again begins with the last lines again.
  source.onopen = () => {
    wrote = { rank, streams: ["stdout", "stderr"].map(name => ({ name, path: "", lines: [] })) };
  };
  source.onmessage = event => {
    const piece = JSON.parse(event.data), lines = textOf(piece).split("\n").slice(0, -1);
    if (piece.skipped) lines.unshift("… " + piece.skipped + " bytes were skipped …");
    addLines(rank, piece.stream, lines);
  };
  source.addEventListener("notice", event => {
    addLines(rank, "stdout", [JSON.parse(event.data).text]);
  });
  source.addEventListener("end", () => source.close());
}

async function askOutput() {
  const rank = selected;
  if (job.shows_output || !isOwn(rank) || Date.now() - asking < 2000) return;
  asking = Date.now();
  try {
    const answer = await fetch("api/v1/ranks/" + rank + "/output", { cache: "no-store" });
    if (!answer.ok || rank !== selected) return;
    wrote = await answer.json();
    showRank();
  } catch { /* The next one may come through. */ }
}

function select(rank) {
  selected = rank;
  asking = 0;
  readOutput();
  drawGrid();
  showRank();
}

// The rank of the cell under the pointer; null: there is none.
function rankAt(event) {
  if (!cells) return null;
  const box = $("grid").getBoundingClientRect();
  const row = cells.rows[Math.floor((event.clientY - box.top) / cells.size)];
  const column = Math.floor((event.clientX - box.left - cells.label) / cells.size);
  return row && column >= 0 && column < row.count ? row.first + column : null;
}

$("grid").addEventListener("click", event => {
  const rank = rankAt(event);
  if (rank !== null) select(rank);
});

$("grid").addEventListener("mousemove", event => {
  const worker = ranks.get(rankAt(event));
  const names = ["rank", "on", "pid", "", "step", "s a step:", "× median:", "CPU", "memory"];
  $("grid").title = !worker ? "" : columns(worker)
    .map((value, index) => value === "" ? "" : (names[index] + " " + value).trim())
    .filter(text => text).join(" · ");
});

$("grid").addEventListener("keydown", event => {
  if (!cells || !cells.rows.length) return;
  const wide = cells.rows[0].count, full = cells.rows.filter(row => row.count);
  if (!full.length) return;
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: wide, ArrowUp: -wide }[event.key];
  if (event.key === "Escape") return select(null);
  if (step === undefined) return;
  event.preventDefault();
  const first = full[0].first, end = full[full.length - 1];
  const most = end.first + end.count - 1;
  const next = selected === null ? job.base_rank : selected + step;
  select(Math.min(most, Math.max(first, next)));
});

// ---- curves -------------------------------------------------------------------------------------

const shape = (tag, attributes, kind) => {
  const made = document.createElementNS($("shapes").namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (kind) made.setAttribute("class", kind);
  return made;
};

// The path of a curve in a box of 1000 by 100. A time without values leaves a gap.
function pathOf({ points, span_us: width }, place) {
  const values = points.map(point => point[2]);
  const low = Math.min(...values), high = Math.max(...values);
  // The difference of the largest numbers is none.
  const height = high / 2 - low / 2 || 1;
  let path = "", last = -Infinity;
  for (const [at, , value] of points) {
    const spot = place(at).toFixed(1) + " " + (95 - (value / 2 - low / 2) / height * 90).toFixed(1);
    // A single point is a line of no length, which has round ends.
    path += at - last > 8 * width ? "M" + spot + "h0" : "L" + spot;
    last = at;
  }
  return path;
}

const pointText = ([at, step, value]) => clock(at) + " · step " + step + " · " + value.toPrecision(4);

function figureOf(curve, marks, begin, end) {
  const place = us => (us - begin) / Math.max(1, end - begin) * 1000;
  const { points } = curve, newest = points[points.length - 1];
  const figure = make("figure"), caption = make("figcaption");
  const label = curve.name === "step_seconds" ? "seconds a step" : curve.name;
  const value = make("span", "hint", pointText(newest));
  caption.append(make("b", "", label), value);
  const picture = shape("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img",
    "aria-label": label + ": " + pointText(newest) });
  for (const mark of marks.filter(mark => mark.time_us >= begin)) {
    const x = place(mark.time_us), line = shape("line", { x1: x, x2: x, y1: 0, y2: 100 }, mark.kind);
    const title = shape("title", {});
    title.textContent = clock(mark.time_us) + " " + mark.text;
    line.append(title);
    picture.append(line);
  }
  picture.append(shape("path", { d: pathOf(curve, place), "stroke-width": 1.5,
    "stroke-linecap": "round" }));
  picture.addEventListener("pointermove", event => {
    const box = picture.getBoundingClientRect();
    const at = begin + (event.clientX - box.left) / box.width * (end - begin);
    value.textContent = pointText(points.reduce((a, b) =>
      Math.abs(a[0] - at) <= Math.abs(b[0] - at) ? a : b));
  });
  picture.addEventListener("pointerleave", () => { value.textContent = pointText(newest); });
  figure.append(caption, picture);
  return figure;
}

let drawn = 0;

// Asks for the curves, unless that was less than 5 s ago or somebody points at one.
async function showCurves() {
  if (Date.now() - drawn < 5000 || document.querySelector("svg:hover")) return;
  drawn = Date.now();
  try {
    const answer = await fetch("api/v1/curves", { cache: "no-store" });
    if (!answer.ok) return;
    const { curves, marks } = await answer.json();
    const shown = curves.filter(curve => curve.points.length);
    $("training").hidden = !shown.length;
    const begin = Math.min(...shown.map(curve => curve.points[0][0]));
    const end = Math.max(...shown.map(curve => curve.points[curve.points.length - 1][0]));
    $("curves").replaceChildren(...shown.map(curve => figureOf(curve, marks, begin, end)));
  } catch { /* The next one may come through. */ }
}

// ---- what the agent tells -----------------------------------------------------------------------

function showAll() {
  rankAll();
  showHead();
  showProgress();
  showAttempts();
  drawGrid();
  showTable();
  showRank();
  showCurves();
}

// Takes what an agent says of the job. An answer may be older than what the stream has said.
function take(document) {
  if (job && document.epoch === job.epoch && document.sequence < job.sequence) return;
  job = document;
  fetched = Date.now();
  goneAt = 0;
  skew = job.time_us - fetched * 1000;
  showAll();
}

function lose() {
  if (!job || goneAt) return;
  goneAt = now();
  showAll();
}

const newest = { epoch: 0, seq: 0 };

function tell(record) {
  if (record.epoch === newest.epoch && record.seq <= newest.seq) return;
  Object.assign(newest, { epoch: record.epoch, seq: record.seq });
  // The last document may be too long to arrive before the agent has ended.
  if (record.kind === "agent_ended" && job && record.epoch === job.epoch &&
      record.seq > job.sequence) {
    job.state = ["succeeded", "stopped"].includes(record.state) ? record.state : "failed";
    job.condition = job.state;
    job.reason = job.condition_reason = record.reason || "";
    job.sequence = record.seq;
    showAll();
  }
  const line = make("li");
  line.append(make("time", "", clock(record.time_us)));
  line.append(make("span", "", record.sentence));
  line.dataset.sequence = record.seq;
  line.dataset.kind = record.kind;
  $("events").prepend(line);
  while ($("events").children.length > 300) $("events").lastChild.remove();
}

function listen(source) {
  source.onmessage = event => {
    tell(JSON.parse(event.data));
    feed.refresh();
  };
  source.addEventListener("progress", event => {
    for (const [rank, step, total, seconds] of JSON.parse(event.data).workers) {
      const worker = ranks.get(rank);
      if (!worker) continue;
      Object.assign(worker, { step, total, step_seconds: seconds, progress_us: now() });
      if (job.progress.step_seconds) worker.ratio = seconds / job.progress.step_seconds;
    }
    if (!job) return;
    const spans = workers().map(w => w.step_seconds || 0).filter(s => s > 0);
    spans.sort((a, b) => a - b);
    if (spans.length) job.progress.step_seconds = spans[spans.length >> 1];
    showProgress();
    drawGrid();
    showTable();
    showRank();
    // What else workers say is not among it.
    if (Date.now() - fetched > 3000) feed.refresh();
  });
}

const feed = new Feed({ what: "agent", isOver: () => job && over(), take, lose, listen });

setInterval(() => {
  if (!job || over() || goneAt || document.hidden) return;
  showAttempts();
  askOutput();
  showCurves();
  // Nothing tells of what workers use.
  if (Date.now() - fetched > 5000) feed.refresh();
}, 1000);
addEventListener("resize", () => { if (job) drawGrid(); });
matchMedia("(prefers-color-scheme: dark)")
  .addEventListener("change", () => { if (job) drawGrid(); });
feed.refresh();
