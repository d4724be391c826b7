/** A check under way: its claims as they are found, their states as they are reached. */

import { notice } from "./notices.js";

const NEWS_MS = 1500;

function duration(seconds) {
  return seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;
}

export class Watch {
  constructor(host, request, { cancel, back, retry }) {
    this.host = host;
    this.states = [];
    this.cards = [];
    this.acts = { back, retry };
    this.response = new TextPane(request.response, (text, marks) => this.dress(text, marks));
    this.phase = element("p", { class: "phase" });
    this.progress = element("progress", { max: "1", "aria-label": "Progress of the check" });
    this.stop = textButton({ class: "quiet" }, cancel, "Cancel");
    this.title = element("h1", { tabindex: "-1" }, "Checking");
    this.list = element("ol", { class: "cards" });
    this.heading = element("h2", {}, "Claims");
    this.trouble = element("div");
    this.spoken = element("p", { class: "unseen", role: "status" });
    host.replaceChildren(
      element("header", { class: "watch-head" }, this.title, this.phase, this.stop),
      this.progress,
      this.spoken,
      this.trouble,
      element(
        "div",
        { class: "watch-columns" },
        element(
          "section",
          { class: "panel response", "aria-label": "Response" },
          element("header", {}, element("h2", {}, "Response")),
          this.response.node,
        ),
        element("section", { class: "arriving", "aria-label": "Claims" }, this.heading, this.list),
      ),
    );
    this.say("Sending the texts");
  }

  say(text) {
    this.phase.textContent = text;
    // Not every step is worth hearing: a screen reader gets the latest one now and then.
    if (this.timer) return;
    this.spoken.textContent = text;
    this.timer = setTimeout(() => {
      this.timer = null;
      if (this.spoken.textContent !== this.phase.textContent) this.say(this.phase.textContent);
    }, NEWS_MS);
  }

  accepted({ queued }) {
    this.say(queued ? `Waiting: ${plural(queued, "check", "checks")} before this one` : "Started");
  }

  progressed({ phase, done, of, seconds_left: left }) {
    if (phase === "extract") {
      this.progress.removeAttribute("value"); // nobody knows how long it takes
      this.say("Finding the claims of the response");
      return;
    }
    this.progress.max = of || 1;
    this.progress.value = done;
    if (phase === "convert") {
      this.say("Converting the verifier, which is done once");
      return;
    }
    this.left = left == null ? "" : `, about ${duration(left)} left`;
    this.explaining = phase !== "verify";
    if (phase === "explain") this.say(`Looking why claims fail${this.left}`);
    else if (phase === "proof") this.say(`Looking for the shortest passages${this.left}`);
    else if (!this.cards.length) this.say("Judging");
    else this.tally();
  }

  claims({ claims }) {
    this.cards = claims.map(({ text, origin }, index) => new Arriving(index, text, origin));
    this.states = claims.map(() => null);
    this.spans = claims.map(({ span }) => span);
    this.list.replaceChildren(...this.cards.map((card) => card.node));
    this.heading.textContent = plural(claims.length, "claim", "claims");
    this.paint();
    this.tally();
  }

  verdict({ place, claim }) {
    this.states[place] = claim.status;
    this.cards[place]?.settle(claim);
    this.paint();
    if (!this.explaining) this.tally();
  }

  tally() {
    const settled = this.states.filter(Boolean).length;
    const claims = plural(this.cards.length, "claim", "claims");
    this.say(`Judging: ${settled} of ${claims} settled${this.left ?? ""}`);
  }

  paint() {
    const marks = this.spans.flatMap((span, index) =>
      span ? [{ ...this.response.units([span.start, span.end]), index }] : [],
    );
    this.response.paint("claims", marks);
  }

  dress(text, marks) {
    const states = marks.map(({ index }) => this.states[index]).filter(Boolean);
    return [element("span", { class: `found-claim ${worst(states) ?? "pending"}` }, text)];
  }

  /** Stops with an error; the texts are still in the form. */
  fail(fault) {
    const settled = this.states.filter(Boolean).length;
    this.title.textContent = "Not checked";
    this.phase.textContent = this.cards.length
      ? `${settled} of ${plural(this.cards.length, "claim", "claims")} had been settled.`
      : "";
    this.stop.hidden = true;
    this.progress.hidden = true;
    for (const card of this.cards) card.abandon();
    const { back, retry } = this.acts;
    const wait = fault.retryAfter ?? 0;
    this.trouble.replaceChildren(
      notice(fault, [
        { label: "Try again", act: retry, wait, primary: true },
        { label: "Back to the texts", act: back },
      ]),
    );
    this.leave();
  }

  leave() {
    clearTimeout(this.timer);
  }
}

/** One claim that waits for its state. */
class Arriving {
  constructor(index, text, origin) {
    this.state = element("span", { class: "state pending" }, "Judging");
    this.support = element("span", { class: "support" });
    const said = element("span", { class: "said", dir: "auto" }, visible(text));
    const heading = element("div", { class: "heading" }, this.state, said);
    if (origin === "restored") {
      heading.append(element("small", {}, "Restored: the extractor had left this part out."));
    }
    const number = element("span", { class: "number", "aria-hidden": "true" }, String(index + 1));
    const row = element("div", { class: "row" }, number, heading, this.support);
    this.node = element("li", { class: "card pending" }, row);
  }

  settle({ status, support }) {
    this.settled = true;
    this.node.className = `card ${status}`;
    this.state.className = `state ${status}`;
    const symbol = element("span", { class: "symbol", "aria-hidden": "true" }, SYMBOLS[status]);
    this.state.replaceChildren(symbol, capital(status));
    if (support === null) return;
    this.support.replaceChildren(element("small", {}, "support"), decimal(support));
  }

  abandon() {
    if (!this.settled) this.state.textContent = "Not judged";
  }
}
