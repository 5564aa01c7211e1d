// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
//
// The beginning of the script of each page.

"use strict";
// Whatever workers and nodes have said goes into the page by textContent alone.
const $ = id => document.getElementById(id);
const make = (tag, kind, text) => {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
};
const clock = us => new Date(us / 1000).toLocaleTimeString([], { hour12: false });
const isOver = document => ["succeeded", "failed", "stopped"].includes(document.state);

function pairsOf(facts) {
  return facts.map(([name, value]) => {
    const pair = make("div");
    pair.append(make("dt", "", name), make("dd", "", value));
    return pair;
  });
}

function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = !text;
}

// Keeps a page up to date: fetches the document of the job, again after each event. The page has
//   what         who sends the document: "agent" or "job"
//   isOver()     whether the document that it shows says that the job is over
//   take(document), lose()   shows a document; shows that the sender is gone
//   listen(source)           for what else the stream of events has, if it wants that
class Feed {
  constructor(page) {
    Object.assign(this, { page, source: null, isFetching: false, isStale: false });
    // How often the connection has ended, and how often the stream had the last document.
    Object.assign(this, { losses: 0, ends: 0 });
  }

  // The connection has ended. Only the sender itself can say that the job is over.
  lose() {
    ++this.losses;
    if (this.page.isOver()) return notice("The " + this.page.what + " has ended.");
    notice("The " + this.page.what + " is gone, or cannot be reached. Trying again…");
    this.page.lose();
  }

  async refresh() {
    if (this.isFetching) {
      this.isStale = true;
      return;
    }
    this.isFetching = true;
    let answer = null;
    const { losses, ends } = this;
    try {
      answer = await fetch("api/v1/job", { cache: "no-store" });
      if (answer.status === 401) throw new Error("a token is needed: open the address it printed");
      if (!answer.ok) throw new Error("it says " + answer.status);
      const document = await answer.json();
      // An answer from before the connection ended does not show that the sender is there.
      if (this.ends === ends && (this.losses === losses || isOver(document))) {
        this.page.take(document);
        if (this.losses !== losses) this.lose();
      }
      if (!this.source) this.follow();
    } catch (failure) {
      if (answer) notice("The job is not shown (" + failure.message + "). Trying again…");
      // If the stream is up, it tells what comes of that.
      else if (!this.source || this.source.readyState !== EventSource.OPEN) this.lose();
      if (!this.source) setTimeout(() => this.refresh(), 2000);
    } finally {
      // Many changes in a row are looked at together.
      setTimeout(() => {
        this.isFetching = false;
        if (!this.isStale) return;
        this.isStale = false;
        this.refresh();
      }, 100);
    }
  }

  follow() {
    const source = this.source = new EventSource("api/v1/events");
    source.onopen = () => {
      notice("");
      this.refresh();
    };
    source.addEventListener("changed", () => this.refresh());
    source.addEventListener("reset", () => this.refresh());
    source.addEventListener("ended", event => {
      ++this.ends;
      this.page.take(JSON.parse(event.data));
    });
    if (this.page.listen) this.page.listen(source);
    source.onerror = () => {
      // Closed: the stream was refused, as that of one viewer too many is. A request tells whether
      // the sender is there.
      if (source.readyState !== EventSource.CLOSED) return this.lose();
      this.source = null;
      setTimeout(() => this.refresh(), 2000);
    };
  }
}
