/** What a person says of a stored report: agree or disagree with each claim, and a note. */

import { notice } from "./notices.js";

const WAIT_MS = 600;

export class Review {
  /** `status(text)` speaks aloud; `mayWrite` is whether the token allows to store. */
  constructor(api, id, { status, mayWrite }) {
    Object.assign(this, { api, id, status, mayWrite });
    this.path = `v1/reports/${encodeURIComponent(id)}/review`;
    this.decisions = new Map();
    this.buttons = new Map();
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
      readonly: !this.mayWrite,
      placeholder: "What should others know about this report?",
    });
    this.note.addEventListener("input", () => this.later());
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
    this.read();
  }

  choice(number) {
    const make = (decision, label) => {
      const pressed = String(this.decisions.get(number) === decision);
      const attributes = { class: `decide ${decision}`, "aria-pressed": pressed };
      const button = textButton(attributes, () => this.decide(number, decision), label);
      button.disabled = !this.mayWrite;
      return button;
    };
    const pair = { agree: make("agree", "Agree"), disagree: make("disagree", "Disagree") };
    this.buttons.set(number, pair);
    const label = `Your decision on claim ${number}`;
    return element("div", { class: "decisions", role: "group", "aria-label": label }, pair.agree, pair.disagree);
  }

  decide(number, decision) {
    if (this.decisions.get(number) === decision) this.decisions.delete(number);
    else this.decisions.set(number, decision);
    this.show();
    this.later();
  }

  show() {
    for (const [number, pair] of this.buttons) {
      for (const [name, button] of Object.entries(pair)) {
        button.setAttribute("aria-pressed", String(this.decisions.get(number) === name));
      }
    }
  }

  async read() {
    try {
      const { note, decisions } = await this.api.json(this.path);
      this.note.value = note;
      this.decisions = new Map(decisions.map(({ claim, decision }) => [claim, decision]));
      this.show();
    } catch (fault) {
      this.trouble.replaceChildren(notice(fault));
    }
  }

  later() {
    this.saved.textContent = "";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), WAIT_MS);
  }

  async write() {
    const decisions = [...this.decisions].map(([claim, decision]) => ({ claim, decision }));
    try {
      await this.api.ask(this.path, {
        method: "POST",
        body: JSON.stringify({ note: this.note.value, decisions }),
      });
      this.saved.textContent = "Saved";
      this.trouble.replaceChildren();
    } catch (fault) {
      const again = { label: "Try again", act: () => this.write(), wait: fault.retryAfter ?? 0 };
      this.trouble.replaceChildren(notice(fault, [again]));
    }
  }
}
