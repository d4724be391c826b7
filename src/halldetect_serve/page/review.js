/** What a person says of a stored report: agree or disagree with each claim, and a note. */

import { notice, titleOf } from "./notices.js";

const WAIT_MS = 600;

// What is on its way to the server. One request at a time, so that an older one never arrives
// last; a report that is opened again reads what is stored after it.
let underWay = Promise.resolve();

export class Review {
  /** `status(text)` speaks aloud; `mayWrite` is whether the token allows to store. */
  constructor(api, id, { status, mayWrite }) {
    Object.assign(this, { api, status, mayWrite });
    this.path = `v1/reports/${encodeURIComponent(id)}/review`;
    this.decisions = new Map();
    this.buttons = new Map();
    this.known = this.left = false;
    this.edits = 0;
    this.stored = 0;
    this.ends = new AbortController();
  }

  /** Adds the buttons to the claims of a report view, and the note below them. */
  attach(view, trouble) {
    this.trouble = trouble;
    view.cards.addFeet((index) => this.choice(index + 1));
    this.note = element("textarea", {
      id: "review-note",
      rows: "3",
      dir: "auto",
      maxlength: "20000",
      placeholder: "What should others know about this report?",
    });
    this.note.addEventListener("input", () => this.edited());
    this.saved = element("small", { role: "status" });
    view.list.append(
      element(
        "section",
        { class: "panel review" },
        element("h2", {}, element("label", { for: "review-note" }, "Your note"), this.saved),
        this.note,
        element(
          "small",
          {},
          "Notes and decisions are stored with the report. The history exports them as a labelled dataset.",
        ),
      ),
    );
    const { signal } = this.ends;
    window.addEventListener("pagehide", () => this.store({ keepalive: true }), { signal });
    this.read();
  }

  choice(number) {
    const make = (decision, label) =>
      textButton({ class: `decide ${decision}` }, () => this.decide(number, decision), label);
    const pair = { agree: make("agree", "Agree"), disagree: make("disagree", "Disagree") };
    this.buttons.set(number, pair);
    this.mark(number);
    const label = `Your decision on claim ${number}`;
    return element("div", { class: "decisions", role: "group", "aria-label": label }, pair.agree, pair.disagree);
  }

  decide(number, decision) {
    if (this.decisions.get(number) === decision) this.decisions.delete(number);
    else this.decisions.set(number, decision);
    this.show();
    this.edited();
  }

  show() {
    this.note.readOnly = !this.open;
    for (const number of this.buttons.keys()) this.mark(number);
  }

  mark(number) {
    for (const [name, button] of Object.entries(this.buttons.get(number))) {
      button.setAttribute("aria-pressed", String(this.decisions.get(number) === name));
      button.disabled = !this.open;
    }
  }

  /** Nothing can be entered before what is stored is known: it would be lost, or replace that. */
  get open() {
    return this.known && this.mayWrite;
  }

  async read() {
    this.show();
    await underWay;
    try {
      const { note, decisions } = await this.api.json(this.path);
      if (this.known) return; // somebody has pressed "Try again" twice
      this.note.value = note;
      this.decisions = new Map(decisions.map(({ claim, decision }) => [claim, decision]));
      this.known = true;
      this.trouble.replaceChildren();
      this.show();
    } catch (fault) {
      if (!this.left) this.complain(fault, () => this.read());
    }
  }

  edited() {
    this.edits += 1;
    this.saved.textContent = "";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), WAIT_MS);
  }

  write() {
    underWay = underWay.then(() => this.store());
  }

  /** Stores what has changed. `keepalive` lets the request outlive the page, up to 64 KiB. */
  async store({ keepalive = false } = {}) {
    clearTimeout(this.timer);
    const edit = this.edits;
    if (edit === this.stored) return;
    const decisions = [...this.decisions].map(([claim, decision]) => ({ claim, decision }));
    const body = JSON.stringify({ note: this.note.value, decisions });
    try {
      await this.api.ask(this.path, { method: "POST", body, keepalive });
      this.stored = edit;
      this.trouble.replaceChildren();
      if (edit === this.edits) this.saved.textContent = "Saved";
    } catch (fault) {
      this.complain(fault, () => this.write());
    }
  }

  complain(fault, act) {
    if (this.left) return void this.status(`Your note is not saved. ${titleOf(fault)}`);
    const again = { label: "Try again", act, wait: fault.retryAfter ?? 0 };
    this.trouble.replaceChildren(notice(fault, [again]));
  }

  leave() {
    this.left = true;
    this.ends.abort();
    this.write();
  }
}
