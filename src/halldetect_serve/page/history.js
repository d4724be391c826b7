/** Search, open, export, delete and review stored reports. */

import { again, capital, confirmed, find, notice, onPlainClick, plural, symbol, visible } from "./api.js";
import { saveFile } from "./views.js";

const PAGE = 50;
const TYPING_MS = 300;
const SAVE_MS = 600;
const percent = (share) => `${Math.round(100 * share)} %`;

export class History {
  /** `open(id)` shows a report; `status(text)` announces a text. */
  constructor(host, { api, session, open, status }) {
    Object.assign(this, { api, session, open, status });
    this.title = host.querySelector("h1");
    for (const name of ["export", "delete", "totals", "filters", "trouble", "table", "rows", "none", "more"]) {
      this[name] = find(`history-${name}`);
    }
    this.export.addEventListener("change", () => this.save(this.export.value));
    this.delete.addEventListener("click", () => this.removeChosen());
    this.filters.addEventListener("input", ({ target }) => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.show(), target.type === "search" ? TYPING_MS : 0);
    });
    this.rows.addEventListener("change", () => this.settle());
    this.more.addEventListener("click", () => this.load());
  }

  get chosen() {
    return [...this.rows.querySelectorAll("input:checked")].map((box) => box.value);
  }

  get mayDelete() {
    return this.session.data.scopes.includes("admin");
  }

  /** Returns the filters as a query string. */
  query() {
    const { kind, ...fields } = Object.fromEntries(new FormData(this.filters));
    const query = new URLSearchParams(kind);
    for (const [name, value] of Object.entries(fields)) if (value.trim()) query.set(name, value.trim());
    return query;
  }

  async show() {
    this.rows.replaceChildren();
    this.next = null;
    // Their rows are not loaded yet.
    for (const control of [this.export, this.delete, this.more]) control.hidden = true;
    await this.load();
    const { total, verdicts, hallucination_rate: rate, corrected_rate: corrected } = await this.api
      .json("v1/reports/summary")
      .catch(() => ({ total: 0 }));
    const after = corrected === rate ? "" : `; ${percent(corrected)} by review`;
    const share = rate == null ? "" : ` (${percent(rate)} of those judged${after})`;
    this.totals.textContent = total
      ? `Last 30 days: ${plural(total, "report")}, ${verdicts.hallucinated} hallucinated${share}.`
      : "";
  }

  async load() {
    const query = this.query();
    query.set("limit", PAGE);
    if (this.next) query.set("before", this.next);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const page = await this.api.json(`v1/reports?${query}`);
      if (turn !== this.turn) return; // the selection has changed meanwhile
      this.trouble.replaceChildren();
      this.rows.append(...page.reports.map((report) => this.row(report)));
      this.next = page.next;
      this.total = page.total;
      this.more.hidden = !this.next;
      this.settle();
    } catch (fault) {
      if (turn === this.turn) this.fail(fault);
    }
  }

  fail(fault) {
    this.trouble.replaceChildren(notice(fault, [again(() => this.show())]));
    this.settle();
  }

  settle() {
    const some = this.rows.children.length > 0;
    const filtered = this.query().size > 0;
    const chosen = this.chosen.length;
    this.table.hidden = this.export.hidden = !some;
    this.none.hidden = some || this.trouble.hasChildNodes();
    this.none.textContent = filtered
      ? "No report fits."
      : "Nothing is kept yet. Tick “Keep in the history” when you check.";
    this.delete.hidden = !(some && this.mayDelete);
    const all = plural(this.total ?? 0, filtered ? "matching report" : "report");
    const what = this.total > 1 ? `all ${all}` : all;
    this.delete.textContent = `Delete ${chosen ? plural(chosen, "report") : what}`;
  }

  row({ id, created, verdict, score, claims, excerpt, question, review }) {
    const counts = Object.keys(SYMBOLS).filter((state) => claims[state]).map((state) => {
      const label = { class: `tally ${state}`, title: state };
      return element("span", label, symbol(SYMBOLS[state]), `${claims[state]} `, element("span", { class: "unseen" }, state));
    });
    const text = visible(excerpt).trim() || "(no text)";
    const link = element("a", { href: `./?report=${encodeURIComponent(id)}`, dir: "auto" }, text);
    onPlainClick(link, () => this.open(id));
    const box = element("input", { type: "checkbox", value: id, "aria-label": `Choose the report on: ${text}` });
    const time = new Date(created).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
    const shown = review?.verdict ?? verdict;
    const state = element("span", { class: `state ${shown}` }, symbol(VERDICT_SYMBOLS[shown]), capital(shown));
    const small = (words) => (words ? element("small", { dir: "auto" }, visible(words)) : null);
    const said = review && [review.agree && `${review.agree} agreed`, review.disagree && `${review.disagree} disagreed`];
    const cells = [
      ["choose", this.mayDelete ? box : ""],
      ["when", element("time", { datetime: created }, time)],
      ["verdict-cell", state, small(shown !== verdict && `by review; was ${verdict}`)],
      ["figure", score === null ? "n/a" : score.toFixed(2)],
      ["tallies", ...(counts.length ? counts : ["none"])],
      ["excerpt", link, small(question)],
      ["reviewed", said ? said.filter(Boolean).join(", ") || "noted" : "", small(review?.note)],
    ];
    return element("tr", { "data-id": id }, ...cells.map(([name, ...parts]) => element("td", { class: name }, ...parts)));
  }

  /** Deletes the selected reports, or all that match the filters. */
  async removeChosen() {
    const { chosen } = this;
    const query = chosen.length ? new URLSearchParams(chosen.map((id) => ["id", id])) : this.query();
    if (!(await confirmed(`${this.delete.textContent} for good?`, "Delete"))) return;
    if (!query.size) query.set("all", "true");
    try {
      const { deleted } = await this.api.json(`v1/reports?${query}`, { method: "DELETE" });
      this.status(`${plural(deleted, "report")} deleted`);
      await this.show();
      this.title.focus();
    } catch (fault) {
      this.fail(fault);
    }
  }

  async save(form) {
    this.export.value = "";
    if (!form) return;
    const query = this.query();
    query.set("form", form);
    try {
      const text = await this.api.text(`v1/reports/export?${query}`);
      const lines = text.split("\n").filter(Boolean).length;
      if (!lines) return void this.status("Nothing to export: decide on claims of a report first");
      saveFile(`halldetect-${form}.jsonl`, text, "application/x-ndjson");
      this.status(`${plural(lines, "row")} exported`);
    } catch (fault) {
      this.fail(fault);
    }
  }
}

// Review requests are sent one at a time, so that an older one never arrives last and a reopened
// report reads the latest state.
let underWay = Promise.resolve();

/** A person's review of a stored report: agree or disagree with each claim, and a note. */
export class Review {
  /** `status(text)` announces a text; `open(id)` shows a report; `mayWrite`: the token allows it. */
  constructor(api, id, { status, open, mayWrite }) {
    Object.assign(this, { api, status, open, mayWrite });
    this.path = `v1/reports/${encodeURIComponent(id)}/review`;
    this.decisions = new Map();
    this.buttons = []; // [number, decision, button]
    this.known = this.left = false;
    this.edits = this.stored = 0;
    this.ends = new AbortController();
  }

  /** Adds decisions to the cards and a note below them, and loads the stored review. */
  attach(view, trouble) {
    Object.assign(this, { view, trouble });
    for (const [number, card] of view.cards) card.querySelector("h3").after(this.choice(number));
    this.outcome = element("p", { class: "by-review", role: "status" });
    view.root.querySelector("h1").after(this.outcome);
    this.note = element("textarea", { id: "review-note", rows: "3", dir: "auto", maxlength: "20000" });
    this.note.addEventListener("input", () => this.edited());
    this.saved = element("small", { role: "status" });
    const title = element("h2", {}, element("label", { for: "review-note" }, "Your note"), this.saved);
    const hint = "Notes and decisions are stored with the report. The history exports them as a labelled dataset.";
    const next = textButton({ class: "quiet", id: "next-unreviewed" }, () => this.goOn(), "Next unreviewed");
    const panel = element("section", { class: "panel review" }, title, this.note, element("small", {}, hint), next);
    view.root.querySelector(".list").append(panel);
    const { signal } = this.ends;
    window.addEventListener("pagehide", () => this.store({ keepalive: true }), { signal });
    this.read();
  }

  /** Returns the two buttons of a claim. */
  choice(number) {
    const buttons = ["agree", "disagree"].map((decision) => {
      const button = textButton({ class: `decide ${decision}` }, () => this.decide(number, decision), capital(decision));
      this.buttons.push([number, decision, button]);
      return button;
    });
    const label = { class: "decisions", role: "group", "aria-label": `Your decision on claim ${number}` };
    return element("div", label, ...buttons);
  }

  /** Opens the next claim without a decision, or else the next report without a review. */
  async goOn() {
    const claim = [...this.view.cards.keys()].find((number) => !this.decisions.has(number));
    if (claim !== undefined) return void this.view.select(claim);
    this.write();
    await underWay;
    try {
      const { reports } = await this.api.json("v1/reports?reviewed=false&limit=1");
      if (reports.length) this.open(reports[0].id);
      else this.status("Every report is reviewed");
    } catch (fault) {
      this.complain(fault, () => this.goOn());
    }
  }

  /** Shows the verdict that the stored decisions lead to. */
  conclude({ verdict, decisions }) {
    const left = this.view.cards.size - decisions.length;
    const open = `${plural(left, "claim")} not reviewed yet`;
    this.outcome.textContent = verdict ? `By review: ${verdict}` : decisions.length ? open : "";
    this.outcome.className = `by-review ${verdict ?? ""}`;
  }

  decide(number, decision) {
    if (this.decisions.get(number) === decision) this.decisions.delete(number);
    else this.decisions.set(number, decision);
    this.mark();
    this.edited();
  }

  mark() {
    // Disabled until the stored review is loaded: an entry would be lost or overwrite it.
    const open = this.known && this.mayWrite;
    if (this.note) this.note.readOnly = !open;
    for (const [number, decision, button] of this.buttons) {
      button.setAttribute("aria-pressed", String(this.decisions.get(number) === decision));
      button.disabled = !open;
    }
  }

  async read() {
    this.mark();
    await underWay;
    try {
      const review = await this.api.json(this.path);
      const { note, decisions } = review;
      if (this.known) return; // "Try again" was pressed twice
      this.conclude(review);
      this.note.value = note;
      this.decisions = new Map(decisions.map(({ claim, decision }) => [claim, decision]));
      this.known = true;
      this.trouble.replaceChildren();
      this.mark();
    } catch (fault) {
      if (!this.left) this.complain(fault, () => this.read());
    }
  }

  edited() {
    this.edits += 1;
    this.saved.textContent = "";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), SAVE_MS);
  }

  write() {
    underWay = underWay.then(() => this.store());
  }

  /** Stores changes. `keepalive` lets the request outlive the page, up to 64 KiB. */
  async store({ keepalive = false } = {}) {
    clearTimeout(this.timer);
    const edit = this.edits;
    if (edit === this.stored) return;
    const decisions = [...this.decisions].map(([claim, decision]) => ({ claim, decision }));
    const body = JSON.stringify({ note: this.note.value, decisions });
    try {
      const review = await this.api.json(this.path, { method: "POST", body, keepalive });
      this.conclude(review);
      this.stored = edit;
      this.trouble.replaceChildren();
      if (edit === this.edits) this.saved.textContent = "Saved";
    } catch (fault) {
      this.complain(fault, () => this.write());
    }
  }

  complain(fault, act) {
    if (this.left) return void this.status(`Your note is not saved. ${fault.title}`);
    this.trouble.replaceChildren(notice(fault, [again(act)]));
  }

  leave() {
    this.left = true;
    this.ends.abort();
    this.write();
  }
}
